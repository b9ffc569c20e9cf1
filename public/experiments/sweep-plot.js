// The plot of a sweep: one line for each mechanism, with its quartiles as a band, on two logarithmic axes, and the sizes of this
// machine's caches.
import { axis, drawLabels, drawMark, logAxis, roomFor, stroke, write } from '../shared/drawing.js';
import { byteCount, byteTick, significant } from '../shared/format.js';
import { lookOf } from '../shared/mechanisms.js';

const MIB = 1 << 20;
const NARROW = matchMedia('(max-width: 40rem)');
const CACHES = /** @type {const} */ ([
  ['l1d', 'L1'],
  ['l2', 'L2'],
  ['l3', 'L3'],
]);

/**
 * @typedef {object} Point
 * @property {string} mechanism
 * @property {'process' | 'thread'} mode
 * @property {'default' | 'matched'} buffers
 * @property {number} sizeBytes
 * @property {{median: number, q1: number, q3: number}} bytesPerSecond
 * @property {{count: number, sizes: {bytes: number, count: number}[]}} reads
 */
/** @typedef {{mechanism: string, matched: boolean, name: string, points: Point[]}} Curve points by size */
/** @typedef {{l1d: number | null, l2: number | null, l3: number | null}} Caches bytes */

/** One curve for each mechanism and kind of buffer of one mode. @param {Point[]} points @param {string} mode @returns {Curve[]} */
export function curvesOf(points, mode) {
  /** @type {Map<string, Curve>} */
  const curves = new Map();
  for (const point of points) {
    if (point.mode !== mode) continue;
    const { mechanism, buffers } = point;
    const matched = buffers === 'matched';
    const name = matched ? `${mechanism}, matched` : mechanism;
    const curve = curves.get(name) ?? { mechanism, matched, name, points: [] };
    curve.points.push(point);
    curves.set(name, curve);
  }
  for (const curve of curves.values()) curve.points.sort((a, b) => a.sizeBytes - b.sizeBytes);
  return [...curves.values()];
}

/** 'rgb(1, 2, 3)' -> 'rgba(1, 2, 3, 0.18)'. @param {string} rgb */
const translucent = (rgb) => rgb.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.18)');

/** The lower edge of a band, its upper edge, and the line. @param {Curve} curve */
function datasetsOf({ mechanism, matched, name, points }) {
  const { accent, dash } = lookOf(mechanism);
  /** @param {'median' | 'q1' | 'q3'} part */
  const line = (part) => points.map(({ sizeBytes: x, bytesPerSecond }) => ({ x, y: bytesPerSecond[part] / MIB }));
  const edge = { showLine: true, borderWidth: 0, pointHitRadius: 0 };
  return [
    { ...edge, data: line('q1') },
    { ...edge, data: line('q3'), fill: '-1', backgroundColor: translucent(accent) },
    {
      name,
      data: line('median'),
      showLine: true,
      borderColor: accent,
      borderWidth: matched ? 1.25 : 2.25,
      borderDash: dash,
    },
  ];
}

/** The ticks: each is `factor` times the one before. @param {number} min @param {number} max @param {number} factor */
function sizesBetween(min, max, factor) {
  const sizes = [];
  for (let size = min; size > 0 && size <= max && size < Infinity; size *= factor) sizes.push(size);
  return sizes;
}

/**
 * @param {Curve[]} curves
 * @param {Caches | undefined} caches
 * @param {string} place
 * @returns {PlotSpec}
 */
export function plotOf(curves, caches, place) {
  const points = curves.flatMap((curve) => curve.points);
  const sizes = points.map(({ sizeBytes }) => sizeBytes);
  const rates = points.flatMap(({ bytesPerSecond: { q1, q3 } }) => [q1 / MIB, q3 / MIB]);
  const [min, most] = [Math.min(...sizes), Math.max(...sizes)];
  const max = Math.min(Math.max(most, min * 2), Number.MAX_VALUE);
  const peaks = curves.map(({ name, points: own }) => {
    const peak = own.reduce((best, point) => (point.bytesPerSecond.median > best.bytesPerSecond.median ? point : best));
    return `${name} ${significant(peak.bytesPerSecond.median / MIB)} at ${byteCount(peak.sizeBytes)}`;
  });
  return {
    top: 34,
    right: NARROW.matches ? 18 : roomFor(curves.map(({ name }) => name)) + 34,
    scales: {
      x: {
        ...axis('buffer size', sizesBetween(min, max, NARROW.matches ? 64 : 8), byteTick),
        type: 'logarithmic',
        min,
        max,
      },
      y: logAxis('MiB per second', rates, (value) => significant(value, 1)),
    },
    datasets: curves.flatMap(datasetsOf),
    tip: (dataset, { x, y }) => (dataset.name ? [dataset.name, `${byteCount(x)}: ${significant(y)} MiB/s`] : null),
    text: `Line chart of bandwidth by buffer size between ${place}. Highest median in MiB per second: ${peaks.join('; ')}.`,
    paint({ scales: { x, y }, chartArea }, ctx) {
      const { top, bottom, right } = chartArea;
      let row = 0;
      for (const [key, label] of CACHES) {
        const size = caches?.[key];
        if (!size || size < min || size > max) continue;
        const at = x.getPixelForValue(size);
        const up = top - 24 + 13 * (row++ % 2);
        ctx.setLineDash([2, 3]);
        stroke(ctx, 'soft', 1, [at, up + 8, at, bottom]);
        ctx.setLineDash([]);
        write(ctx, `${label} ${byteTick(size)}`, at, up, {
          align: at > right - 60 ? 'right' : 'center',
          tone: 'soft',
          size: 11,
        });
      }
      const labels = curves.map(({ mechanism, matched, name, points: own }) => {
        const places = own.map(({ sizeBytes, bytesPerSecond }) => [
          x.getPixelForValue(sizeBytes),
          y.getPixelForValue(bytesPerSecond.median / MIB),
        ]);
        for (const [i, [at, up]] of places.entries()) {
          if (i % 3 === 0 || i === places.length - 1) drawMark(ctx, mechanism, at, up, 0.6, matched);
        }
        const [anchorX, anchorY] = places[places.length - 1];
        return { mechanism, hollow: matched, text: name, x: right + 18, y: anchorY, anchorX, anchorY };
      });
      if (NARROW.matches) {
        for (const { mechanism, hollow, anchorX, anchorY } of labels)
          drawMark(ctx, mechanism, anchorX, anchorY, 0.8, hollow);
      } else drawLabels(ctx, labels, chartArea);
    },
  };
}
