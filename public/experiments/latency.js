// The ring's percentiles: the closed loop, the paced loop, and the document's table on one axis.
import { color } from '../shared/colors.js';
import { drawLabels, drawMark, logAxis, roomFor, stroke } from '../shared/drawing.js';
import { duration, rate, significant, timeTick } from '../shared/format.js';
import { lookOf } from '../shared/mechanisms.js';
import { MARKED, nines, percentileAxis, writeFloor } from '../shared/percentiles.js';
import { Figure } from './figure.js';

const NARROW = matchMedia('(max-width: 40rem)');
const FURTHEST = 99.9999; // percent: the axis has no place for 100
const NAMED = /** @type {const} */ ([
  ['min', 0],
  ['p50', 50],
  ['p90', 90],
  ['p99', 99],
  ['p99.9', 99.9],
  ['p99.99', 99.99],
]);

/** @typedef {Record<string, number | null>} Percentiles nanoseconds by name */
/** @typedef {{ns: Percentiles, distribution: number[][]}} Loop distribution: percentile and nanoseconds, and what follows */
/**
 * @typedef {ExperimentFile & Loop & {
 *   oneWayEstimateNs: number, roundTripsPerSecond: {median: number}, floorNs: {median: number} | null,
 *   paced: Loop & {ratePerSecond: number, serviceNs?: Percentiles} | null,
 *   document: {number: string, machine: string, conditions: string, ns: Percentiles, oneWayEstimateNs: number, roundTripsPerSecond: number}
 * }} LatencyFile
 */
/** @typedef {{mechanism: string, name: string, hollow: boolean, points: [number, number][]}} Series percentile and nanoseconds */

/** @param {Percentiles} ns @returns {[number, number][]} */
const tabled = (ns) => NAMED.flatMap(([name, percent]) => (ns[name] ? [[percent, Number(ns[name])]] : []));

/** @param {Loop} loop @returns {[number, number][]} */
const pointsOf = ({ ns, distribution }) => {
  const points = distribution
    .filter(([percent]) => percent <= FURTHEST)
    .map(([percent, time]) => /** @type {[number, number]} */ ([percent, time]));
  return points.length > 1 ? points : tabled(ns);
};

/** @param {LatencyFile} file @returns {Series[]} */
function seriesOf(file) {
  const { paced, document } = file;
  const all = [
    { mechanism: 'ring', name: 'closed loop', hollow: false, points: pointsOf(file) },
    ...(paced ? [{ mechanism: 'shm-sem', name: 'paced', hollow: false, points: pointsOf(paced) }] : []),
    { mechanism: 'document', name: `document ${document.number}`, hollow: true, points: tabled(document.ns) },
  ];
  return all.filter(({ points }) => points.length > 0); // a file need not have percentiles of each
}

/** Whether a point is at a percentile that has a mark, nearly. @param {[number, number]} point */
const isMarked = ([percent]) => MARKED.some((marked) => Math.abs(nines(marked) - nines(percent)) < 1e-3);

