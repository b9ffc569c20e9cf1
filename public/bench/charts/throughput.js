// <throughput-chart>: messages per second on a logarithmic scale: median, quartiles and every sample, one row per mechanism.
// Dots, not bars, because a logarithmic scale has no zero for a bar to start at.
import { drawMark, logAxis, roomFor, stroke, write } from '../../shared/drawing.js';
import { rate, rateTick, significant } from '../../shared/format.js';
import { named } from '../../shared/mechanisms.js';
import { defineChart, rowAxis } from './chart.js';

/** @param {Result} result */
const rateOf = (result) => result.throughput.messagesPerSecond;

defineChart('throughput-chart', {
  rowRem: 3,

  rank(result) {
    return -rateOf(result).median;
  },

  axes(figures) {
    const rates = figures.results.map(rateOf);
    const values = rates.flatMap(({ samples }) => samples);
    return {
      scales: { x: logAxis('messages per second', values, rateTick), y: rowAxis(figures) },
      right: roomFor(rates.map(({ median }) => rate(median))) + 16,
    };
  },

  paint({ scales: { x, y }, width }, ctx, { results }) {
    for (const [i, result] of results.entries()) {
      const { median, q1, q3, samples } = rateOf(result);
      const middle = y.getPixelForValue(results.length - i - 0.5);
      const [from, to] = [x.getPixelForValue(q1), x.getPixelForValue(q3)];
      const ticks = samples.map((sample) => x.getPixelForValue(sample)).map((at) => [at, middle - 11, at, middle + 11]);
      stroke(ctx, result.mechanism, 1.5, ...ticks);
      const ends = [from, to].map((at) => [at, middle - 5, at, middle + 5]);
      stroke(ctx, 'ink', 2, [from, middle, to, middle], ...ends);
      drawMark(ctx, result.mechanism, x.getPixelForValue(median), middle);
      write(ctx, rate(median), width - 2, middle, { align: 'right' });
    }
  },

  rows({ results }) {
    return results.map((result) => {
      const { median, q1, q3, samples } = rateOf(result);
      const megabytes = result.throughput.bytesPerSecond.median / 1e6;
      const figures = [median, q1, q3, megabytes].map((value) => significant(value));
      return [named(result.mechanism), ...figures, String(samples.length)];
    });
  },

  describe({ results }) {
    const each = results.map((result) => `${result.title} ${rate(rateOf(result).median)}`);
    return `Dot plot of median messages per second on a logarithmic scale: ${each.join('; ')}.`;
  },
});
