'use strict';
// A figure with its interval, as the files of the experiments hold it.
const { median, medianInterval } = require('../measure/statistics.js');

/**
 * The median of the samples, and its 95 % confidence interval. null: too few samples for an interval.
 * @typedef {{median: number, low: number | null, high: number | null}} Figure
 */

/** @param {readonly number[]} samples at least one @returns {Figure} */
function figureOf(samples) {
  const [low, high] = medianInterval(samples) ?? [null, null];
  return { median: median(samples), low, high };
}

/** @param {Figure} figure @param {number} factor @returns {Figure} */
const scale = ({ median: middle, low, high }, factor) => ({
  median: middle * factor,
  low: low === null ? null : low * factor,
  high: high === null ? null : high * factor,
});

/** @param {(number | null)[]} samples @returns {Figure | null} null: nothing was measured */
function figureOrNull(samples) {
  const known = samples.filter((sample) => sample !== null);
  return known.length > 0 ? figureOf(known) : null;
}

module.exports = { figureOf, figureOrNull, scale };
