// The bill of a round trip: one bar that is the whole, then each part, which begins where the one before it ends, with its interval.
import { areaColor, color, textOn } from '../shared/colors.js';
import { axis, linearSteps, stroke } from '../shared/drawing.js';
import { duration, linearTimeTick, significant } from '../shared/format.js';
import { Figure } from './figure.js';
import { headRow, hiddenRows } from './rows.js';

const COLORS = 7; // of base.css, --part-1 to --part-7
const ROW_REM = 3.25;

/** @typedef {{name: string, title?: string, ns: Interval | null, share: Interval | null, how: string, reason?: string | null}} Part */
/** @typedef {{mechanism: string, title?: string, roundTripNs: Interval, parts: Part[]}} Bill */
/** @typedef {ExperimentFile & Bill & {others?: Bill[]}} BillFile */

/** @param {Part} part */
const titleOf = ({ title, name }) => title ?? name;

/** A time that may be negative, as the difference of two times can be. @param {number} ns */
const signed = (ns) => (ns < 0 ? `−${duration(-ns)}` : duration(ns));

/** The shortest axis. Chart.js looks for the decimal places of a tick, and never ends for one below 1e-308. */
const LEAST_NS = 1e-9;

/** @param {Interval} interval */
const between = ({ low, high }) => `${signed(low)} to ${signed(high)}`;

/** @param {number} index */
const partColor = (index) => areaColor(`part-${(index % COLORS) + 1}`);

/** Where each part that was measured begins: where those before it end. @param {Part[]} parts */
function placed(parts) {
  let from = 0;
  return parts.flatMap((part, index) => {
    const { ns } = part;
    if (!ns) return [];
    const place = { part, index, ns, from, to: from + ns.median };
    from = place.to;
    return [place];
  });
}

/** @param {Bill} bill @returns {PlotSpec} */
function plotOf({ mechanism, roundTripNs, parts }) {
  const places = placed(parts);
  const ends = places.flatMap(({ ns, from, to }) => [to, from + ns.low, from + ns.high]);
  const max = Math.max(roundTripNs.high, ...ends, LEAST_NS) * 1.02;
  const min = Math.min(0, ...ends);
  return {
    right: 8,
    scales: {
      x: { ...axis('time of a round trip', linearSteps(min, max, 6), linearTimeTick), min, max },
      y: hiddenRows(places.length + 1),
    },
    datasets: [],
    text:
      `Stacked bar of a round trip through ${mechanism}, ${duration(roundTripNs.median)} in all: ` +
      `${places.map(({ part, ns }) => `${titleOf(part)} ${signed(ns.median)}`).join('; ')}.`,
    paint(chart, ctx) {
      const { x } = chart.scales;
      const at = (/** @type {number} */ ns) => x.getPixelForValue(ns);
      /** @param {number} from @param {number} to @param {number} index @param {{top: number, height: number}} row */
      const bar = (from, to, index, { top, height }) => {
        const [begin, end] = [Math.min(at(from), at(to)), Math.max(at(from), at(to))];
        ctx.fillStyle = partColor(index);
        ctx.fillRect(begin, top, Math.max(end - begin, 1), height);
        ctx.strokeStyle = color('paper');
        ctx.lineWidth = 1;
        ctx.strokeRect(begin, top, Math.max(end - begin, 1), height);
        if (end - begin < 16) return;
        ctx.fillStyle = textOn(partColor(index));
        ctx.font = `600 12px ${getComputedStyle(document.body).fontFamily}`;
        ctx.textAlign = 'left';
        ctx.textBaseline = 'middle';
        ctx.fillText(String(index + 1), begin + 5, top + height / 2 + 1); // whiskers are at the end
      };
      /** @param {number} low @param {number} high @param {{middle: number}} row */
      const whisker = (low, high, { middle }) => {
        const ends = [low, high].map((ns) => [at(ns), middle - 5, at(ns), middle + 5]);
        stroke(ctx, 'paper', 5, [at(low), middle, at(high), middle]);
        stroke(ctx, 'ink', 2, [at(low), middle, at(high), middle], ...ends);
      };
      const whole = headRow(chart, ctx, 0, 'the whole round trip', duration(roundTripNs.median));
      for (const { from, to, index } of places) bar(from, to, index, whole);
      whisker(roundTripNs.low, roundTripNs.high, whole);
      for (const [i, { part, from, to, index, ns }] of places.entries()) {
        const row = headRow(chart, ctx, i + 1, `${index + 1}  ${titleOf(part)}`, signed(ns.median));
        stroke(ctx, 'line', 1, [at(from), whole.top + whole.height, at(from), row.top + row.height]);
        bar(from, to, index, row);
        whisker(from + ns.low, from + ns.high, row);
      }
    },
  };
}

/** @param {Bill} bill */
function rowsOf({ roundTripNs, parts }) {
  const percent = (/** @type {number} */ share) => `${share < 0 ? '−' : ''}${significant(100 * Math.abs(share), 2)} %`;
  const whole = ['the whole round trip', duration(roundTripNs.median), between(roundTripNs), '100 %', ''];
  const each = parts.map((part, index) => {
    const { ns, share, how, reason } = part;
    const figures = ns && share ? [signed(ns.median), between(ns), percent(share.median)] : ['–', '–', '–'];
    return [
      `${index + 1}  ${titleOf(part)}`,
      ...figures,
      reason ? `${how} (${ns ? '' : 'not measured: '}${reason})` : how,
    ];
  });
  return [...each, whole];
}

/** The figure of one mechanism. @param {string} mechanism */
function makeFigure(mechanism) {
  const figure = new Figure({
    name: `bill-${mechanism}`,
    title: `Parts of a round trip through ${mechanism}`,
    how: 'The first bar is the whole round trip. Below it, each part begins where the previous one ends. The thin line is the confidence interval of the part’s median.',
    columns: ['part', 'median', 'interval', 'share', 'how it was measured'],
  });
  figure.element.classList.add('prose-last');
  return figure;
}

/** @type {View} */
export const bill = {
  choices: {
    mechanism: { legend: 'Mechanism' },
    size: { legend: 'Message size', values: { 32: '32 bytes', 64: '64 bytes', 4096: '4 KiB' } },
  },
  build(area) {
    /** @type {Map<string, Figure>} */
    const figures = new Map();
    return (/** @type {BillFile} */ file) => {
      const bills = [file, ...(file.others ?? [])];
      for (const [mechanism, { element }] of figures)
        element.hidden = !bills.some((one) => one.mechanism === mechanism);
      for (const one of bills) {
        const figure = figures.get(one.mechanism) ?? makeFigure(one.mechanism);
        figures.set(one.mechanism, figure);
        area.append(figure.element);
        figure.show(file, {
          plot: () => plotOf(one),
          rows: rowsOf(one),
          height: `${(one.parts.filter(({ ns }) => ns).length + 1) * ROW_REM + 3.5}rem`,
        });
      }
    };
  },
};
