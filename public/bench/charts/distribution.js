// <distribution-chart>: the distribution of each mechanism's round trips. A row is a histogram with the bands of the run file,
// unsmoothed, on a logarithmic scale centered on its median, so that shapes compare even between mechanisms whose times
// differ a hundredfold. The percentiles chart shows the far tail.
import { color } from '../../shared/colors.js';
import { axis, drawMark, roomFor, stepsBetween, stroke, write } from '../../shared/drawing.js';
import { duration, significant, timeTick } from '../../shared/format.js';
import { lookOf, named } from '../../shared/mechanisms.js';
import { defineChart, rowAxis, tripNs } from './chart.js';

const [MIN, MAX] = [0.25, 8]; // multiples of the median
const EDGES = [0.5, 0.8, 1.25, 2, 8, Number.POSITIVE_INFINITY]; // upper edges of the table's columns
const ROW_FILL = 0.66; // of a row's height, for the highest band of the chart; the rest is for the row's ticks

/** The percentage of trips in each band. @param {Result} result @returns {[number, number, number][]} */
const shares = ({ roundTrip: { histogram, count } }) =>
  (histogram ?? []).map(([from, below, times]) => [from, below, (100 * times) / count]);

/** The percentage of trips in each column of the table; a band belongs to the column of its middle. @param {Result} result */
function columns(result) {
  const sums = EDGES.map(() => 0);
  for (const [from, below, share] of shares(result)) {
    sums[EDGES.findIndex((edge) => Math.sqrt(from * below) < edge * tripNs(result))] += share;
  }
  return sums;
}

defineChart('distribution-chart', {
  rowRem: 3.5,

  axes(figures) {
    return {
      scales: {
        x: {
          ...axis('multiple of the median', [0.25, 0.5, 1, 2, 4, 8], (v) => `${v} ×`),
          type: 'logarithmic',
          min: MIN,
          max: MAX,
        },
        y: rowAxis(figures),
      },
      right: roomFor(figures.results.map((result) => duration(tripNs(result)))) + 16,
    };
  },

  datasets({ results }) {
    const scale = ROW_FILL / Math.max(...results.flatMap((result) => shares(result).map(([, , share]) => share)));
    return results.map((result, i) => {
      const base = results.length - i - 1 + (1 - ROW_FILL) / 2;
      /** @type {{x: number, y: number}[]} */
      const data = [];
      for (const band of shares(result)) {
        const [from, below] = band.map((ns) => ns / tripNs(result));
        const y = base + band[2] * scale;
        data.push({ x: from, y: base }, { x: from, y }, { x: below, y }, { x: below, y: base });
      }
      return {
        result,
        data,
        showLine: true,
        fill: { value: base },
        backgroundColor: lookOf(result.mechanism).accent,
        borderColor: color('ink'),
        borderWidth: 0.75,
        borderJoinStyle: 'miter',
      };
    });
  },

  /** Ticks with absolute times below each row. */
  paint({ scales: { x, y }, chartArea: { left, right }, width }, ctx, { results }) {
    for (const [i, result] of results.entries()) {
      const median = tripNs(result);
      const base = y.getPixelForValue(results.length - i - 1 + (1 - ROW_FILL) / 2);
      stroke(ctx, 'edge', 0.75, [left, base, right, base]);
      let free = 0; // a time is left out where the one before it needs the room
      for (const step of stepsBetween(median * MIN * 1.1, median * MAX * 0.9, [1, 2, 5])) {
        const at = x.getPixelForValue(step / median);
        const half = roomFor([timeTick(step)]) / 2;
        stroke(ctx, 'edge', 0.75, [at, base, at, base + 4]);
        if (at - half < free) continue;
        write(ctx, timeTick(step), at, base + 11, { align: 'center', tone: 'soft', size: 10.5 });
        free = at + half;
      }
      drawMark(ctx, result.mechanism, x.getPixelForValue(1), base, 0.8);
      write(ctx, duration(median), width - 2, y.getPixelForValue(results.length - i - 0.5), { align: 'right' });
    }
  },

  rows({ results }) {
    const percent = (/** @type {number} */ share) => (share > 0 && share < 0.01 ? '< 0.01' : share.toFixed(2));
    return results.map((result) => [
      named(result.mechanism),
      significant(tripNs(result)),
      ...columns(result).map(percent),
    ]);
  },

  describe({ results }) {
    const each = results.map((result) => `${result.title} ${significant(columns(result)[2], 2)} %`);
    return `Histograms of round-trip times divided by their median. Share between 0.8 and 1.25 times the median: ${each.join('; ')}.`;
  },
});
