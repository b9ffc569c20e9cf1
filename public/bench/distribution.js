// <distribution-chart>: how much the round trips of each mechanism differ among themselves. A row is a histogram in the
// bands that the trips were counted in, nothing smoothed, on a logarithmic scale centred on its median: so the shapes
// compare, though one mechanism is a hundred times slower. The far tail belongs to the percentiles.
import { defineChart, tripNs } from './chart.js';
import { axis, drawMark, roomFor, rowAxis, stepsBetween, stroke, write } from './drawing.js';
import { duration, significant, timeStep } from './format.js';
import { named } from './html.js';
import { colour, lookOf } from './marks.js';

const [LEAST, MOST] = [0.25, 8]; // times the median
const EDGES = [0.5, 0.8, 1.25, 2, 8, Number.POSITIVE_INFINITY]; // of the table's columns
const ROW_FILL = 0.66; // of a row, for the fullest band of all; the row's own steps stand below

/** Per cent of the trips in each band. @param {Result} result @returns {[number, number, number][]} */
const shares = ({ roundTrip: { histogram, count } }) =>
  histogram.map(([from, below, times]) => [from, below, (100 * times) / count]);

/** Per cent of the trips in each column of the table; a band counts where its middle lies. @param {Result} result */
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
          ...axis('times the median', [0.25, 0.5, 1, 2, 4, 8], (v) => `${v} ×`),
          type: 'logarithmic',
          min: LEAST,
          max: MOST,
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
        borderColor: colour('ink'),
        borderWidth: 0.75,
        borderJoinStyle: 'miter',
      };
    });
  },

  /** Each row's own times below it. */
  paint({ scales: { x, y }, chartArea: { left, right }, width }, ctx, { results }) {
    for (const [i, result] of results.entries()) {
      const median = tripNs(result);
      const base = y.getPixelForValue(results.length - i - 1 + (1 - ROW_FILL) / 2);
      stroke(ctx, 'edge', 0.75, [left, base, right, base]);
      for (const step of stepsBetween(median * LEAST * 1.1, median * MOST * 0.9, [1, 2, 5])) {
        const at = x.getPixelForValue(step / median);
        stroke(ctx, 'edge', 0.75, [at, base, at, base + 4]);
        write(ctx, timeStep(step), at, base + 11, { align: 'center', tone: 'soft', size: 10.5 });
      }
      drawMark(ctx, result.mechanism, x.getPixelForValue(1), base, 0.8);
      write(ctx, duration(median), width - 2, y.getPixelForValue(results.length - i - 0.5), { align: 'right' });
    }
  },

  rows({ results }) {
    const say = (/** @type {number} */ share) => (share > 0 && share < 0.01 ? '< 0.01' : share.toFixed(2));
    return results.map((result) => [named(result.mechanism), significant(tripNs(result)), ...columns(result).map(say)]);
  },

  describe({ results }) {
    const each = results.map((result) => `${result.title} ${significant(columns(result)[2], 2)} %`);
    return `Histograms of the round-trip times over their medians. Within 0.8 to 1.25 times the median: ${each.join('; ')}.`;
  },
});
