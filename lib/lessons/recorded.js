'use strict';
// Records the system calls of a lesson's program while it is confined. A short recording is kept whole. Of a Node program, the lines
// "begin NAME COUNT" and "end NAME" bound the parts that are counted: COUNT messages each. Of every part, the calls for one
// message are kept, with their lines of JavaScript.
const { join, relative } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { eventOf } = require('../measure/programs.js');
const { recordProgram } = require('../trace/program/record.js');
const { nameOf, runConfined } = require('./confined.js');
const { figuresIn } = require('./figures.js');
const { ownCalls } = require('./own-calls.js');

/** @typedef {import('../trace/program/record.js').ProgramTrace} ProgramTrace */
/** @typedef {import('../trace/program/recorder.js').ProgramCall} ProgramCall */
/**
 * A system call, as the page shows it.
 * @typedef {object} MomentCall
 * @property {string} process such as "node 12"
 * @property {boolean} helper made by another thread than the process's first
 * @property {string} name
 * @property {string} args
 * @property {string} result
 * @property {boolean} sleeps
 * @property {import('../trace/node/marks.js').Source | null} source
 */
/** @typedef {{name: string, calls: MomentCall[], omitted: number}} Moment the calls of one message */
/** @typedef {{name: string, count: number, calls: ProgramCall[]}} Part */
/** @typedef {{folder: string, program: string, args: string[], hangs?: boolean}} Recorded hangs: it is expected to */

const root = join(__dirname, '..', '..');
const LIMIT_SECONDS = 30;
const HANG_SECONDS = 5; // of a program that is expected to hang: where nothing finds its deadlock, its time ends it
const MAX_CALLS = 120; // of a moment
const MAX_EVENTS = 500; // of a recording that the page shows whole
/** How V8 manages its memory says nothing about messages. */
const MEMORY_CALLS = new Set(['mmap', 'munmap', 'madvise', 'mprotect', 'brk']);
/** How a process begins, and what its threads do among themselves, would hide the calls that a moment is about. */
const ASIDE =
  /^(rt_sig\w+|futex|getpid|gettid|prlimit64|rseq|set_\w+|arch_prctl|getrandom|sched_\w+|access|fstat|newfstatat|pread64)$/;

/** The parts of a recording that the program's lines bound. @param {ProgramTrace} trace @returns {Part[]} */
function partsOf({ events }) {
  /** @type {Part[]} */ const parts = [];
  /** @type {Part | null} */ let current = null;
  for (const event of events) {
    const [, verb, name, count] =
      (event.name === 'write' && event.fds[0] === 1 && /^(begin|end) (\w+)(?: (\d+))?\\n$/.exec(event.payload ?? '')) ||
      [];
    if (verb === 'begin') {
      current = { name, count: Number(count), calls: [] };
      parts.push(current);
    } else if (verb === 'end') current = null;
    else if (event.kind === 'syscall' && !MEMORY_CALLS.has(event.name)) current?.calls.push(event);
  }
  return parts;
}

/** The calls of the first threads: in Node, they run JavaScript. @param {ProgramCall[]} calls */
const ofMainThreads = (calls) => calls.filter(({ pid, tid }) => pid === tid);

/** The calls for the message in the middle: from where its number is first written to where the next one's is. @param {Part} part */
function middleOf({ count, calls }) {
  if (count === 1) return calls;
  const middle = Math.ceil(count / 2);
  const first = (/** @type {number} */ n) => calls.findIndex(({ payload }) => payload?.includes(`number\\":${n},`));
  const [from, to] = [first(middle), first(middle + 1)];
  if (from >= 0 && to >= 0) return calls.slice(from, to);
  // No call carried the messages, so no call shows where a message begins.
  const [start, end] = [middle - 1, middle].map((n) => Math.round((n * calls.length) / count));
  return calls.slice(start, end);
}

/** @param {ProgramTrace} trace @param {Part} part @returns {Moment} */
function momentOf({ processes }, part) {
  const names = new Map(processes.map(({ pid, name }) => [pid, `${name} ${pid}`]));
  const all = middleOf(part).filter(({ pid, tid, source }) => pid === tid || source !== null);
  const calls = all.filter(({ name, args, result }) => !ASIDE.test(name) && !/\.so\b/.test(args.join() + result));
  return {
    name: part.name,
    omitted: all.length - Math.min(calls.length, MAX_CALLS),
    calls: calls.slice(0, MAX_CALLS).map(({ pid, tid, name, args, result, sleeps, source }) => ({
      process: names.get(pid) ?? String(pid),
      helper: pid !== tid,
      name,
      args: args.join(', '),
      result,
      sleeps: sleeps > 0,
      source,
    })),
  };
}

