// The percentile axis that Gil Tene's HdrHistogram made known: each tick adds a nine (90 %, 99 %, 99.9 %), so that the slow tail
// gets as much room as the bulk.
import { axis } from './drawing.js';

/** The percentiles that have a tick and a mark. */
export const MARKED = [50, 90, 99, 99.9, 99.99, 99.999, 99.9999];

/** The position of a percentile on the axis: 0 -> 0, 90 -> 1, 99 -> 2. @param {number} percent */
export const nines = (percent) => -Math.log10(1 - percent / 100);

/** The axis. @param {string} title @param {number[]} percents what it must show, all below 100 */
export function percentileAxis(title, percents) {
  const max = Math.max(...percents.map(nines));
  const steps = MARKED.map(nines).filter((step) => step <= max + 1e-9);
  const label = (/** @type {number} */ step) => `${Number((100 - 100 / 10 ** step).toFixed(4))} %`;
  return { ...axis(title, steps, label), min: 0, max };
}
