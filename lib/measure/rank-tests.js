'use strict';
// Rank tests of two sets of samples, and the correction for asking several questions at once. They assume no
// distribution. The p-values are two-sided and follow R's wilcox.test(): exact for small samples without ties, otherwise
// from the normal approximation with corrections for ties and continuity.

const EXACT_BELOW = 50; // samples, as in R

/** @typedef {'exact' | 'normal'} Method how the p-value was computed */

const sum = (/** @type {readonly number[]} */ values) => values.reduce((total, value) => total + value, 0);

/**
 * The probability that a standard normal variable exceeds z. Near the center by the series of Marsaglia, "Evaluating the
 * normal distribution", Journal of Statistical Software 11 (2004); in the tail, where that loses digits, by the
 * continued fraction 26.2.14 of Abramowitz and Stegun.
 * @param {number} z
 * @returns {number}
 */
function normalTail(z) {
  if (z < 0) return 1 - normalTail(-z);
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z > 3) {
    let fraction = z;
    for (let k = 120; k > 0; k--) fraction = z + k / fraction;
    return density / fraction;
  }
  let total = z;
  let term = z;
  for (let k = 3; term > total * 1e-17; k += 2) {
    term *= (z * z) / k;
    total += term;
  }
  return 0.5 - density * total;
}

/**
 * The ranks from 1; equal values share the mean of their ranks.
 * @param {readonly number[]} values
 * @returns {{ranks: number[], ties: number[]}} ranks in the order of the values; ties: the sizes of the groups of equals
 */
function rank(values) {
  const order = values.map((_, index) => index).sort((a, b) => values[a] - values[b]);
  const ranks = new Array(values.length);
  const ties = [];
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && values[order[to]] === values[order[from]]) to++;
    for (let i = from; i < to; i++) ranks[order[i]] = (from + 1 + to) / 2;
    if (to - from > 1) ties.push(to - from);
    from = to;
  }
  return { ranks, ties };
}

/** Ties lower the variance of a rank sum by a multiple of this. @param {number[]} ties */
const tieTerm = (ties) => sum(ties.map((size) => size ** 3 - size));

/**
 * The two-sided p-value of a statistic with a known symmetric distribution over whole numbers from 0.
 * @param {readonly number[]} weights of 0, 1, 2, ...
 * @param {number} statistic
 */
function exactP(weights, statistic) {
  const nearer = Math.min(statistic, weights.length - 1 - statistic);
  return Math.min(1, (2 * sum(weights.slice(0, nearer + 1))) / sum(weights));
}

/**
 * The same from the normal approximation, with a continuity correction of 1/2.
 * @param {number} fromMean the statistic's distance from its mean
 * @param {number} variance
 */
function normalP(fromMean, variance) {
  if (variance === 0) return 1;
  return Math.min(1, 2 * normalTail((Math.abs(fromMean) - 0.5) / Math.sqrt(variance)));
}

/**
 * The number of subsets of {1, ..., n} with each sum: the null distribution of the signed-rank statistic.
 * @param {number} n
 */
function signedRankWeights(n) {
  const weights = new Array((n * (n + 1)) / 2 + 1).fill(0);
  weights[0] = 1;
  for (let next = 1; next <= n; next++) {
    for (let total = weights.length - 1; total >= next; total--) weights[total] += weights[total - next];
  }
  return weights;
}

/**
 * The number of arrangements with each U: the coefficients of the Gaussian binomial (m + n choose m) in q, which is the
 * product of (1 - q^(n + i)) / (1 - q^i) for i from 1 to m. (Mann and Whitney, Annals of Mathematical Statistics 18,
 * 1947, give the equivalent recurrence.)
 * @param {number} m
 * @param {number} n
 */
function mannWhitneyWeights(m, n) {
  const weights = new Array(m * n + 1).fill(0);
  weights[0] = 1;
  for (let i = 1; i <= m; i++) {
    for (let u = weights.length - 1; u >= n + i; u--) weights[u] -= weights[u - n - i];
    for (let u = i; u < weights.length; u++) weights[u] += weights[u - i];
  }
  return weights;
}

/**
 * Wilcoxon's signed-rank test of paired samples: do the differences x - y lie symmetrically around 0? Pairs that are equal
 * are left out, as Wilcoxon did.
 * @param {readonly number[]} x
 * @param {readonly number[]} y as many as x
 * @returns {{statistic: number, p: number, pairs: number, method: Method}} statistic: the sum of the ranks of the
 *   positive differences (R's V); pairs: those that differ
 */
function wilcoxonSignedRank(x, y) {
  if (x.length !== y.length)
    throw new RangeError(`Paired samples must have equal lengths; got ${x.length} and ${y.length}`);
  const differences = x.map((value, index) => value - y[index]).filter((difference) => difference !== 0);
  const pairs = differences.length;
  const { ranks, ties } = rank(differences.map(Math.abs));
  const statistic = sum(ranks.filter((_, index) => differences[index] > 0));
  if (pairs === x.length && pairs < EXACT_BELOW && ties.length === 0) {
    return { statistic, p: exactP(signedRankWeights(pairs), statistic), pairs, method: 'exact' };
  }
  const variance = (pairs * (pairs + 1) * (2 * pairs + 1)) / 24 - tieTerm(ties) / 48;
  return { statistic, p: normalP(statistic - (pairs * (pairs + 1)) / 4, variance), pairs, method: 'normal' };
}

/**
 * The rank test of Mann, Whitney and Wilcoxon for independent samples: does one tend to be larger?
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @returns {{u: number, p: number, method: Method}} u: how many of all pairs have a's value above b's, ties counting one
 *   half (R's W)
 */
function mannWhitney(a, b) {
  const [m, n] = [a.length, b.length];
  const { ranks, ties } = rank([...a, ...b]);
  const u = sum(ranks.slice(0, m)) - (m * (m + 1)) / 2;
  if (m < EXACT_BELOW && n < EXACT_BELOW && ties.length === 0) {
    return { u, p: exactP(mannWhitneyWeights(m, n), u), method: 'exact' };
  }
  const all = m + n;
  const variance = m && n ? ((m * n) / 12) * (all + 1 - tieTerm(ties) / (all * (all - 1))) : 0;
  return { u, p: normalP(u - (m * n) / 2, variance), method: 'normal' };
}

/**
 * The p-values adjusted for being several (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
 * Journal of Statistics 6, 1979): rejecting where the adjusted p is below 5 % makes at least one false claim among all
 * of them in at most 5 % of the cases, however the questions depend on each other.
 * @param {readonly number[]} pValues
 * @returns {number[]} in the same order
 */
function holm(pValues) {
  const order = pValues.map((_, index) => index).sort((a, b) => pValues[a] - pValues[b]);
  const adjusted = new Array(pValues.length);
  let highest = 0;
  for (const [position, index] of order.entries()) {
    highest = Math.max(highest, Math.min(1, pValues[index] * (pValues.length - position)));
    adjusted[index] = highest;
  }
  return adjusted;
}

module.exports = { holm, mannWhitney, normalTail, rank, wilcoxonSignedRank };
