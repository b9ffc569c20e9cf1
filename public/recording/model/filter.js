// Which events the log shows and the lanes mark: by text, call, process or thread, object, failure and sleep.

import { searchable } from './event-texts.js';
import { ASLEEP, FAILED } from './flags.js';

/**
 * @typedef {import('./types.js').Recording} Recording
 * @typedef {import('./types.js').Filter} Filter
 */

/** @type {Filter} */
export const NO_FILTER = { text: '', call: '', pid: null, tid: null, object: null, errors: false, sleeping: false };

/** @param {Filter} filter */
export const filters = (filter) =>
  /** @type {(keyof Filter)[]} */ (Object.keys(NO_FILTER)).some((key) => filter[key] !== NO_FILTER[key]);

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The events that match, ascending. @param {Recording} recording @param {Filter} filter @returns {Int32Array} */
export function matchingEvents(recording, filter) {
  const { count, name, names, flags, lane, lanes, objectStart, objectList } = recording;
  const found = new Int32Array(count);
  const needed = (filter.errors ? FAILED : 0) | (filter.sleeping ? ASLEEP : 0);
  const call = filter.call === '' ? -1 : names.indexOf(filter.call);
  if (filter.call !== '' && call < 0) return found.subarray(0, 0);
  const wanted = lanes.map(
    ({ pid, tid }) => (filter.pid === null || filter.pid === pid) && (filter.tid === null || filter.tid === tid),
  );
  const { object } = filter;
  const pattern = filter.text.trim() === '' ? null : new RegExp(escaped(filter.text.trim()), 'i');
  const named = pattern && names.map((one) => pattern.test(one));
  let n = 0;
  for (let i = 0; i < count; i++) {
    if ((flags[i] & needed) !== needed || !wanted[lane[i]]) continue;
    if (call >= 0 && name[i] !== call) continue;
    if (object !== null) {
      let k = objectStart[i];
      while (k < objectStart[i + 1] && objectList[k] !== object) k++;
      if (k === objectStart[i + 1]) continue;
    }
    if (pattern && !named?.[name[i]] && !pattern.test(searchable(recording, i))) continue;
    found[n++] = i;
  }
  return found.slice(0, n);
}

/** The position of an event among ascending ones, or of the next one. @param {Int32Array} events @param {number} event */
export function positionOf(events, event) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle] < event) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How often each call, and each object, occurs: the most frequent first. @param {Recording} recording @param {number} most */
export function frequencies({ count, name, names, objects, objectList }, most) {
  const byName = new Int32Array(names.length);
  const byObject = new Int32Array(objects.length);
  for (let i = 0; i < count; i++) byName[name[i]]++;
  for (const object of objectList) byObject[object]++;
  const ranked = (/** @type {Int32Array} */ counts) =>
    [...counts.keys()]
      .filter((i) => counts[i] > 0)
      .sort((a, b) => counts[b] - counts[a])
      .slice(0, most)
      .map((index) => ({ index, count: counts[index] }));
  return { calls: ranked(byName), objects: ranked(byObject) };
}
