'use strict';
// What a median hides about the samples of one series, in the order in which they were taken: outliers, two groups, and
// a drift over the run.
const { mannWhitney, normalTail, rank } = require('./rank-tests.js');
const { median, quantile } = require('./statistics.js');

const FENCES = { mild: 1.5, severe: 3 }; // interquartile ranges beyond the quartiles (Tukey, 1977)
const LEAST_FOR_FENCES = 6; // samples; with fewer, the quartiles are nearly the extremes
const LEAST_IN_GROUP = 3; // samples; fewer are outliers
const LEAST_SHARE = 0.2; // of the samples, in the smaller group
const EXACT_BELOW = 50; // samples

/** @param {readonly number[]} samples */
function fences(samples) {
  const [q1, q3] = [quantile(samples, 0.25), quantile(samples, 0.75)];
  /** @param {number} value how far it is beyond the nearer quartile, in interquartile ranges */
  return (value) => {
    const beyond = Math.max(q1 - value, value - q3);
    return beyond <= 0 ? 0 : beyond / (q3 - q1);
  };
}

/**
 * Outliers by severity: beyond Tukey's inner fences, and beyond his outer ones (Exploratory Data Analysis, 1977, section
 * 2D).
 * @param {readonly number[]} samples
 * @returns {{mild: number, severe: number}} how many
 */
function findOutliers(samples) {
  if (samples.length < LEAST_FOR_FENCES) return { mild: 0, severe: 0 };
  const distances = samples.map(fences(samples));
  const severe = distances.filter((distance) => distance > FENCES.severe).length;
  return { mild: distances.filter((distance) => distance > FENCES.mild).length - severe, severe };
}

/**
 * Two groups of samples with a gap between them, as of a mechanism with two states. The question is whether one flat
 * distribution would have left so large a gap: the largest of the n - 1 gaps between n uniformly distributed values exceeds
 * the share g of their range with a probability of at most (n - 1) * (1 - g) ** (n - 2) (David and Nagaraja, Order
 * Statistics, 3rd edition, section 6.4). Any distribution with one hump has smaller gaps in its middle than a flat one, so
 * the p-value is an upper bound. Severe outliers do not count, and each group has at least a fifth of the samples. The gap
 * is of the logarithms.
 * @param {readonly number[]} samples positive
 * @returns {{p: number, groups: {count: number, median: number}[], changes: number, isUpper: boolean[]} | null} groups:
 *   the lower and the upper; changes: how often the series goes from one to the other; isUpper: for each sample. Null:
 *   too few samples
 */
function findGroups(samples) {
  const distanceOf = fences(samples);
  const kept = samples.filter((value) => !(distanceOf(value) > FENCES.severe)).sort((a, b) => a - b);
  const least = Math.max(LEAST_IN_GROUP, Math.ceil(kept.length * LEAST_SHARE));
  if (kept.length < 2 * least) return null;
  let [from, gap] = [least - 1, 0];
  for (let i = least - 1; i < kept.length - least; i++) {
    const here = Math.log(kept[i + 1] / kept[i]);
    if (here > gap) [from, gap] = [i, here];
  }
  const range = Math.log(kept[kept.length - 1] / kept[0]);
  const share = range > 0 ? gap / range : 0;
  const isUpper = samples.map((value) => value > kept[from]);
  return {
    p: Math.min(1, (kept.length - 1) * (1 - share) ** (kept.length - 2)),
    groups: [kept.slice(0, from + 1), kept.slice(from + 1)].map((group) => ({
      count: group.length,
      median: median(group),
    })),
    changes: isUpper.filter((upper, index) => index > 0 && upper !== isUpper[index - 1]).length,
    isUpper,
  };
}

/**
 * The number of orders of n values with each count of pairs that are out of order: the coefficients of the product of
 * 1 + q + ... + q ** (i - 1) for i from 1 to n.
 * @param {number} n
 */
function inversionWeights(n) {
  let weights = [1];
  for (let i = 2; i <= n; i++) {
    const next = new Array(weights.length + i - 1).fill(0);
    for (const [inversions, ways] of weights.entries()) {
      for (let more = 0; more < i; more++) next[inversions + more] += ways;
    }
    weights = next;
  }
  return weights;
}

/**
 * A trend over the run: the test of Mann (Econometrica 13, 1945) and Kendall (Rank Correlation Methods, 1948), two-sided,
 * exact below 50 samples without ties. The change is from the first sample to the last, along the median of the slopes of
 * all pairs (Sen, Journal of the American Statistical Association 63, 1968) of the logarithms.
 * @param {readonly number[]} samples positive, in the order in which they were taken
 * @returns {{p: number, tau: number, change: number}} change: 0.1 is a rise by 10 %
 */
function findDrift(samples) {
  const n = samples.length;
  if (n < 2) return { p: 1, tau: 0, change: 0 };
  const slopes = [];
  let score = 0; // pairs that rise, less pairs that fall
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      score += Math.sign(samples[j] - samples[i]);
      slopes.push(Math.log(samples[j] / samples[i]) / (j - i));
    }
  }
  const pairs = (n * (n - 1)) / 2;
  const change = Math.exp(median(slopes) * (n - 1)) - 1;
  return { p: driftP(samples, score, pairs), tau: score / pairs, change };
}

/** @param {readonly number[]} samples @param {number} score @param {number} pairs */
function driftP(samples, score, pairs) {
  const n = samples.length;
  const { ties } = rank(samples);
  if (n < EXACT_BELOW && ties.length === 0) {
    const weights = inversionWeights(n);
    const all = weights.reduce((total, ways) => total + ways, 0);
    const fewer = weights.slice(0, (pairs - Math.abs(score)) / 2 + 1).reduce((total, ways) => total + ways, 0);
    return Math.min(1, (2 * fewer) / all);
  }
  const tied = ties.reduce((total, size) => total + size * (size - 1) * (2 * size + 5), 0);
  const variance = (n * (n - 1) * (2 * n + 5) - tied) / 18;
  if (variance === 0) return 1;
  return Math.min(1, 2 * normalTail((Math.abs(score) - 1) / Math.sqrt(variance)));
}

/**
 * Whether another series, taken along with the samples, has the same two groups: does it differ between them by more than
 * a tenth, and does the rank test show it?
 * @param {readonly boolean[]} isUpper
 * @param {readonly (number | null)[]} other
 */
function followsGroups(isUpper, other) {
  const of = (/** @type {boolean} */ upper) =>
    other.flatMap((value, index) => (value !== null && isUpper[index] === upper ? [value] : []));
  const [low, high] = [of(false), of(true)];
  if (low.length < LEAST_IN_GROUP || high.length < LEAST_IN_GROUP) return null;
  return Math.abs(Math.log(median(high) / median(low))) > Math.log(1.1) && mannWhitney(low, high).p < 0.05;
}

module.exports = { findDrift, findGroups, findOutliers, followsGroups };
