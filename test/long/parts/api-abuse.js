'use strict';
// API abuse: every public call of a channel in every state, from inside every callback, with every order of aborting, generated
// from the class itself. test/long/abuse/ has the tables; process.js states the rule.
const { spawn } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const SCRIPT = join(__dirname, '..', 'abuse', 'process.js');
const WORK = { brief: { share: 0.025, parts: 1 }, short: { share: 0.05, parts: 1 }, long: { share: 1, parts: 2 } };
const STUCK_MS = 90_000; // in one case: longer than the deadline of its promises
const LOOK_MS = 1000;

/**
 * Runs a share of the cases in a process of their own.
 * @param {{seed: number, share: number, part: number, parts: number}} task
 * @param {string} folder
 * @returns {Promise<{count: number, of: number, failures: string[]}>}
 */
function runCases(task, folder) {
  const noteFile = join(folder, `case-${task.part}`);
  const args = ['--expose-gc', SCRIPT, JSON.stringify({ ...task, noteFile })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const current = () => (existsSync(noteFile) ? readFileSync(noteFile, 'utf8').trim() : ''); // it has not begun yet
  let [seen, since] = ['', performance.now()];
  let stuck = false;
  const watch = setInterval(() => {
    const now = current();
    if (now !== seen) [seen, since] = [now, performance.now()];
    if (performance.now() - since < STUCK_MS) return;
    stuck = true;
    child.kill('SIGKILL');
  }, LOOK_MS);
  return new Promise((resolve) =>
    child.on('close', (status, signal) => {
      clearInterval(watch);
      const failure = (/** @type {string} */ what) =>
        resolve({ count: 0, of: 0, failures: [`${current()}: the process ${what}. ${errors.trim()}`] });
      if (stuck) failure(`hangs: no progress for ${STUCK_MS / 1000} s`);
      else if (signal !== null) failure(`was ended by ${signal}`);
      else if (output === '') failure(`ended with status ${status}`);
      else resolve(JSON.parse(output));
    }),
  );
}

module.exports = {
  name: 'api-abuse',
  title: 'every call in every state, from every callback',
  /** @param {{scale: 'brief' | 'short' | 'long', seed: number, progress: (fraction: number, text: string) => void}} task */
  async run({ scale, seed }) {
    const { share, parts } = WORK[scale];
    const folder = mkdtempSync(join(tmpdir(), 'abuse-'));
    try {
      const all = Array.from({ length: parts }, (_, part) => runCases({ seed, share, part, parts }, folder));
      const results = await Promise.all(all);
      const cases = results.reduce((sum, { count }) => sum + count, 0);
      const failures = results.flatMap((result) => result.failures);
      if (cases === 0) failures.push('no case was run');
      return { figures: { cases, 'of all': results[0].of }, failures };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
