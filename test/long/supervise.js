'use strict';
// Runs one part in a process of its own, and ends that process with all its descendants: when the part is done, past its bound,
// or when the run is aborted. Descendants are found by a variable in their environment, since some lead their own process group.
// What a part leaves behind, processes or temporary files, is one of its failures.
const { fork } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');

const MARK = 'CROSSINGS_LONG_RUN';
const GRACE_MS = 2000; // for processes that are about to exit by themselves
const LOOK_MS = 20;
const OUTPUT_LIMIT = 4000; // characters of a part's output that a failure quotes

/** The living processes that inherited our mark: ids and command lines. @param {string} mark */
function marked(mark) {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}`)) return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(pid), command: command.slice(0, 200) }];
      } catch {
        return []; // it has ended since it was listed, or belongs to another user
      }
    });
}

/** Kills the marked processes until there is none, since each may start another before it dies. @param {string} mark */
async function killMarked(mark) {
  for (let found = marked(mark); found.length > 0; found = marked(mark)) {
    for (const { pid } of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
      }
    }
    await pause(LOOK_MS);
  }
}

/** The marked processes that do not exit by themselves. @param {string} mark */
async function leftBehind(mark) {
  const endsAt = performance.now() + GRACE_MS;
  while (marked(mark).length > 0 && performance.now() < endsAt) await pause(LOOK_MS);
  return marked(mark);
}

/**
 * @param {string} file of the part
 * @param {{scale: string, seed: number}} task
 * @param {{ms: number, why: string}} bound
 * @param {{signal: AbortSignal, progress: (fraction: number, text: string) => void}} control
 * @returns {Promise<{figures: Record<string, number | string>, failures: string[], skipped?: string}>}
 */
async function runPart(file, task, bound, { signal, progress }) {
  const mark = randomUUID();
  const temporary = mkdtempSync(join(tmpdir(), 'long-'));
  const env = { ...process.env, [MARK]: mark, TMPDIR: temporary };
  const argument = JSON.stringify({ file, temporary, ...task });
  const child = fork(join(__dirname, 'part.js'), [argument], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true, // Ctrl-C reaches only this process, which then ends the others
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output = (output + text).slice(-OUTPUT_LIMIT);
    });
  }
  /** @type {any} */
  let result;
  child.on('message', (/** @type {any} */ message) => {
    if (message.type === 'progress') progress(message.fraction, message.text);
    else result = message.result;
  });
  const ended = new Promise((resolve) => child.once('exit', (status, killedBy) => resolve({ status, killedBy })));
  const late = Symbol('late');
  const stop = new AbortController();
  /** @type {Promise<symbol>} */
  const tooLate = pause(bound.ms, late, { signal: AbortSignal.any([stop.signal, signal]) }).catch(() => late);
  try {
    const how = await Promise.race([ended, tooLate]);
    signal.throwIfAborted();
    const seconds = Math.round(bound.ms / 1000);
    const quoted = output.trim() ? `\n${output.trim()}` : '';
    if (how === late)
      return failed(`It was ended after ${seconds} s, ${bound.why}, although it was not done.${quoted}`);
    if (result === undefined) return failed(`Its process ended without a result: ${JSON.stringify(how)}.${quoted}`);
    const failures = [...result.failures];
    for (const { pid, command } of await leftBehind(mark)) failures.push(`It left process ${pid} behind: ${command}`);
    for (const name of readdirSync(temporary)) failures.push(`It left ${name} behind in the temporary folder.`);
    return { ...result, failures };
  } finally {
    stop.abort();
    await killMarked(mark);
    await ended;
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** @param {string} failure */
const failed = (failure) => ({ figures: {}, failures: [failure] });

module.exports = { runPart };
