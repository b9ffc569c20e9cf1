// The time scale: when each moment is displayed. Gaps between system calls last nanoseconds or milliseconds, too different for a
// linear scale. So a gap is displayed in proportion to its logarithm, and the page states how far time is slowed down.
import { isSetup } from './replay.js';

/** @typedef {import('./types.js').Replay} Replay */

const MIN_MS = 135; // between two moments, at speed 1
const DECADE_MS = 225; // added for each factor of ten
const SHORT_NS = 100; // shorter gaps look the same

/** How long a gap is displayed at speed 1, milliseconds. @param {number} gapNs */
const displayMs = (gapNs) => MIN_MS + DECADE_MS * Math.log10(1 + Math.max(0, gapNs) / SHORT_NS);

/**
 * When each moment is displayed, milliseconds from the start. If the setup is folded, all of it before the first message is one
 * stop, and what is left of it later is displayed with the next moment of a message.
 * @param {Replay} replay
 * @param {boolean} folded
 */
function displayTimes(replay, folded) {
  const { moments } = replay;
  const leads = folded ? leadingSetup(replay) : 0;
  /** @type {number[]} */
  const times = [];
  let previous = -1; // the latest moment that has a time of its own
  for (const [i, { at }] of moments.entries()) {
    const hidden = folded && isSetup(replay, i);
    if (i < leads || previous < 0) times.push(MIN_MS);
    else if (hidden) continue;
    else {
      const time = times[previous] + displayMs(at - moments[previous].at);
      while (times.length <= i) times.push(time);
    }
    previous = i;
  }
  while (times.length < moments.length) times.push(times[previous]);
  return times;
}

/** The number of moments of the setup before the first message. @param {Replay} replay */
export function leadingSetup(replay) {
  const first = replay.moments.findIndex((_, i) => !isSetup(replay, i));
  return first < 0 ? 0 : first;
}

/**
 * Several replays in lockstep: each part (setup, a message, teardown) starts at the same time in all of them, and a replay that
 * finishes a part early waits. A single replay never waits.
 * @param {Replay[]} replays
 * @param {boolean} [folded] is the setup one stop?
 * @returns {{times: number[][], length: number, starts: number[]}} display times of each replay's moments; total length; start
 *   of each part; all in milliseconds
 */
export function lockstep(replays, folded = false) {
  const separate = replays.map((replay) => displayTimes(replay, folded));
  const count = Math.max(...replays.map(({ parts }) => parts.length));
  // A replay's last part is the last of all, so that teardowns start together though one replay has more messages.
  const partOf = replays.map(({ moments, parts }) =>
    moments.map(({ part }) => (part === parts.length - 1 ? count - 1 : part)),
  );
  const times = separate.map(() => /** @type {number[]} */ ([]));
  const starts = [];
  let now = 0;
  for (let part = 0; part < count; part++) {
    starts.push(now);
    let longest = 0;
    for (const [r, own] of separate.entries()) {
      const first = partOf[r].indexOf(part);
      if (first < 0) continue;
      const lead = first === 0 ? 0 : own[first - 1];
      for (let i = first; partOf[r][i] === part; i++) {
        times[r].push(now + own[i] - lead);
        longest = Math.max(longest, own[i] - lead);
      }
    }
    now += longest;
  }
  return { times, length: now + MIN_MS, starts };
}

/**
 * The number of moments displayed up to a position; also the index of the snapshot to show.
 * @param {number[]} times ascending
 * @param {number} positionMs
 */
export function countUpTo(times, positionMs) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= positionMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
