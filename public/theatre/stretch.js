// Time as it is shown. Between two system calls lie nanoseconds or milliseconds; drawn to scale one of them could not be
// seen. So each gap is shown as long as its logarithm says, and the page says by how much time was stretched.

/** @typedef {import('./types.js').Play} Play */

const LEAST_MS = 135; // between any two moments, at speed 1
const DECADE_MS = 225; // more for each factor of ten
const SHORT_NS = 100; // below this, gaps look alike

/** How long a gap is shown at speed 1, milliseconds. @param {number} gapNs */
export const shownMs = (gapNs) => LEAST_MS + DECADE_MS * Math.log10(1 + Math.max(0, gapNs) / SHORT_NS);

/** When each moment of a play is shown, milliseconds from the start. @param {Play} play */
export function schedule({ moments }) {
  /** @type {number[]} */
  const shown = [];
  for (const [i, { at }] of moments.entries()) {
    shown.push(i === 0 ? LEAST_MS : shown[i - 1] + shownMs(at - moments[i - 1].at));
  }
  return shown;
}

/**
 * Several plays in lockstep: each part (set-up, a message, tear-down) begins for all at once, and whoever is done first
 * waits. With one play nothing waits.
 * @param {Play[]} plays
 * @returns {{shown: number[][], length: number, starts: number[]}} when each moment of each play is shown; when all is over;
 *   when each part begins, milliseconds
 */
export function lockstep(plays) {
  const own = plays.map(schedule);
  const parts = Math.max(...plays.map(({ segments }) => segments.length));
  // Parts are told from the end as well, so that tear-downs meet though one play has more messages.
  const partOf = plays.map(({ moments, segments }) =>
    moments.map(({ segment }) => (segment === segments.length - 1 ? parts - 1 : segment)),
  );
  const shown = own.map(() => /** @type {number[]} */ ([]));
  const starts = [];
  let now = 0;
  for (let part = 0; part < parts; part++) {
    starts.push(now);
    let longest = 0;
    for (const [p, times] of own.entries()) {
      const first = partOf[p].indexOf(part);
      if (first < 0) continue;
      const lead = first === 0 ? 0 : times[first - 1];
      for (let i = first; partOf[p][i] === part; i++) {
        shown[p].push(now + times[i] - lead);
        longest = Math.max(longest, times[i] - lead);
      }
    }
    now += longest;
  }
  return { shown, length: now + LEAST_MS, starts };
}

/**
 * How many moments have been shown by then: the index of the world to show.
 * @param {number[]} shown ascending
 * @param {number} positionMs
 */
export function countShown(shown, positionMs) {
  let low = 0;
  let high = shown.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shown[middle] <= positionMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
