// <crossings-chart>: system calls per round trip against round-trip time, with the cost of the calls alone as a curve.
import { color } from '../../shared/colors.js';
import { axis, drawLabels, drawMark, logAxis, roomFor, stroke, write } from '../../shared/drawing.js';
import { crossingCount, duration, significant, timeTick } from '../../shared/format.js';
import { named } from '../../shared/mechanisms.js';
import { defineChart, tripNs } from './chart.js';

/** @param {Result} result */
const calls = (result) => result.crossings.perRoundTrip;
/** The results whose crossings could be counted. @param {Figures} figures */
const counted = ({ results }) => results.filter((result) => calls(result) !== null);
/** @param {Result} result */
const labelOf = (result) => `${result.mechanism} ${duration(tripNs(result))}`;
/** The cost of the crossings alone, nanoseconds. @param {Figures} figures @param {Result} result */
const billNs = ({ floors }, result) => (calls(result) === null ? null : Number(calls(result)) * floors.syscallNs);

const NARROW = matchMedia('(max-width: 40rem)');

defineChart('crossings-chart', {
  axes(figures) {
    const results = counted(figures);
    const end = Math.ceil(Math.max(1, ...results.map((result) => Number(calls(result)))));
    const step = Math.ceil(end / 8);
    const steps = Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
    const times = [...figures.results.map(tripNs), figures.floors.syscallNs];
    return {
      scales: {
        x: {
          ...axis(NARROW.matches ? 'system calls' : 'system calls per round trip', steps),
          min: -0.25,
          max: end + 0.25,
        },
        y: logAxis('median round trip', times, timeTick),
      },
      right: roomFor(results.map(labelOf)) + 24,
    };
  },

  datasets({ results, floors: { syscallNs } }) {
    const end = Math.max(1, ...results.map((result) => Number(calls(result)))) + 1;
    const data = Array.from({ length: 200 }, (_, i) => ({
      x: ((i + 1) / 200) * end,
      y: ((i + 1) / 200) * end * syscallNs,
    }));
    return [{ data, showLine: true, borderColor: color('ink'), borderWidth: 1.25, borderDash: [5, 4] }];
  },

  paint({ scales: { x, y }, chartArea }, ctx, figures) {
    const { syscallNs } = figures.floors;
    const { left, right } = chartArea;
    const results = counted(figures);
    const crossing = results.filter((result) => Number(calls(result)) >= 1);
    const place = (/** @type {Result} */ result) => [
      x.getPixelForValue(calls(result)),
      y.getPixelForValue(tripNs(result)),
    ];
    const end = y.getPixelForValue(x.max * syscallNs);
    const curve = `calls × ${duration(syscallNs)}`;
    // Below the curve, which is too steep for that on a narrow screen.
    if (NARROW.matches) write(ctx, curve, right + 6, end, { tone: 'soft' });
    else write(ctx, curve, right - 2, end + 34, { align: 'right', tone: 'soft' });
    if (crossing[0]) {
      // From the curve up to the fastest mechanism that makes calls: the time that the calls alone do not explain.
      const [at, up] = place(crossing[0]);
      const bill = Number(billNs(figures, crossing[0]));
      const low = y.getPixelForValue(bill);
      stroke(ctx, 'soft', 1, [at, up + 8, at, low], [at - 4, low, at + 4, low]);
      const percent = `${significant(100 - (100 * bill) / tripNs(crossing[0]))} %`;
      const lines =
        roomFor([`the rest: ${percent}`]) < at - 8 - left ? [`the rest: ${percent}`] : ['the rest:', percent];
      for (const [i, line] of lines.entries()) {
        write(ctx, line, at - 8, (up + low) / 2 + 16 * i, { align: 'right', tone: 'soft' });
      }
    }
    const labels = results.map((result) => {
      const [anchorX, anchorY] = place(result);
      const at = crossing.includes(result) ? right + 8 : anchorX + 18;
      return { mechanism: result.mechanism, text: labelOf(result), x: at, y: anchorY, anchorX, anchorY };
    });
    drawLabels(ctx, labels, chartArea);
    for (const result of results.toReversed()) {
      const [at, up] = place(result);
      drawMark(ctx, result.mechanism, at, up); // the fastest is drawn last, on top of its neighbors
    }
  },

  rows(figures) {
    return figures.results.map((result) => {
      const bill = billNs(figures, result);
      const names = Object.entries(result.crossings.byName).map(([name, times]) => `${crossingCount(times)} ${name}`);
      return [
        named(result.mechanism),
        crossingCount(calls(result)),
        crossingCount(result.crossings.perMessage),
        significant(tripNs(result)),
        significant(bill),
        bill === null ? '–' : `${significant((bill / tripNs(result)) * 100, 2)} %`,
        names.join(', ') || (calls(result) === 0 ? 'none' : '–'),
      ];
    });
  },

  describe({ results }) {
    const each = results.map(
      (result) => `${result.title} ${crossingCount(calls(result))} calls, ${duration(tripNs(result))}`,
    );
    return `Scatter plot of system calls per round trip and median round-trip time: ${each.join('; ')}.`;
  },
});
