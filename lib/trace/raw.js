'use strict';
// The tracer's output as events: each call's "enter" joined with its "leave", and times relative to the first.

/** @typedef {import('./decode.js').RawCall} RawCall */
/** @typedef {import('./decode.js').RawWord} RawWord */
/**
 * @typedef {object} RawStep something done in user space
 * @property {number} pid
 * @property {string} name
 * @property {'store' | 'load' | 'release' | 'see'} step
 * @property {number} bytes
 * @property {number} address
 * @property {'setup' | 'message' | 'teardown'} phase
 * @property {number | null} message
 * @property {string} file
 * @property {number} line
 * @property {number} t
 * @property {number} end
 * @property {RawWord[]} words
 */
/** @typedef {{kind: 'syscall', raw: RawCall} | {kind: 'step', raw: RawStep}} RawEvent */

/**
 * Returns whether a step made system calls. If it did, the calls themselves represent it.
 * @param {RawCall[]} calls
 * @returns {(step: RawStep) => boolean}
 */
function makerOf(calls) {
  /** @type {Map<number, number[]>} start times of each process's calls, ascending */
  const starts = new Map();
  for (const { pid, t } of calls) {
    const list = starts.get(pid) ?? [];
    list.push(t);
    starts.set(pid, list);
  }
  for (const list of starts.values()) list.sort((a, b) => a - b);
  return ({ pid, t, end }) => {
    const list = starts.get(pid) ?? [];
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low < list.length && list[low] < end;
  };
}

/**
 * @param {import('../measure/programs.js').ProgramEvent[]} lines
 * @returns {{events: RawEvent[], roles: Map<number, string>}} events in the order of their starts
 */
function readRaw(lines) {
  /** @type {Map<number, any>} */
  const entered = new Map();
  /** @type {RawCall[]} */
  const calls = [];
  /** @type {RawStep[]} */
  const steps = [];
  /** @type {Map<number, string>} */
  const roles = new Map();
  const never = { end: null, result: '', sleeps: 0, made: [], out: {}, words: [] };
  for (const line of lines) {
    if (line.type === 'enter') entered.set(line.pid, line);
    if (line.type === 'step') steps.push(/** @type {any} */ (line));
    if (line.type === 'gone') roles.set(line.pid, line.role);
    const enter = entered.get(line.pid);
    if (!enter || (line.type !== 'leave' && line.type !== 'gone')) continue;
    calls.push({ ...enter, ...(line.type === 'leave' ? line : { ...never, t: line.t }) });
    entered.delete(line.pid);
  }
  const madeCalls = makerOf(calls);
  /** @type {RawEvent[]} */
  const events = [
    ...calls.map((raw) => ({ kind: /** @type {'syscall'} */ ('syscall'), raw })),
    ...steps.filter((step) => !madeCalls(step)).map((raw) => ({ kind: /** @type {'step'} */ ('step'), raw })),
  ];
  events.sort((a, b) => a.raw.t - b.raw.t);
  const start = events[0]?.raw.t ?? 0;
  for (const { raw } of events) {
    raw.t -= start;
    if (raw.end !== null) raw.end -= start;
  }
  return { events, roles };
}

module.exports = { readRaw };
