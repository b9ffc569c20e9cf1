// <distribution-chart>: where the round trips lie, a histogram for each mechanism over one logarithmic time axis. The
// bands are those that the trips were counted in; nothing is smoothed.
import { LabChart } from './chart.js';
import { drawMark, logAxis, roomFor, rowAxis, write } from './drawing.js';
import { crossingCount, duration, significant, timeStep } from './format.js';
import { named } from './html.js';
import { colour, lookOf } from './marks.js';

const ROW_FILL = 0.84; // of a row's height, for the fullest band of all
const BAND_STEPS = 10; // bands of the table, a decade

/** Per cent of the trips in each band. @param {Result} result @returns {[number, number, number][]} */
const shares = ({ roundTrip: { histogram, count } }) =>
  histogram.map(([from, below, times]) => [from, below, (100 * times) / count]);

/** @param {Result} result */
const fullest = (result) => shares(result).reduce((most, band) => (band[2] > most[2] ? band : most));

/** @param {Result[]} results */
const tallest = (results) => Math.max(...results.map((result) => fullest(result)[2]));

/** The steps of one histogram above its row's base. @param {Result} result @param {number} base @param {number} scale */
function outline(result, base, scale) {
  /** @type {{x: number, y: number}[]} */
  const points = [];
  let last = 0;
  for (const [from, below, share] of shares(result)) {
    if (from > last * 1.001) points.push({ x: last, y: base }, { x: from, y: base });
    points.push({ x: from, y: base + share * scale }, { x: below, y: base + share * scale });
    last = below;
  }
  return [...points.slice(1), { x: last, y: base }];
}

class DistributionChart extends LabChart {
  heading = 'Where the round trips lie';
  how = 'Height: the share of the trips in each band of time, 6 % wide; the same scale in every row. Mark: median.';
  kind = /** @type {const} */ ('distribution');

  /** @param {Figures} figures */
  rows({ results }) {
    return results.length;
  }

  /** @param {Figures} figures */
  axes({ results }) {
    const edges = results.flatMap((result) => shares(result).flatMap((band) => band.slice(0, 2)));
    return {
      scales: { x: logAxis('round trip', edges, timeStep), y: rowAxis(results) },
      right: roomFor(results.map(({ roundTrip }) => duration(roundTrip.ns.p50))) + 12,
    };
  }

  /** @param {Figures} figures */
  datasets({ results }) {
    const scale = ROW_FILL / tallest(results);
    return results.map((result, i) => {
      const base = results.length - i - 1;
      return {
        result,
        data: outline(result, base, scale),
        showLine: true,
        fill: { value: base },
        backgroundColor: lookOf(result.mechanism).accent,
        borderColor: colour('ink'),
        borderWidth: 1,
        borderJoinStyle: 'miter',
      };
    });
  }

  /** @param {any} chart @param {CanvasRenderingContext2D} ctx @param {Figures} figures */
  paint({ scales: { x, y }, chartArea: { left, right }, width }, ctx, { results }) {
    for (const [i, { mechanism, roundTrip }] of results.entries()) {
      const base = y.getPixelForValue(results.length - i - 1);
      ctx.strokeStyle = colour('line');
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, base + 0.5);
      ctx.lineTo(right, base + 0.5);
      ctx.stroke();
      drawMark(ctx, lookOf(mechanism), x.getPixelForValue(roundTrip.ns.p50), base, 0.8);
      write(ctx, duration(roundTrip.ns.p50), width - 2, y.getPixelForValue(results.length - i - 0.5), {
        align: 'right',
      });
    }
  }

  /** @param {Result} result @param {any} point */
  tip(result, { x }) {
    const [from, below, share] =
      shares(result).find(([start, end]) => x >= start * 0.999 && x < end) ?? fullest(result);
    return `${significant(share, 2)} % between ${duration(from)} and ${duration(below)}`;
  }

  /** Four bands of the chart make one of the table. @param {Figures} figures */
  table({ results }) {
    /** @type {Map<number, number[]>} */
    const bands = new Map();
    for (const [i, result] of results.entries()) {
      for (const [from, , share] of shares(result)) {
        const band = Math.floor(Math.log10(from) * BAND_STEPS + 0.01);
        const row = bands.get(band) ?? results.map(() => 0);
        row[i] += share;
        bands.set(band, row);
      }
    }
    const edge = (/** @type {number} */ band) => duration(10 ** (band / BAND_STEPS));
    const cell = (/** @type {number} */ share) => (share === 0 ? '' : share < 0.01 ? '< 0.01' : crossingCount(share));
    return {
      groups: /** @type {[string, number][]} */ ([
        ['', 1],
        ['share of the round trips, %', results.length],
      ]),
      heads: ['from', ...results.map((result) => named({ ...result, title: result.mechanism }))],
      rows: [...bands].sort(([a], [b]) => a - b).map(([band, row]) => [edge(band), ...row.map(cell)]),
    };
  }

  /** @param {Figures} figures */
  describe({ results }) {
    const each = results.map((result) => {
      const [from, below, share] = fullest(result);
      return `${result.title}, most of all (${significant(share, 2)} %) between ${duration(from)} and ${duration(below)}`;
    });
    return `Histograms of the round-trip times on a logarithmic scale: ${each.join('; ')}.`;
  }
}
customElements.define('distribution-chart', DistributionChart);
