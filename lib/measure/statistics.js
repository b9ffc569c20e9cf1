'use strict';
// The statistics of samples. They assume no distribution. Timings are skewed, so we use medians and quartiles, not
// means.

/**
 * A quantile by linear interpolation between order statistics: definition 7 of Hyndman and Fan, "Sample quantiles in
 * statistical packages", The American Statistician 50 (1996), the default of R and NumPy.
 * @param {readonly number[]} samples at least one, in any order
 * @param {number} p from 0 to 1
 */
function quantile(samples, p) {
  if (samples.length === 0) return Number.NaN;
  const sorted = Float64Array.from(samples).sort();
  const position = (sorted.length - 1) * p;
  const below = Math.floor(position);
  const above = Math.ceil(position);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

/** @param {readonly number[]} samples */
const median = (samples) => quantile(samples, 0.5);

/**
 * @param {readonly number[]} samples
 * @returns {{median: number, q1: number, q3: number}}
 */
function summarize(samples) {
  return { median: median(samples), q1: quantile(samples, 0.25), q3: quantile(samples, 0.75) };
}

/**
 * A distribution-free confidence interval for the median: from the k-th smallest to the k-th largest sample, where k is
 * the largest number with P(Binomial(n, 1/2) < k) <= (1 - confidence) / 2. With fewer than 6 samples, not even the
 * extremes reach 95 %. (David and Nagaraja, Order Statistics, 3rd edition, section 7.1.)
 * @param {readonly number[]} samples
 * @param {number} [confidence]
 * @returns {[number, number] | null} null: too few samples
 */
function medianInterval(samples, confidence = 0.95) {
  const n = samples.length;
  const tail = (1 - confidence) / 2;
  let k = 0;
  // Of exactly k successes, as a logarithm: 2 ** -n underflows to 0 from 1,075 samples on.
  let logProbability = -n * Math.LN2;
  for (let below = Math.exp(logProbability); below <= tail; below += Math.exp(logProbability)) {
    k++;
    logProbability += Math.log((n - k + 1) / k);
  }
  if (k === 0) return null;
  const sorted = [...samples].sort((a, b) => a - b);
  return [sorted[k - 1], sorted[n - k]];
}

/**
 * Is the median known closely enough? True if both ends of its 95 % confidence interval are within `tolerance` of it.
 * @param {readonly number[]} samples
 * @param {number} tolerance such as 0.02
 */
function isSteady(samples, tolerance) {
  const interval = medianInterval(samples);
  const middle = median(samples);
  return interval?.every((end) => Math.abs(end - middle) <= tolerance * Math.abs(middle)) ?? false;
}

/**
 * Compares two sets of samples by the 95 % confidence intervals of their medians: 'lower' if a's interval is entirely
 * below b's, 'higher' if above, 'undetected' if they overlap or there are too few samples.
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @returns {'lower' | 'higher' | 'undetected'}
 */
function compareMedians(a, b) {
  const first = medianInterval(a);
  const second = medianInterval(b);
  if (!first || !second) return 'undetected';
  if (first[1] < second[0]) return 'lower';
  if (first[0] > second[1]) return 'higher';
  return 'undetected';
}

/**
 * The median round trip of each sample, nanoseconds. A run file from another program may have only the overall median.
 * @param {{roundTrip: {sampleP50Ns?: number[], ns: Record<string, number | null>}}} result
 */
const tripsOf = ({ roundTrip }) => roundTrip.sampleP50Ns ?? [Number(roundTrip.ns.p50)];

module.exports = { quantile, median, summarize, medianInterval, isSteady, compareMedians, tripsOf };
