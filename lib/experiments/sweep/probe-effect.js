'use strict';
// The third question of document 001: does instrumentation change the level of the curve, but not its shape?
const { holm, wilcoxonSignedRank } = require('../../measure/rank-tests.js');
const { median } = require('../../measure/statistics.js');
const { byteCount, significant } = require('../../terminal/numbers.js');
const { FEWEST_SIZES, nameOf, pText, SIGNIFICANT } = require('./curves.js');

/** @typedef {import('./curves.js').Answer} Answer */
/** @typedef {import('./arguments.js').Configuration} Configuration */

/**
 * The same sweep without and with an instrument. rates[round][size]: bytes per second, in the order of `sizes`. Round n of
 * the one belongs to round n of the other.
 * @typedef {object} Probed
 * @property {string} instrument
 * @property {number[][]} raw
 * @property {number[][]} instrumented
 */

/** @param {number[]} values */
const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/** @param {number[][]} rounds @param {number} index */
const column = (rounds, index) => rounds.map((round) => round[index]);

/** The medians of each size. @param {number[][]} rounds */
const line = (rounds) => rounds[0].map((_, index) => median(column(rounds, index)));

/** Every rate divided by the mean of the line. @param {number[][]} rounds */
function normalize(rounds) {
  const level = mean(line(rounds));
  return rounds.map((round) => round.map((rate) => rate / level));
}

/** The level of a round: the mean of the logarithms, so that every size counts alike. @param {number[]} round */
const levelOf = (round) => mean(round.map(Math.log));

/** @param {number[]} values */
const indexOfMax = (values) => values.indexOf(Math.max(...values));

/**
 * @param {Probed} probed
 * @param {number[]} sizes
 */
function effectOf({ instrument, raw, instrumented }, sizes) {
  const [lineRaw, lineInstrumented] = [line(raw), line(instrumented)];
  const [shapeRaw, shapeInstrumented] = [normalize(raw), normalize(instrumented)];
  const pointP = sizes.map((_, i) => wilcoxonSignedRank(column(shapeInstrumented, i), column(shapeRaw, i)).p);
  const adjusted = holm(pointP);
  const level = wilcoxonSignedRank(instrumented.map(levelOf), raw.map(levelOf));
  const points = sizes.map((sizeBytes, i) => ({
    sizeBytes,
    effectPercent: (lineInstrumented[i] / lineRaw[i] - 1) * 100,
    rawBytesPerSecond: lineRaw[i],
    instrumentedBytesPerSecond: lineInstrumented[i],
    p: pointP[i],
    adjustedP: adjusted[i],
  }));
  const effects = points.map(({ effectPercent }) => effectPercent);
  return {
    instrument,
    pairs: raw.length,
    levelPercent: median(effects),
    leastPercent: Math.min(...effects),
    mostPercent: Math.max(...effects),
    levelP: level.p,
    /** Sizes at which the normalized lines differ: by the document's rule, and corrected for testing every size. */
    differingUncorrected: pointP.filter((p) => p < SIGNIFICANT).length,
    differing: adjusted.filter((p) => p < SIGNIFICANT).length,
    detectable: 2 ** (1 - raw.length) * sizes.length < SIGNIFICANT,
    rawPeakBytes: sizes[indexOfMax(lineRaw)],
    instrumentedPeakBytes: sizes[indexOfMax(lineInstrumented)],
    points,
  };
}

/** @typedef {ReturnType<typeof effectOf>} Effect */

/** -3.14 -> "−3.1 %"; -99.74 -> "−99.7 %", because −100 % would be nothing at all. @param {number} value */
const percent = (value) => `${value > 0 ? '+' : ''}${significant(value, value < -99 ? 3 : 2)} %`.replace('-', '−');

/** @param {Effect} effect */
function effectText(effect) {
  const { instrument, levelPercent, leastPercent, mostPercent, levelP, pairs, points } = effect;
  const name = `${instrument[0].toUpperCase()}${instrument.slice(1)}`;
  const changed = `${percent(levelPercent)} in the median of the sizes, ${percent(leastPercent)} to ${percent(mostPercent)}`;
  const level =
    levelP < SIGNIFICANT
      ? `${name} changes the bandwidth (${changed}; ${pText(levelP)}).`
      : `${name}: no change in bandwidth is detectable (${changed}; ${pText(levelP)}).`;
  const peak =
    effect.rawPeakBytes === effect.instrumentedPeakBytes
      ? `the peak stays at ${byteCount(effect.rawPeakBytes)}`
      : `the peak moves from ${byteCount(effect.rawPeakBytes)} to ${byteCount(effect.instrumentedPeakBytes)}`;
  const power = effect.detectable
    ? ''
    : ` With ${pairs} pairs per size, no difference could survive the correction, so this says little about the shape.`;
  return (
    `${level} Scaled to the same mean, the curves with and without it differ at ${effect.differing} of ${points.length} sizes, ` +
    `and ${peak}.${power}`
  );
}

/** Is the shape the same? @param {Effect} effect @returns {'held' | 'partly' | 'failed' | 'unknown'} */
function verdictOf({ differing, detectable, points, levelP }) {
  if (differing > points.length / 2) return 'failed';
  if (differing > 0) return 'partly';
  if (!detectable) return 'unknown';
  return levelP < SIGNIFICANT ? 'held' : 'partly';
}

const QUESTION = 'Does instrumentation change the level of the curve, but not its shape?';
const TEST =
  'both lines divided by their mean, then a paired Wilcoxon signed-rank test at each size over the rounds, Holm over the ' +
  'sizes; p is the smallest one';

/**
 * @param {Configuration} configuration that was probed
 * @param {number[]} sizes
 * @param {Probed[]} probed
 * @param {string[]} refusals a sentence for each instrument that could not be used
 * @returns {Answer & {effects: Effect[]}}
 */
function answerProbeEffect(configuration, sizes, probed, refusals) {
  const base = { name: 'probe-effect', question: QUESTION, test: TEST };
  if (sizes.length < FEWEST_SIZES) {
    const text = `This needs at least ${FEWEST_SIZES} buffer sizes.`;
    return { ...base, text, p: null, verdict: 'unknown', effects: [] };
  }
  if (probed.length === 0) {
    const text = ['This machine permits no instrument.', ...refusals].join(' ');
    return { ...base, text, p: null, verdict: 'unknown', effects: [] };
  }
  const effects = probed.map((one) => effectOf(one, sizes));
  const verdicts = new Set(effects.map(verdictOf));
  const verdict =
    verdicts.size === 1 ? [...verdicts][0] : verdicts.has('failed') || verdicts.has('partly') ? 'partly' : 'unknown';
  const text = [`Tested with ${nameOf(configuration)}.`, ...effects.map(effectText), ...refusals].join(' ');
  const p = Math.min(...effects.flatMap(({ points }) => points.map(({ adjustedP }) => adjustedP)));
  return { ...base, text, p, verdict, effects };
}

module.exports = { answerProbeEffect };
