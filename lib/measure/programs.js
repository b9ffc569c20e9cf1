'use strict';
// Running the compiled programs of c-bench/ and reading the lines of JSON they print. Nothing else starts a process.
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { CrossingsError } = require('../channel/errors.js');

/** @typedef {{type: string, [key: string]: any}} ProgramEvent one line that a program printed */

const directory = join(__dirname, '..', '..', 'build', 'Release');

/**
 * Where a compiled program is.
 * @param {string} name such as 'crossings-bench'
 */
function programPath(name) {
  const path = join(directory, name);
  if (!existsSync(path)) {
    throw new CrossingsError(
      'ERR_NOT_BUILT',
      `The program ${name} has not been built; run \`npm install\` in the folder of crossings to build it.`,
    );
  }
  return path;
}

/**
 * Run a program to its end and give back every event that it printed.
 *
 * It runs in a process group of its own, so that Ctrl-C reaches only us; it dies with us however we die; when the
 * signal aborts, its whole group is killed. The promise settles only when the program and its children are gone.
 * @param {string} name
 * @param {(string | number)[]} args
 * @param {{signal?: AbortSignal, onEvent?: (event: ProgramEvent) => void}} [control]
 * @returns {Promise<ProgramEvent[]>}
 */
async function runProgram(name, args, control) {
  return run(name, [programPath(name), '--parent', String(process.pid), ...args.map(String)], control);
}

const NODE_LIMIT_MS = 60_000;

/**
 * Run a command that starts Node, and read what it prints. One that does not end within a minute is killed.
 * @param {string[]} command
 * @param {{signal?: AbortSignal}} control
 */
async function runNode(command, { signal }) {
  const late = AbortSignal.timeout(NODE_LIMIT_MS);
  try {
    return await run('node', command, { signal: signal ? AbortSignal.any([signal, late]) : late });
  } catch (error) {
    if (late.aborted && !signal?.aborted) throw new CrossingsError('ERR_STALLED', 'it did not end within a minute');
    throw error;
  }
}

/**
 * @param {string} name for sentences
 * @param {string[]} command
 * @param {{signal?: AbortSignal, onEvent?: (event: ProgramEvent) => void}} [control]
 * @returns {Promise<ProgramEvent[]>}
 */
async function run(name, [command, ...args], { signal, onEvent } = {}) {
  signal?.throwIfAborted();
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has already ended.
    }
  };
  signal?.addEventListener('abort', kill, { once: true });

  // First of all: a process that could not be started says so soon, and has no streams.
  /** @type {Promise<[number | null, NodeJS.Signals | null]>} */
  const ended = new Promise((resolve, reject) => {
    child.on('error', ({ message }) =>
      reject(new CrossingsError('ERR_PROGRAM', `${name} could not be run: ${message}`)),
    );
    child.on('close', (code, killer) => resolve([code, killer]));
  });
  /** @type {ProgramEvent[]} */
  const events = [];
  let complaint = '';
  /** @type {string | null} */
  let broken = null;
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    complaint += text;
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
  if (child.stdout) createInterface({ input: child.stdout }).on('line', readLine);
  try {
    const [status, killedBy] = await ended;
    signal?.throwIfAborted();
    if (broken !== null && status === 0) {
      throw new CrossingsError(
        'ERR_PROGRAM',
        `${name} printed a line that is not JSON: ${String(broken).slice(0, 80)}`,
      );
    }
    if (status !== 0) throw failureOf(name, events, complaint, status ?? killedBy);
    return events;
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}

/**
 * @param {string} name
 * @param {ProgramEvent[]} events
 * @param {string} complaint what it wrote on standard error
 * @param {number | string | null} end its exit status, or the signal that killed it
 */
function failureOf(name, events, complaint, end) {
  const error = events.find((event) => event.type === 'error');
  if (error) return new CrossingsError(error.code, error.message);
  if (typeof end === 'string') return new CrossingsError('ERR_CHILD_DIED', `${name} was killed by ${end}`);
  if (end === 2) return new CrossingsError('ERR_USAGE', complaint.trim());
  return new CrossingsError('ERR_PROGRAM', complaint.trim() || `${name} failed without saying why`);
}

/**
 * The one event of a type among those a program printed.
 * @param {ProgramEvent[]} events
 * @param {string} type
 */
function eventOf(events, type) {
  const event = events.find((candidate) => candidate.type === type);
  if (!event) throw new CrossingsError('ERR_PROGRAM', `a program ended without printing its "${type}" line`);
  return event;
}

module.exports = { programPath, runProgram, runNode, eventOf };
