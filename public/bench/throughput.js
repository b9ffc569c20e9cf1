// <throughput-chart>: messages a second, median, quartiles and every sample, one row a mechanism on a logarithmic scale.
// Dots, not bars: a logarithmic scale has no zero for a bar to stand on.
import { LabChart } from './chart.js';
import { drawMark, logAxis, roomFor, rowAxis, write } from './drawing.js';
import { rate, rateStep, significant } from './format.js';
import { named } from './html.js';
import { colour, lookOf } from './marks.js';

/** @param {Result} result */
const rateOf = (result) => result.throughput.messagesPerSecond;

class ThroughputChart extends LabChart {
  heading = 'Throughput';
  how = 'Messages a second, one way. Mark: median. Line: quartiles. Ticks: every sample. Each step is ten times more.';
  kind = /** @type {const} */ ('throughput');

  /** @param {Figures} figures */
  rows({ results }) {
    return results.length;
  }

  /** @param {Figures} figures */
  axes({ results }) {
    const values = results.flatMap((result) => [...rateOf(result).samples, rateOf(result).q1, rateOf(result).q3]);
    return {
      scales: { x: logAxis('messages a second', values, rateStep), y: rowAxis(results) },
      right: roomFor(results.map((result) => rate(rateOf(result).median))) + 12,
    };
  }

  /** @param {Figures} figures */
  datasets({ results }) {
    return results.map((result, i) => ({
      result,
      data: [{ x: rateOf(result).median, y: results.length - i - 0.5 }],
    }));
  }

  /** @param {any} chart @param {CanvasRenderingContext2D} ctx @param {Figures} figures */
  paint({ scales: { x, y }, width }, ctx, { results }) {
    for (const [i, result] of results.entries()) {
      const look = lookOf(result.mechanism);
      const { median, q1, q3, samples } = rateOf(result);
      const middle = y.getPixelForValue(results.length - i - 0.5);
      ctx.strokeStyle = look.accent;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const sample of samples) {
        const at = x.getPixelForValue(sample);
        ctx.moveTo(at, middle - 11);
        ctx.lineTo(at, middle + 11);
      }
      ctx.stroke();
      const [from, to] = [x.getPixelForValue(q1), x.getPixelForValue(q3)];
      ctx.strokeStyle = colour('ink');
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.moveTo(from, middle);
      ctx.lineTo(to, middle);
      ctx.moveTo(from, middle - 5);
      ctx.lineTo(from, middle + 5);
      ctx.moveTo(to, middle - 5);
      ctx.lineTo(to, middle + 5);
      ctx.stroke();
      drawMark(ctx, look, x.getPixelForValue(median), middle);
      write(ctx, rate(median), width - 2, middle, { align: 'right' });
    }
  }

  /** @param {Result} result */
  tip(result) {
    const { median, q1, q3, samples } = rateOf(result);
    return [`median ${rate(median)}`, `quartiles ${rate(q1)} and ${rate(q3)}`, `${samples.length} samples`];
  }

  /** @param {Figures} figures */
  table({ results }) {
    return {
      groups: /** @type {[string, number][]} */ ([
        ['', 1],
        ['messages a second', 3],
        ['', 2],
      ]),
      heads: ['mechanism', 'median', 'lower quartile', 'upper quartile', 'MB/s', 'samples'],
      rows: results.map((result) => {
        const { median, q1, q3, samples } = rateOf(result);
        const megabytes = result.throughput.bytesPerSecond.median / 1e6;
        return [named(result), ...[median, q1, q3, megabytes].map((v) => significant(v)), String(samples.length)];
      }),
    };
  }

  /** @param {Figures} figures */
  describe({ results }) {
    const each = results.map((result) => `${result.title} ${rate(rateOf(result).median)}`);
    return `Dot plot of the median messages a second on a logarithmic scale: ${each.join('; ')}.`;
  }
}
customElements.define('throughput-chart', ThroughputChart);
