'use strict';
// Runs the compiled programs of c-bench/ and reads the lines of JSON that they print. Nothing else in lib/ starts them.
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { isAbsolute } = require('node:path');
const { findBinary } = require('../channel/binary.js');
const { CrossingsError } = require('../channel/errors.js');
const { onLine } = require('./lines.js');
const { cannotRun, start } = require('./start.js');

/** @typedef {{type: string, [key: string]: any}} ProgramEvent one line printed by a program */

/**
 * The path of a compiled program.
 * @param {string} name such as 'crossings-bench', or the absolute path of another build's program
 */
function programPath(name) {
  if (isAbsolute(name)) {
    if (existsSync(name)) return name;
    throw new CrossingsError('ERR_NOT_BUILT', `${name} does not exist: run \`npm ci\` in its checkout.`);
  }
  const { path, missing } = findBinary(name);
  if (missing !== null) throw new CrossingsError('ERR_NOT_BUILT', missing);
  return path;
}

/**
 * Runs a program to its end and returns every event that it printed.
 *
 * The program runs in its own process group, so Ctrl-C reaches only this process. It ends when this process ends, even
 * when it is killed. When the signal aborts, the whole group is killed. The promise settles only after the program and
 * its children have ended.
 * @param {string} name
 * @param {(string | number)[]} args
 * @param {{signal?: AbortSignal, onEvent?: (event: ProgramEvent) => void, limitMs?: number}} [control] limitMs: after this time it
 *     is killed; for a program that ends by itself long before, unless something has stopped it
 * @returns {Promise<ProgramEvent[]>}
 */
async function runProgram(name, args, control = {}) {
  const command = [programPath(name), '--parent', String(process.pid), ...args.map(String)];
  if (control.limitMs === undefined) return run(name, command, control);
  return runWithin(control.limitMs, control.signal, (signal) => run(name, command, { ...control, signal }));
}

const NODE_LIMIT_MS = 60_000;
const QUIET_MS = 2000; // without output of a program that has ended, before its pipes are closed
const END_MS = 1000; // for the other processes of a program whose first one was killed

/**
 * What run() takes besides a command.
 * @typedef {object} Control
 * @property {AbortSignal} [signal]
 * @property {(event: ProgramEvent) => void} [onEvent]
 * @property {number} [inherit] a file descriptor that the program gets as descriptor 3
 */

/**
 * Runs a command that starts Node, and returns the events that it printed. After NODE_LIMIT_MS it is killed.
 * @param {string[]} command
 * @param {Control} control
 */
async function runNode(command, { signal, ...control }) {
  return runWithin(NODE_LIMIT_MS, signal, (limited) => run('node', command, { ...control, signal: limited }));
}

/**
 * @template T
 * @param {number} limitMs
 * @param {AbortSignal | undefined} signal
 * @param {(signal: AbortSignal) => Promise<T>} start its signal aborts like the other one, or when the time is over
 * @returns {Promise<T>} rejected with ERR_STALLED if it took too long
 */
async function runWithin(limitMs, signal, start) {
  const late = AbortSignal.timeout(limitMs);
  try {
    return await start(signal ? AbortSignal.any([signal, late]) : late);
  } catch (error) {
    if (late.aborted && !signal?.aborted)
      throw new CrossingsError('ERR_STALLED', `timed out after ${limitMs / 1000} s`);
    throw error;
  }
}

/**
 * Close the pipes of a program that has ended, once nothing has come for a while. A process that it left behind could keep them open
 * for ever, for example if something has stopped it (SIGSTOP).
 * @param {import('node:child_process').ChildProcess} child
 */
function closeAfterExit(child) {
  const pipes = [child.stdout, child.stderr];
  child.once('exit', () => {
    let isQuiet = false;
    const quiet = setTimeout(() => {
      isQuiet = true;
      // If this process had no time until now, what the program printed has not been read yet: that comes before the immediate.
      setImmediate(() => {
        if (isQuiet) for (const pipe of pipes) pipe?.destroy();
      });
    }, QUIET_MS);
    for (const pipe of pipes)
      pipe?.on('data', () => {
        isQuiet = false;
        quiet.refresh();
      });
    child.once('close', () => clearTimeout(quiet));
  });
}

/**
 * @param {string} name for error messages
 * @param {string[]} command
 * @param {Control} [control]
 * @returns {Promise<ProgramEvent[]>}
 */
