'use strict';
// The curves of a sweep, and the first question of document 001: does bandwidth rise and then fall, and where?
const { holm, mannWhitney } = require('../../measure/rank-tests.js');
const { median } = require('../../measure/statistics.js');
const { byteCount, significant } = require('../../terminal/numbers.js');

const SIGNIFICANT = 0.05;
const FEWEST_SIZES = 3; // of a curve that has a shape

/** @typedef {import('./samples.js').Point} Point */
/** @typedef {import('./arguments.js').Configuration} Configuration */
/** @typedef {Configuration & {points: Point[]}} Curve points by size */

/**
 * One of the document's questions, answered from this run.
 * @typedef {object} Answer
 * @property {string} name
 * @property {string} question
 * @property {string} text
 * @property {number | null} p null: not enough data for any test
 * @property {string} test how p was computed
 * @property {'held' | 'partly' | 'failed' | 'unknown'} verdict
 */

/** @param {Configuration} configuration */
const nameOf = ({ mechanism, mode, buffers }) =>
  `${mechanism}${buffers === 'matched' ? ' (matched)' : ''} between ${mode === 'thread' ? 'threads' : 'processes'}`;

/** @param {Point[]} points @returns {Curve[]} */
function curvesOf(points) {
  /** @type {Map<string, Curve>} */
  const curves = new Map();
  for (const point of points) {
    const { mechanism, mode, buffers } = point;
    const key = nameOf(point);
    const curve = curves.get(key) ?? { mechanism, mode, buffers, points: [] };
    curve.points.push(point);
    curves.set(key, curve);
  }
  for (const curve of curves.values()) curve.points.sort((a, b) => a.sizeBytes - b.sizeBytes);
  return [...curves.values()];
}

/** The probability of a's samples lying so far below b's if they do not. @param {Point} a @param {Point} b */
function belowP(a, b) {
  const [x, y] = [a.bytesPerSecond.samples, b.bytesPerSecond.samples];
  const { u, p } = mannWhitney(x, y);
  return u < (x.length * y.length) / 2 ? p / 2 : 1 - p / 2;
}

/**
 * Where a curve has its peak, and whether both of its ends are below. The peak is the size with the highest median, so it
 * has been chosen among all sizes: each p-value is multiplied by the number of sizes that it could have been (Bonferroni).
 * @param {Curve} curve
 */
function shapeOf({ mechanism, mode, buffers, points }) {
  const peak = points.reduce((best, point) =>
    point.bytesPerSecond.median > best.bytesPerSecond.median ? point : best,
  );
  const candidates = points.length - 1;
  const corrected = (/** @type {Point} */ end) => Math.min(1, end === peak ? 1 : belowP(end, peak) * candidates);
  const [first, last] = [points[0], points[points.length - 1]];
  // The neighbors of the peak that cannot be distinguished from it.
  const at = points.indexOf(peak);
  let [from, to] = [at, at];
  while (from > 0 && corrected(points[from - 1]) >= SIGNIFICANT) from--;
  while (to < points.length - 1 && corrected(points[to + 1]) >= SIGNIFICANT) to++;
  return {
    mechanism,
    mode,
    buffers,
    peakBytes: peak.sizeBytes,
    peakFromBytes: points[from].sizeBytes,
    peakToBytes: points[to].sizeBytes,
    peakBytesPerSecond: peak.bytesPerSecond.median,
    firstToPeak: first.bytesPerSecond.median / peak.bytesPerSecond.median,
    lastToPeak: last.bytesPerSecond.median / peak.bytesPerSecond.median,
    riseP: corrected(first),
    fallP: corrected(last),
  };
}

/** @typedef {ReturnType<typeof shapeOf> & {p: number, rises: boolean, falls: boolean}} Shape p: of rising and falling */

/**
 * The shapes of all curves; every p-value adjusted for the number of curves (Holm).
 * @param {Curve[]} curves
 * @returns {Shape[]}
 */
