'use strict';
// Bootstrap confidence intervals: the spread of a statistic over many resamples shows how far it may be from the truth.
// The same seed gives the same interval.
//
// The intervals are percentile intervals (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). The
// corrected BCa intervals of chapter 14 take their acceleration from the jackknife, which fails for medians and other
// statistics that are not smooth (section 11.6), and medians are what we compare.
const { quantile } = require('./statistics.js');

const RESAMPLES = 2000; // chapter 19 of the same book asks for at least 1,000

/**
 * Random numbers from 0 to 2^32 - 1: the generator sfc32 of PractRand, which passes its tests.
 * @param {number} seed a whole number from 0 to 2^32 - 1
 * @returns {() => number}
 */
function randomNumbers(seed) {
  let [a, b, c, counter] = [0, seed, 0, 1];
  const next = () => {
    const result = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  };
  for (let i = 0; i < 12; i++) next(); // until the seed has spread over the whole state
  return next;
}

/**
 * @template T
 * @param {readonly T[]} group
 * @param {() => number} next
 */
const resample = (group, next) => Array.from(group, () => group[Math.floor((next() / 2 ** 32) * group.length)]);

/**
 * A confidence interval for a statistic of independent groups of samples. Each group is resampled on its own. Samples
 * that belong together, such as those of one round, are one element: pass pairs.
 * @template T a sample
 * @param {readonly (readonly T[])[]} groups each with at least one sample
 * @param {(...groups: T[][]) => number} statistic
 * @param {{confidence?: number, resamples?: number, seed?: number}} [options]
 * @returns {{estimate: number, low: number, high: number, standardError: number, confidence: number, resamples: number}}
 *   estimate: the statistic of the samples themselves
 */
function bootstrapInterval(groups, statistic, { confidence = 0.95, resamples = RESAMPLES, seed = 1 } = {}) {
  const next = randomNumbers(seed);
  const found = Array.from({ length: resamples }, () => statistic(...groups.map((group) => resample(group, next))));
  const mean = found.reduce((total, value) => total + value, 0) / resamples;
  const squares = found.reduce((total, value) => total + (value - mean) ** 2, 0);
  return {
    estimate: statistic(...groups.map((group) => [...group])),
    low: quantile(found, (1 - confidence) / 2),
    high: quantile(found, (1 + confidence) / 2),
    standardError: Math.sqrt(squares / (resamples - 1)),
    confidence,
    resamples,
  };
}

module.exports = { bootstrapInterval, randomNumbers };
