// One lane for each thread, and what a lane shows in each pixel column. Sums from the lane's start make a column cost the same
// however many events it contains, so that zooming out of 100,000 events is as fast as zooming in.
import { ASLEEP, STEP } from './flags.js';

/**
 * @typedef {import('./types.js').Lane} Lane
 * @typedef {import('./types.js').Process} Process
 * @typedef {import('./types.js').Columns} Columns
 */

/**
 * @param {any} trace
 * @param {{t: Float64Array, end: Float64Array, flags: Uint8Array, durationNs: number}} columns
 */
export function lanesOf(trace, { t, end, flags, durationNs }) {
  /** @type {Process[]} */
  const processes = trace.processes.map(
    (/** @type {any} */ { pid, parent, name, role, command, start, end: ended, status, signal }) => ({
      pid,
      parent: parent ?? null,
      name: name ?? role ?? '',
      command: (command ?? []).join(' '),
      start: start ?? Number.NaN,
      end: ended ?? Number.NaN,
      status: status ?? null,
      signal: signal === null || signal === undefined ? null : String(signal),
    }),
  );
  /** @type {Map<string, {process: number, tid: number, name: string, start: number, end: number, events: number[]}>} */
  const threads = new Map();
  const add = (/** @type {number} */ process, /** @type {number} */ tid, /** @type {any} */ thread) => {
    const { name, start, end: until } = thread;
    const one = {
      process,
      tid,
      name: name ?? processes[process].name,
      start: start ?? Number.NaN,
      end: until ?? Number.NaN,
    };
    threads.set(`${processes[process].pid} ${tid}`, { ...one, events: [] });
  };
  for (const [i, { pid, threads: listed }] of trace.processes.entries()) {
    const known = listed ?? [];
    for (const thread of known) add(i, thread.tid, thread);
    if (!threads.has(`${pid} ${pid}`) && known.length === 0) add(i, pid, {});
  }
  const processOf = new Map(processes.map(({ pid }, i) => [pid, i]));
  let before = { pid: -1, tid: -1, events: /** @type {number[]} */ ([]) };
  for (let i = 0; i < trace.events.length; i++) {
    const { pid } = trace.events[i];
    const tid = trace.events[i].tid ?? pid;
    if (pid !== before.pid || tid !== before.tid) {
      const key = `${pid} ${tid}`;
      if (!threads.has(key)) add(processOf.get(pid) ?? 0, tid, {});
      before = { pid, tid, events: threads.get(key)?.events ?? [] };
    }
    before.events.push(i);
  }
  const sorted = [...threads.values()].sort((a, b) => a.process - b.process); // stable: threads stay in the file's order
  const lane = new Int32Array(t.length);
  const lanes = sorted.map((thread, i) => {
    for (const event of thread.events) lane[event] = i;
    const built = laneOf(thread, processes[thread.process], { t, end, flags, durationNs });
    return { ...built, main: sorted[i - 1]?.process !== thread.process };
  });
  for (const [i, process] of processes.entries()) {
    const own = lanes.filter((one) => one.process === i);
    if (Number.isNaN(process.start)) process.start = Math.min(...own.map(({ start }) => start));
    if (Number.isNaN(process.end)) process.end = Math.max(...own.map(({ end: until }) => until));
  }
  return { processes, lanes, lane };
}

/**
 * @param {{process: number, tid: number, name: string, start: number, end: number, events: number[]}} thread
 * @param {Process} process
 * @param {{t: Float64Array, end: Float64Array, flags: Uint8Array, durationNs: number}} columns
 */
function laneOf(thread, process, { t, end, flags, durationNs }) {
  const events = Int32Array.from(thread.events).sort((a, b) => t[a] - t[b] || a - b);
  const calls = events.filter((event) => !(flags[event] & STEP));
  const first = events.length > 0 ? t[events[0]] : 0;
  const start = Math.min(Number.isNaN(thread.start) ? process.start || first : thread.start, first || durationNs);
  const stated = Number.isNaN(thread.end) ? process.end : thread.end;
  let last = 0;
  for (const event of events) last = Math.max(last, Number.isNaN(end[event]) ? t[event] : end[event]);
  const until = Number.isNaN(stated)
    ? calls.length > 0 && Number.isNaN(end[calls[calls.length - 1]]) && flags[calls[calls.length - 1]] & ASLEEP
      ? durationNs
      : last
    : Math.max(stated, last);
  const starts = new Float64Array(calls.length);
  const ends = new Float64Array(calls.length);
  const inCall = new Float64Array(calls.length + 1);
  const asleep = new Float64Array(calls.length + 1);
  for (let i = 0; i < calls.length; i++) {
    const event = calls[i];
    const next = i + 1 < calls.length ? t[calls[i + 1]] : Infinity;
    starts[i] = t[event];
    ends[i] = Math.min(Number.isNaN(end[event]) ? Math.max(until, t[event]) : end[event], next);
    const time = ends[i] - starts[i];
    const sleeping = (flags[event] & ASLEEP) !== 0;
    inCall[i + 1] = inCall[i] + (sleeping ? 0 : time);
    asleep[i + 1] = asleep[i] + (sleeping ? time : 0);
  }
  const { process: index, tid, name } = thread;
  return {
    pid: process.pid,
    tid,
    process: index,
    name,
    start,
    end: until,
    events,
    calls,
    starts,
    ends,
    inCall,
    asleep,
  };
}

/** How many of the ascending numbers from `from` are at most x. @param {Float64Array} values @param {number} x @param {number} [from] */
export function countUpTo(values, x, from = 0) {
  let low = from;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * What a lane does in each of `count` equal intervals from `from` to `to`.
 * @param {Lane} lane @param {number} from @param {number} to @param {number} count @returns {Columns}
 */
export function columnsOf({ starts, ends, inCall, asleep }, from, to, count) {
  const columns = { call: new Float32Array(count), asleep: new Float32Array(count) };
  const width = (to - from) / count;
  let index = countUpTo(starts, from);
  /** @param {Float64Array} sums @param {number} x @param {number} i calls that began by x */
  const until = (sums, x, i) => {
    if (i === 0) return 0;
    const after = Math.max(0, ends[i - 1] - x); // of the call in progress
    return sums[i] - (sums[i] > sums[i - 1] ? after : 0);
  };
  let callBefore = until(inCall, from, index);
  let asleepBefore = until(asleep, from, index);
  for (let column = 0; column < count; column++) {
    const x = from + (column + 1) * width;
    if (index < starts.length && starts[index] <= x) index = countUpTo(starts, x, index + 1);
    const call = until(inCall, x, index);
    const sleeping = until(asleep, x, index);
    columns.call[column] = (call - callBefore) / width;
    columns.asleep[column] = (sleeping - asleepBefore) / width;
    callBefore = call;
    asleepBefore = sleeping;
  }
  return columns;
}

/**
 * The range of a lane's calls that are visible, as indexes into its calls.
 * @param {Lane} lane @param {number} from @param {number} to @returns {[number, number]}
 */
export function visibleCalls({ starts, ends }, from, to) {
  let first = countUpTo(starts, from);
  if (first > 0 && ends[first - 1] >= from) first--;
  return [first, countUpTo(starts, to)];
}

/** The event of a lane nearest in time; -1 if it has none. @param {Float64Array} t @param {Lane} lane @param {number} at */
export function nearestEvent(t, { events }, at) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[events[middle]] <= at) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [events[low - 1], events[low]];
  if (before === undefined) return after ?? -1;
  if (after === undefined) return before;
  return at - t[before] <= t[after] - at ? before : after;
}
