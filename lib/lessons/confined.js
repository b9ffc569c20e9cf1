'use strict';
// Runs a program of a lesson or a pitfall, confined by crossings-lessons: what it wrote, its figures, how it ended, and what its
// processes did when its time was up.
const { basename, join } = require('node:path');
const { eventOf, runProgram } = require('../measure/programs.js');
const { figuresIn } = require('./figures.js');

/** @typedef {import('./figures.js').Figures} Figures */
/**
 * What a process did when the time was up.
 * @typedef {object} Doing
 * @property {number} pid as the program itself prints it
 * @property {string} [thread] its name, of a thread other than the first
 * @property {string} [name] that the process gave itself
 * @property {'sleeps' | 'runs' | 'stopped' | 'ended'} state
 * @property {string | null} call the system call that it is in
 * @property {number} [descriptor] of this call
 * @property {string} [object] behind it, such as "pipe:[4711]"
 */
/**
 * @typedef {object} Outcome
 * @property {'exited' | 'signal' | 'limit'} how it ended; 'limit': its time was up
 * @property {number | null} status if it exited
 * @property {string | null} signal that ended it, such as "SIGPIPE"
 * @property {{stream: 'stdout' | 'stderr', line: string}[]} lines that it wrote
 * @property {Figures} figures among these lines
 * @property {Doing[]} processes if its time was up
 * @property {number} left processes that it left behind; they have been ended
 * @property {number} ms
 * @property {boolean} truncated some of its output was dropped
 * @property {import('./recorded.js').Moment[]} [moments] system calls, if the run was recorded
 * @property {import('./recorded.js').ProgramTrace | null} [recording] whole, if it is short
 * @property {string} [notRecorded] why there is no recording
 * @property {string} [stuck] why it did not end, if it was recorded
 * @property {'time' | 'processes'} [limit] what there was too much of, if `how` is 'limit'
 * @property {{namespaces: string | null, refused: string | null} | null} confinement which namespaces it had, or why it had none;
 *     null: an experiment, which is not confined
 */

const LIMIT_MS = 20_000;
const GRACE_MS = 10_000; // to end the program and to report, after its time is up

/** What crossings-lessons calls a compiled program. @param {string} folder @param {string} file */
const nameOf = (folder, file) => `${basename(folder)}/${file.replace(/\.c$/, '')}`;

/**
 * @param {object} what
 * @param {string} what.folder of the lesson or pitfall
 * @param {string} what.program a file in it: C, which is compiled already, or JavaScript
 * @param {string[]} [what.args]
 * @param {number} [what.limitMs]
 * @param {{signal?: AbortSignal, onLine?: (line: {stream: 'stdout' | 'stderr', line: string}) => void}} [control]
 * @returns {Promise<Outcome>}
 */
async function runConfined({ folder, program, args = [], limitMs = LIMIT_MS }, { signal, onLine } = {}) {
  const command = program.endsWith('.js')
    ? ['--exec', '--', process.execPath, join(folder, program)]
    : ['--', nameOf(folder, program)];
  const events = await runProgram('crossings-lessons', ['--confine', '--limit-ms', limitMs, ...command, ...args], {
    signal,
    limitMs: limitMs + GRACE_MS,
    onEvent: ({ type, stream, line }) => type === 'output' && onLine?.({ stream, line }),
  });
  const { namespaces, refused } = eventOf(events, 'confinement');
  const { how, status = null, signal: killer = null, left, ms, truncated, limit } = eventOf(events, 'ended');
  const lines = events.filter(({ type }) => type === 'output').map(({ stream, line }) => ({ stream, line }));
  return {
    how,
    status,
    signal: killer,
    lines,
    figures: figuresIn(lines.filter(({ stream }) => stream === 'stdout').map(({ line }) => line)),
    processes: events.flatMap(({ type, ...rest }) => (type === 'process' ? /** @type {any} */ (rest) : [])),
    left,
    ms,
    truncated: Boolean(truncated),
    ...(limit && { limit }),
    confinement: { namespaces, refused },
  };
}

/** "pipe:[4711]" -> "a pipe". @param {string} object */
function kindOf(object) {
  const [kind] = object.split(':');
  return { pipe: 'a pipe', socket: 'a socket', anon_inode: 'an event descriptor' }[kind] ?? object;
}

/** One sentence for each process whose time was up. @param {Doing[]} processes */
function sentencesOf(processes) {
  return processes.map(({ pid, thread, name, state, call, descriptor, object }) => {
    const rest = `rocess ${pid}${name ? ` (${name})` : ''}`;
    const who = thread ? `Thread ${thread} of p${rest}` : `P${rest}`;
    if (state === 'runs') return `${who} is running${call ? ` in ${call}()` : ' in user space'}.`;
    if (state !== 'sleeps') return `${who} is ${state === 'ended' ? 'about to end' : state}.`;
    const on = descriptor === undefined ? '' : ` on descriptor ${descriptor}${object ? ` (${kindOf(object)})` : ''}`;
    return call ? `${who} sleeps in ${call}()${on}.` : `${who} sleeps.`;
  });
}

module.exports = { nameOf, runConfined, sentencesOf };