/** @param {LatencyFile} file @param {Series[]} series @returns {PlotSpec} */
function plotOf({ floorNs }, series) {
  const points = series.flatMap((one) => one.points);
  const floor = floorNs?.median ?? null;
  const times = [...points.map(([, ns]) => ns), floor ?? points[0]?.[1] ?? 1];
  const at50 = series.map(({ name, points: own }) => {
    const [, ns] = own.find(([percent]) => percent >= 50) ?? own[own.length - 1];
    return `${name} ${duration(ns)}`;
  });
  const place = (/** @type {any} */ { x, y }, /** @type {[number, number]} */ [percent, ns]) => ({
    at: x.getPixelForValue(nines(percent)),
    up: y.getPixelForValue(ns),
  });
  return {
    right: NARROW.matches ? 18 : roomFor(series.map(({ name }) => name)) + 34,
    scales: {
      x: percentileAxis('share of round trips', [0, ...points.map(([percent]) => percent)]),
      y: logAxis('round-trip time', times, timeTick),
    },
    datasets: series.map(({ mechanism, name, hollow, points: own }) => ({
      name,
      data: own.map(([percent, y]) => ({ x: nines(percent), y, percent })),
      showLine: true,
      borderColor: lookOf(mechanism).accent,
      borderWidth: hollow ? 1.5 : 2.25,
      borderDash: mechanism === 'shm-sem' ? [9, 3] : hollow ? [2, 3] : [],
    })),
    tip: ({ name }, { percent, y }) => [name, `${significant(percent, percent > 99 ? 6 : 3)} % within ${duration(y)}`],
    text: `Line chart of round-trip times by percentile. Median: ${at50.join('; ')}. Floor: ${duration(floor)}.`,
    paint({ scales, chartArea }, ctx) {
      const { left, right } = chartArea;
      if (floor !== null) {
        const up = scales.y.getPixelForValue(floor);
        ctx.setLineDash([2, 3]);
        stroke(ctx, 'soft', 1, [left, up, right, up]);
        ctx.setLineDash([]);
        writeFloor(ctx, up, chartArea, floor);
      }
      const labels = series.map(({ mechanism, name, hollow, points: own }) => {
        for (const point of hollow ? own : own.filter(isMarked)) {
          const { at, up } = place(scales, point);
          drawMark(ctx, mechanism, at, up, 0.75, hollow);
        }
        const { at, up } = place(scales, own[own.length - 1]);
        return { mechanism, text: name, hollow, x: right + 18, y: up, anchorX: at, anchorY: up };
      });
      ctx.fillStyle = color('ink');
      if (!NARROW.matches) drawLabels(ctx, labels, chartArea);
    },
  };
}

/** @param {LatencyFile} file */
function rowsOf(file) {
  const { paced, document } = file;
  const service = paced?.serviceNs;
  /** @type {[string, (ns: Percentiles) => number | null][]} */
  const lines = [...NAMED.map(([name]) => name), 'max', 'mean'].map((name) => [name, (ns) => ns[name] ?? null]);
  const rows = lines.map(([name, read]) => {
    const own = read(file.ns);
    const theirs = read(document.ns);
    return [
      name.replace(/^p([\d.]+)$/, '$1 %'),
      duration(own),
      ...(paced ? [duration(read(paced.ns)), duration(service ? read(service) : null)] : ['–', '–']),
      duration(theirs),
      own && theirs ? `${significant(own / theirs)} ×` : '–',
    ];
  });
  const perSecond = file.roundTripsPerSecond.median;
  return [
    ...rows,
    [
      'one way (half of the median)',
      duration(file.oneWayEstimateNs),
      '–',
      '–',
      duration(document.oneWayEstimateNs),
      `${significant(file.oneWayEstimateNs / document.oneWayEstimateNs)} ×`,
    ],
    [
      'round trips per second',
      rate(perSecond),
      paced ? rate(paced.ratePerSecond) : '–',
      '–',
      rate(document.roundTripsPerSecond),
      `${significant(perSecond / document.roundTripsPerSecond)} ×`,
    ],
  ];
}

/** @type {View} */
export const latency = {
  choices: { mlock: { legend: 'Locked memory' } },
  build(area) {
    const figure = new Figure({
      name: 'latency',
      title: 'Percentiles of the ring’s round trip',
      how: '',
      columns: [
        '',
        'closed loop',
        'paced, from the due time',
        'paced, from sending',
        'the document',
        'closed loop ÷ document',
      ],
    });
    figure.element.classList.add('tall');
    area.append(figure.element);
    return (/** @type {LatencyFile} */ file) => {
      const { document } = file;
      const series = seriesOf(file);
      figure.setHow(
        `Share of round trips that finished within a given time. Each tick adds a nine: 90 %, 99 %, 99.9 %. The closed loop sends the next message when the last one has returned; the paced loop sends at times fixed in advance and measures from those times, so messages that wait behind a delay count as late. Hollow marks: document ${document.number} (${document.machine}; ${document.conditions}).`,
      );
      figure.show(file, { plot: () => plotOf(file, series), rows: rowsOf(file), legend: series });
    };
  },
};
