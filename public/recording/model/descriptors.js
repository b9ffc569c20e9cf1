// Which process holds which descriptor when. New recordings list the intervals; those of the demos state what each event opened
// and closed, from which the intervals follow.
import { refuse } from './check.js';
import { LIMITS } from './limits.js';

/**
 * @typedef {import('./types.js').Recording} Recording
 * @typedef {import('./types.js').Descriptor} Descriptor
 */

/**
 * All descriptors of a recording, by process and number.
 * @param {any} trace
 * @param {Map<string, number>} index of the objects by id
 * @param {number} until the recording's end
 * @returns {Descriptor[]}
 */
export const descriptorsOf = (trace, index, until) =>
  (trace.descriptors ? fromIntervals(trace, index, until) : fromEffects(trace, index, until)).sort(
    (a, b) => a.pid - b.pid || Number(a.fd < 0) - Number(b.fd < 0) || a.fd - b.fd || a.object - b.object,
  );

/** @param {any} trace @param {Map<string, number>} index @param {number} until @returns {Descriptor[]} */
function fromIntervals(trace, index, until) {
  return trace.descriptors.flatMap((/** @type {any} */ one) => {
    const object = index.get(String(one.object));
    return object === undefined
      ? []
      : [{ pid: one.pid, fd: one.fd, object, end: one.end ?? null, from: one.from, until: one.until ?? until }];
  });
}

/** @param {any} trace @param {Map<string, number>} index @param {number} until @returns {Descriptor[]} */
function fromEffects(trace, index, until) {
  /** @type {Descriptor[]} */
  const all = [];
  /** @type {Map<number, Map<string, Descriptor>>} what each process holds, by descriptor or mapped object */
  const held = new Map();
  const of = (/** @type {number} */ pid) => {
    const mine = held.get(pid) ?? new Map();
    held.set(pid, mine);
    return mine;
  };
  const open = (/** @type {string} */ key, /** @type {Descriptor} */ descriptor) => {
    if (all.length >= LIMITS.descriptors) {
      refuse(
        `A recording must open at most ${LIMITS.descriptors.toLocaleString('en-US')} descriptors to be opened here; the effects of this one open more.`,
      );
    }
    close(descriptor.pid, key, descriptor.from);
    of(descriptor.pid).set(key, descriptor);
    all.push(descriptor);
  };
  const close = (/** @type {number} */ pid, /** @type {string} */ key, /** @type {number} */ at) => {
    const mine = of(pid);
    const before = mine.get(key);
    if (before) before.until = at;
    mine.delete(key);
  };
  const ended = [...trace.events].sort((a, b) => (a.end ?? a.t) - (b.end ?? b.t));
  for (const { t, end, pid, effects } of ended) {
    const at = end ?? t;
    for (const effect of effects ?? []) {
      const object = index.get(String(effect?.object)) ?? -1;
      const one = { pid, object, from: at, until, end: effect?.as ? String(effect.as).replace(/ end$/, '') : null };
      if (effect?.do === 'open' && object >= 0) open(`fd ${effect.fd}`, { ...one, fd: Number(effect.fd) });
      if (effect?.do === 'close') close(pid, `fd ${effect.fd}`, at);
      if (effect?.do === 'map' && object >= 0) open(`map ${object}`, { ...one, fd: -1 });
      if (effect?.do === 'unmap') close(pid, `map ${object}`, at);
      if (effect?.do === 'exit') for (const key of [...of(pid).keys()]) close(pid, key, at);
      if (effect?.do === 'fork') {
        const child = Number(effect.pid);
        for (const [key, before] of [...of(pid)]) open(key, { ...before, pid: child, from: t, until });
      }
    }
  }
  return all;
}

/** The descriptors that are open at a moment, by process and number. @param {Recording} recording @param {number} at @returns {Descriptor[]} */
export const openAt = ({ descriptors, durationNs }, at) =>
  descriptors.filter(({ from, until }) => from <= at && (at < until || until >= durationNs)); // one that is never closed is open at the end

/** @template T @template K @param {Iterable<T>} items @param {(item: T) => K} keyOf @returns {Map<K, T[]>} in the order of the items */
export function groupBy(items, keyOf) {
  /** @type {Map<K, T[]>} */
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/**
 * Who holds the other end of descriptors: of a pipe, those with the other end; of a socket, those of its peer; of anything else,
 * other processes that refer to the same object. The holders of an object are found once, not once for each descriptor of it: one
 * process can have thousands.
 * @param {Recording} recording
 * @param {Descriptor[]} open all that are open at a moment
 * @returns {(one: Descriptor, most: number) => {holders: Descriptor[][], count: number}} the number of processes, and the
 *   descriptors of the first of them
 */
export function otherEnds({ objects }, open) {
  const byObject = groupBy(open, ({ object }) => object);
  /** @type {Map<string, Map<number, Descriptor[]>>} */
  const known = new Map();
  const holdersOf = (/** @type {number} */ object, /** @type {string | undefined} */ exceptEnd) => {
    const key = `${object} ${exceptEnd}`;
    const found =
      known.get(key) ??
      groupBy(
        (byObject.get(object) ?? []).filter(({ end }) => end !== exceptEnd),
        ({ pid }) => pid,
      );
    known.set(key, found);
    return found;
  };
  return ({ object, end, pid }, most) => {
    const { peer } = objects[object];
    const hasPeer = peer >= 0 && peer !== object;
    const isOneWay = end === 'read' || end === 'write';
    const processes = holdersOf(hasPeer ? peer : object, !hasPeer && isOneWay ? end : undefined);
    const exceptPid = hasPeer || isOneWay ? null : pid;
    const holders = [];
    for (const [holder, descriptors] of processes) {
      if (holders.length === most) break;
      if (holder !== exceptPid) holders.push(descriptors);
    }
    return { holders, count: processes.size - (exceptPid !== null && processes.has(exceptPid) ? 1 : 0) };
  };
}

/**
 * Finds the object behind a descriptor of a process at a time.
 * @param {Descriptor[]} descriptors
 * @returns {(pid: number, fd: number, t: number, end: number) => number} -1 if unknown
 */
export function objectFinder(descriptors) {
  const byNumber = groupBy(descriptors, ({ pid, fd }) => `${pid} ${fd}`);
  for (const list of byNumber.values()) list.sort((a, b) => a.from - b.from);
  return (pid, fd, t, end) => {
    const list = byNumber.get(`${pid} ${fd}`);
    if (!list) return -1;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].from <= t) low = middle + 1;
      else high = middle;
    }
    const before = list[low - 1];
    if (before && t <= before.until) return before.object;
    const next = list[low]; // the call itself opened it
    if (next && next.from <= end) return next.object;
    return before?.object ?? -1;
  };
}
