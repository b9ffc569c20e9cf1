// <percentiles-chart>: round-trip times on the axis that Gil Tene's HdrHistogram made known: each step to the right is
// another nine (90, 99, 99.9 %), so that the rare slow trips get as much room as the common ones.
import { floorOf, LabChart } from './chart.js';
import { axis, drawLabels, drawMark, logAxis, roomFor, spread, write } from './drawing.js';
import { duration, significant, timeStep } from './format.js';
import { named } from './html.js';
import { colour, lookOf } from './marks.js';

/** The place of a percentile on the axis: 0 -> 0, 90 -> 1, 99 -> 2. @param {number} percent */
const nines = (percent) => -Math.log10(1 - percent / 100);
const MARKED = [50, 90, 99, 99.9, 99.99, 99.999, 99.9999];
/** @type {[string, string][]} heading and the run file's name of it */
const COLUMNS = [
  ['fastest', 'min'],
  ['50 %', 'p50'],
  ['90 %', 'p90'],
  ['99 %', 'p99'],
  ['99.9 %', 'p99.9'],
  ['99.99 %', 'p99.99'],
  ['slowest', 'max'],
];

class PercentilesChart extends LabChart {
  heading = 'Round trips, to the rarest';
  how =
    'How long so many per cent of the trips took at most. Each step to the right is another nine; up is ten times slower.';
  kind = /** @type {const} */ ('percentiles');

  /** @param {Figures} figures */
  axes({ results, floors }) {
    const times = results.flatMap(({ roundTrip }) => roundTrip.distribution.map(([, ns]) => ns));
    if (floors.cacheLineRoundTripNs) times.push(floors.cacheLineRoundTripNs);
    const last = Math.max(...results.flatMap(({ roundTrip }) => roundTrip.distribution.map(([p]) => nines(p))));
    return {
      scales: {
        x: {
          ...axis('share of the round trips'),
          type: 'linear',
          min: 0,
          max: last,
          afterBuildTicks: (/** @type {any} */ scale) => {
            scale.ticks = MARKED.map((p) => ({ value: nines(p) })).filter(({ value }) => value <= last);
          },
          ticks: {
            color: colour('soft'),
            padding: 6,
            maxRotation: 0,
            callback: (/** @type {number} */ value) => `${Number((100 - 100 / 10 ** value).toFixed(4))} %`,
          },
        },
        y: logAxis('round trip', times, timeStep),
      },
      right: roomFor(results.map(({ mechanism }) => mechanism)) + 34,
    };
  }

  /** @param {Figures} figures */
  datasets({ results }) {
    return results.map((result) => {
      const { accent, dash } = lookOf(result.mechanism);
      return {
        result,
        data: result.roundTrip.distribution.map(([p, y]) => ({ x: nines(p), y, p })),
        showLine: true,
        borderColor: accent,
        borderWidth: 2.25,
        borderDash: dash,
      };
    });
  }

  /** @param {any} chart @param {CanvasRenderingContext2D} ctx @param {Figures} figures */
  paint(chart, ctx, { results, floors }) {
    const { x, y } = chart.scales;
    const { left, right, top, bottom } = chart.chartArea;
    if (floors.cacheLineRoundTripNs) {
      const at = y.getPixelForValue(floors.cacheLineRoundTripNs);
      ctx.strokeStyle = colour('soft');
      ctx.lineWidth = 1;
      ctx.setLineDash([2, 3]);
      ctx.beginPath();
      ctx.moveTo(left, at);
      ctx.lineTo(right, at);
      ctx.stroke();
      ctx.setLineDash([]);
      write(ctx, `floor: a bare cache line, ${duration(floors.cacheLineRoundTripNs)}`, right, at + 11, {
        align: 'right',
        tone: 'soft',
      });
    }
    const labels = results.map(({ mechanism, roundTrip: { distribution } }) => {
      const look = lookOf(mechanism);
      for (const [p, ns] of distribution) {
        if (MARKED.includes(p)) drawMark(ctx, look, x.getPixelForValue(nines(p)), y.getPixelForValue(ns), 0.75);
      }
      const [p, ns] = distribution[distribution.length - 1];
      const anchorY = y.getPixelForValue(ns);
      return { text: mechanism, x: right + 18, y: anchorY, anchorX: x.getPixelForValue(nines(p)), anchorY, look };
    });
    spread(labels, top, bottom);
    drawLabels(ctx, labels);
  }

  /** @param {Result} _result @param {any} point */
  tip(_result, { p, y }) {
    return `${significant(p, p > 99 ? 6 : 3)} % took at most ${duration(y)}`;
  }

  /** @param {Figures} figures */
  table({ results }) {
    return {
      groups: /** @type {[string, number][]} */ ([
        ['', 1],
        ['round trip, ns', 7],
        ['', 2],
      ]),
      heads: ['mechanism', ...COLUMNS.map(([head]) => head), '× floor', 'trips'],
      rows: results.map((result) => {
        const { ns, overFloor, count } = result.roundTrip;
        const times = COLUMNS.map(([, name]) => significant(ns[name]));
        return [named(result), ...times, significant(overFloor?.median), count.toLocaleString('en-US')];
      }),
    };
  }

  /** @param {Figures} figures */
  describe(figures) {
    const each = figures.results.map(
      ({ title, roundTrip: { ns } }) => `${title} ${duration(ns.p50)} and ${duration(ns.p99)}`,
    );
    return `Line chart of round-trip times by percentile. Median and 99th percentile: ${each.join('; ')}. Floor: ${floorOf(figures)}.`;
  }
}
customElements.define('percentiles-chart', PercentilesChart);