function shapesOf(curves) {
  const shapes = curves.filter(({ points }) => points.length >= FEWEST_SIZES).map(shapeOf);
  const rises = holm(shapes.map(({ riseP }) => riseP));
  const falls = holm(shapes.map(({ fallP }) => fallP));
  return shapes.map((shape, i) => ({
    ...shape,
    riseP: rises[i],
    fallP: falls[i],
    p: Math.max(rises[i], falls[i]), // rising and falling: both must hold, so the weaker one decides
    rises: rises[i] < SIGNIFICANT,
    falls: falls[i] < SIGNIFICANT,
  }));
}

/** @param {number} p */
const pText = (p) => (p < 0.001 ? 'p < 0.001' : `p = ${significant(p, 2)}`);

/** Where the peaks of these curves are. @param {Shape[]} shapes */
function peaksText(shapes) {
  const peaks = shapes.map(({ peakBytes }) => peakBytes).sort((a, b) => a - b);
  const [least, most] = [peaks[0], peaks[peaks.length - 1]];
  const drops = shapes.map(({ lastToPeak }) => (1 - lastToPeak) * 100);
  const where = least === most ? `at ${byteCount(least)}` : `from ${byteCount(least)} to ${byteCount(most)}`;
  const below = `${significant(median(drops), 2)} % below`;
  if (shapes.length === 1) return `Its peak is ${where}, and the largest buffer is ${below} it.`;
  return `Their peaks are ${where}. In the median, the largest buffer is ${below} the peak.`;
}

const QUESTION = 'Does bandwidth rise with the buffer size up to a maximum, and then fall?';
const TEST =
  'one-sided Mann-Whitney tests of the smallest and of the largest size against the peak, Bonferroni for the choice of ' +
  'the peak, Holm over the curves; p is the largest over all curves';

/**
 * @param {Curve[]} curves
 * @returns {Answer & {curves: Shape[]}}
 */
function answerRiseAndFall(curves) {
  const shapes = shapesOf(curves);
  const base = { name: 'rise-and-fall', question: QUESTION, test: TEST, curves: shapes };
  if (shapes.length === 0) {
    const text = `This needs at least ${FEWEST_SIZES} buffer sizes.`;
    return { ...base, text, p: null, verdict: 'unknown' };
  }
  const both = shapes.filter(({ rises, falls }) => rises && falls);
  const onlyRise = shapes.filter(({ rises, falls }) => rises && !falls);
  const onlyFall = shapes.filter(({ rises, falls }) => !rises && falls);
  const neither = shapes.filter(({ rises, falls }) => !rises && !falls);
  const words = shapes.length === 1 ? 'curve' : 'curves';
  const verbs = both.length === 1 ? 'rises and then falls' : 'rise and then fall';
  const parts = [`${both.length} of ${shapes.length} ${words} ${verbs}.`];
  if (both.length > 0) parts.push(peaksText(both));
  if (onlyRise.length > 0) parts.push(`Only a rise is detectable in ${onlyRise.length}.`);
  if (onlyFall.length > 0) parts.push(`Only a fall is detectable in ${onlyFall.length}.`);
  if (neither.length > 0) parts.push(`Neither is detectable in ${neither.length}.`);
  const power = powerText(curves, shapes.length);
  if (power && both.length < shapes.length) parts.push(power);
  /** @type {Answer['verdict']} */
  let verdict = 'partly';
  if (both.length === shapes.length) verdict = 'held';
  else if (both.length === 0) verdict = power ? 'unknown' : 'failed';
  return { ...base, text: parts.join(' '), p: Math.max(...shapes.map(({ p }) => p)), verdict };
}

/** How many arrangements two groups of n samples have. @param {number} n */
function arrangements(n) {
  let count = 1;
  for (let i = 1; i <= n; i++) count *= (n + i) / i;
  return count;
}

/** A sentence if even the clearest difference would not be significant. @param {Curve[]} curves @param {number} questions */
function powerText(curves, questions) {
  const samples = median(curves.map(({ points }) => median(points.map((p) => p.bytesPerSecond.samples.length))));
  const candidates = Math.max(...curves.map(({ points }) => points.length)) - 1;
  if ((candidates * questions) / arrangements(Math.floor(samples)) < SIGNIFICANT) return null;
  return `With ${Math.floor(samples)} samples per point, even the clearest difference could not be detected: take more samples.`;
}

module.exports = { answerRiseAndFall, curvesOf, FEWEST_SIZES, nameOf, pText, SIGNIFICANT };