async function run(name, [command, ...args], { signal, onEvent, inherit } = {}) {
  signal?.throwIfAborted();
  const extra = inherit === undefined ? [] : [inherit];
  /** @type {import('node:child_process').SpawnOptions} */
  const options = { detached: true, stdio: ['ignore', 'pipe', 'pipe', ...extra] };
  const child = start(name, () => spawn(command, args, options));
  const killGroup = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has already ended.
    }
  };
  /** @type {NodeJS.Timeout | undefined} */ let late;
  const kill = () => {
    if (name === 'node') return killGroup();
    // The other processes of a program of ours end when its first one does, but for one that then removes the names that they made.
    child.kill('SIGKILL');
    late = setTimeout(killGroup, END_MS);
  };
  signal?.addEventListener('abort', kill, { once: true });

  // Listen first: a process that fails to start emits its error early, and has no streams.
  /** @type {Promise<[number | null, NodeJS.Signals | null]>} */
  const ended = new Promise((resolve, reject) => {
    child.on('error', (error) => reject(cannotRun(name, error)));
    child.on('close', (code, killer) => resolve([code, killer]));
  });
  closeAfterExit(child);
  /** @type {ProgramEvent[]} */
  const events = [];
  let errorText = '';
  /** @type {string | null} */
  let broken = null;
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    errorText += text;
  });
  /** @param {string} line */
  const readLine = (line) => {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      broken ??= line;
      return;
    }
    events.push(event);
    onEvent?.(event);
  };
  if (child.stdout) onLine(child.stdout, readLine);
  try {
    const [status, killedBy] = await ended;
    signal?.throwIfAborted();
    if (broken !== null && status === 0) {
      throw new CrossingsError(
        'ERR_PROGRAM',
        `${name} printed a line that is not JSON: ${String(broken).slice(0, 80)}`,
      );
    }
    if (status !== 0) throw failureOf(name, events, errorText, status ?? killedBy);
    return events;
  } finally {
    if (!isAlive(child.pid)) clearTimeout(late); // otherwise, it ends what this program has left behind
    signal?.removeEventListener('abort', kill);
  }
}

/** Does a process of this group live? @param {number | undefined} group */
function isAlive(group) {
  try {
    return group !== undefined && process.kill(-group, 0);
  } catch {
    return false;
  }
}

/**
 * Starts a compiled program that shares this process's terminal and prints its lines on descriptor 3. It is in the same
 * process group, so Ctrl-C reaches it and what it runs. It ends when this process ends.
 * @param {string} name
 * @param {(string | number)[]} args
 * @param {(event: ProgramEvent) => void} onEvent
 * @param {import('node:child_process').SpawnOptions} [options]
 * @param {(event: ProgramEvent) => void} [onOutput] the lines of JSON on its standard output, if that is a pipe; ignored otherwise
 * @returns {{kill: (signal: NodeJS.Signals) => void, ended: Promise<number | NodeJS.Signals>}} its exit status, or the
 *     signal that killed it. Rejected if `onEvent` throws, which ends the program
 */
function startProgram(name, args, onEvent, options = {}, onOutput = undefined) {
  const words = ['--parent', process.pid, '--output', 3, ...args].map(String);
  const path = programPath(name);
  const child = start(name, () => spawn(path, words, { stdio: ['inherit', 'inherit', 'inherit', 'pipe'], ...options }));
  const lines = /** @type {import('node:stream').Readable | undefined} */ (child.stdio?.[3]); // none if it could not be started
  /** @type {unknown} */
  let failed = null;
  const take = (/** @type {(event: ProgramEvent) => void} */ listener) => (/** @type {string} */ line) => {
    if (failed) return;
    try {
      listener(JSON.parse(line));
    } catch (error) {
      failed = error;
      child.kill('SIGKILL');
    }
  };
  if (lines) onLine(lines, take(onEvent));
  if (child.stdout && onOutput) onLine(child.stdout, take(onOutput));
  else child.stdout?.resume(); // a full pipe would stop the program
  child.stderr?.on('data', (text) => process.stderr.write(text));
  const ended = new Promise((resolve, reject) => {
    child.on('error', (error) => reject(cannotRun(name, error)));
    child.on('close', (code, killer) => {
      // A program that is killed may leave half a line.
      if (!failed || (failed instanceof SyntaxError && code !== 0)) resolve(code ?? killer);
      else if (failed instanceof SyntaxError)
        reject(new CrossingsError('ERR_PROGRAM', `${name} ended in the middle of a line`));
      else reject(failed);
    });
  });
  return { kill: (signal) => child.kill(signal), ended };
}

/**
 * @param {string} name
 * @param {ProgramEvent[]} events
 * @param {string} errorText what it wrote to standard error
 * @param {number | string | null} end its exit status, or the signal that killed it
 */
function failureOf(name, events, errorText, end) {
  const error = events.find((event) => event.type === 'error');
  if (error) return new CrossingsError(error.code, error.message);
  if (typeof end === 'string') return new CrossingsError('ERR_CHILD_DIED', `${name} was killed by ${end}`);
  if (end === 2) return new CrossingsError('ERR_USAGE', errorText.trim());
  return new CrossingsError('ERR_PROGRAM', errorText.trim() || `${name} failed without an error message`);
}

/**
 * A figure that is above 0 in every measurement that took place, by the type of its event. A program that has measured nothing would
 * otherwise be taken for an infinitely fast mechanism.
 * @type {Record<string, string>}
 */
const POSITIVE = { throughput: 'messagesPerSecond', roundTrip: 'elapsedNs' };

/**
 * The event of the given type among those that a program printed.
 * @param {ProgramEvent[]} events
 * @param {string} type
 */
function eventOf(events, type) {
  const event = events.find((candidate) => candidate.type === type);
  if (!event) throw new CrossingsError('ERR_PROGRAM', `Expected a "${type}" line from the program; got none`);
  const name = POSITIVE[type];
  if (name && !(event[name] > 0)) {
    const expected = `Expected ${name} above 0 in a "${type}" line from the program`;
    throw new CrossingsError('ERR_PROGRAM', `${expected}; got ${event[name]}`);
  }
  return event;
}

module.exports = { eventOf, programPath, runNode, runProgram, startProgram };