/** How it ended, in the words of an outcome. @param {ProgramTrace} trace */
function endOf({ ended, status, signal, stuck, waiting }) {
  if (ended === 'exited')
    return { how: /** @type {'signal' | 'exited'} */ (signal ? 'signal' : 'exited'), status, signal };
  const text = (stuck ?? waiting)?.text;
  return { how: /** @type {const} */ ('limit'), status, signal, ...(text && { stuck: text }) };
}

/**
 * Records a program while it is confined.
 * @param {Recorded} what
 * @param {{signal?: AbortSignal}} control
 */
async function record({ folder, program, args, hangs }, { signal }) {
  const inNode = program.endsWith('.js');
  const command = inNode ? [process.execPath, join(folder, program)] : [nameOf(folder, program)];
  // Not standard error itself: it would block from then on, for this process, too, and a signal would not end a write into a full pipe.
  const stdio = /** @type {import('node:child_process').StdioOptions} */ (['ignore', 'pipe', 'pipe', 'pipe']);
  /** @type {import('../measure/programs.js').ProgramEvent[]} */ const printed = [];
  const trace = await recordProgram(
    {
      command: [...command, ...args],
      lines: inNode,
      maxEvents: hangs ? 2 * MAX_EVENTS : undefined,
      timeoutSeconds: hangs ? HANG_SECONDS : LIMIT_SECONDS,
      tracer: { program: 'crossings-lessons', args: ['--confine', '--trace', ...(inNode ? ['--exec'] : [])] },
      spawn: { cwd: root, stdio },
    },
    { signal, onOutput: (event) => printed.push(event) },
  );
  signal?.throwIfAborted();
  return { trace, printed };
}

/**
 * @param {Recorded} what
 * @param {{signal?: AbortSignal}} [control]
 * @returns {Promise<import('./confined.js').Outcome>}
 */
async function runRecorded(what, { signal } = {}) {
  try {
    const { trace, printed } = await record(what, { signal });
    const { namespaces, refused } = eventOf(printed, 'confinement');
    const written = printed.filter(({ type, stream }) => type === 'output' && stream === 'stdout');
    const parts = partsOf(trace);
    const texts = written.map(({ line }) => line);
    /** @type {import('./figures.js').Figures} */
    const figures = figuresIn(texts);
    for (const { name, count, calls } of parts) {
      figures[name] = { value: ofMainThreads(calls).length / count, unit: 'calls' };
    }
    if (what.hangs) figures.deadlocks = { value: trace.stuck ? 1 : 0, unit: '' };
    return {
      ...endOf(trace),
      lines: printed.flatMap(({ type, stream, line }) =>
        type === 'output' && !/^(begin|end) \w+/.test(line) ? [{ stream, line }] : [],
      ),
      figures,
      processes: [],
      left: 0,
      ms: trace.durationNs / 1e6,
      truncated: false,
      confinement: { namespaces, refused },
      moments: parts.map((part) => momentOf(trace, part)),
      recording: trace.events.length <= MAX_EVENTS ? trace : null,
    };
  } catch (error) {
    signal?.throwIfAborted(); // the tracer was ended before it could report
    // A C program prints its figures all the same; those of a Node program are counted from its recording.
    const { code, message } = /** @type {{code?: string, message: string}} */ (error);
    if (code !== 'ERR_PTRACE_REFUSED' || what.program.endsWith('.js')) throw error;
    const limitMs = what.hangs ? HANG_SECONDS * 1000 : undefined;
    const outcome = await runConfined({ ...what, limitMs }, { signal });
    const { how, figures, processes } = outcome;
    const asleep = how === 'limit' && processes.every(({ state }) => state === 'sleeps');
    if (what.hangs) figures.deadlocks = { value: asleep ? 1 : 0, unit: '' };
    return { ...outcome, recording: null, notRecorded: message };
  }
}

/**
 * The recording of a short run, for a program whose figures come from a long one without the tracer. Of a program in Node, the calls
 * of its own lines.
 * @param {Omit<Recorded, 'hangs'>} what
 * @param {{signal?: AbortSignal}} [control]
 * @returns {Promise<Pick<import('./confined.js').Outcome, 'recording' | 'notRecorded'>>}
 */
async function recordBeside(what, { signal } = {}) {
  const inNode = what.program.endsWith('.js');
  const none = (/** @type {string} */ notRecorded) => ({ recording: null, notRecorded });
  try {
    const { trace } = await record({ ...what, hangs: !inNode }, { signal });
    const shown = inNode ? ownCalls(trace) : trace;
    if (shown === null) return none('The recording has no system call that belongs to a line of the program.');
    if (shown.events.length > MAX_EVENTS)
      return none(`The recording has more than ${MAX_EVENTS} system calls, too many to show here.`);
    const path = relative(root, join(what.folder, what.program)); // a recording that ships does not name our folders
    return { recording: inNode ? { ...shown, command: ['node', path, ...what.args] } : shown };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof CrossingsError)) throw error;
    return none(error.message); // the measured run needs no recording
  }
}

module.exports = { partsOf, recordBeside, runRecorded };
