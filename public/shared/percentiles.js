// The percentile axis that Gil Tene's HdrHistogram made known: each tick adds a nine (90 %, 99 %, 99.9 %), so that the slow tail
// gets as much room as the bulk.
import { axis, fitting, write } from './drawing.js';
import { duration } from './format.js';

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

/**
 * Names the line of the floor, where there is room: below it, or above it at the bottom of the plot.
 * @param {Canvas} ctx
 * @param {number} up where the line is
 * @param {{left: number, right: number, bottom: number}} area
 * @param {number} floorNs
 */
export function writeFloor(ctx, up, { left, right, bottom }, floorNs) {
  const time = duration(floorNs);
  const text = fitting([`floor: cache-line round trip, ${time}`, `floor: ${time}`], right - left);
  write(ctx, text, right, up + 20 > bottom ? up - 10 : up + 10, { align: 'right', tone: 'soft' });
}
