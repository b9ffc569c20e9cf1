'use strict';
// One sentence below each chart, from the figures of that run.
const { crossingCount, duration, significant } = require('../terminal/numbers.js');
const { compareMedians, medianInterval } = require('../measure/statistics.js');
const { fastestFirst } = require('./table.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */

/** @param {Result} result */
const rateOf = ({ throughput }) => throughput.messagesPerSecond.median;

/** @param {Result} result */
const p50 = ({ roundTrip }) => Number(roundTrip.ns.p50);

/** "a", "a and b", "a, b and c". @param {string[]} words */
const list = (words) => [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(' and ');

/** @param {Result[]} results */
const namesOf = (results) => list(results.map(({ mechanism }) => mechanism));

/** "low to high", or one value when both print the same. @param {number[]} values @param {(value: number) => string} show */
function span(values, show) {
  const [low, high] = [show(Math.min(...values)), show(Math.max(...values))];
  return low === high ? low : `${low} to ${high}`;
}

/** @param {Run} run */
function explainThroughput(run) {
  const [first, ...others] = [...run.results].sort((a, b) => rateOf(b) - rateOf(a));
  const lead = `${first.mechanism} carries ${significant(rateOf(first))} messages per second`;
  const last = others.at(-1);
  if (!last) return `${lead}, the median of ${first.throughput.messagesPerSecond.samples.length} samples.`;
  const samples = (/** @type {Result} */ result) => result.throughput.messagesPerSecond.samples;
  const fewest = Math.min(...run.results.map((result) => samples(result).length));
  if (!medianInterval(Array(fewest).fill(0))) {
    const times = significant(rateOf(first) / rateOf(last));
    return `${lead}, ${times} times as many as ${last.mechanism}; ${fewest} samples of each are too few to test for ties.`;
  }
  if (compareMedians(samples(first), samples(last)) === 'undetected') {
    return `${lead}; these samples show no detectable difference from ${last.mechanism}, the lowest.`;
  }
  const tied = others.filter((other) => compareMedians(samples(first), samples(other)) === 'undetected');
  const tie =
    tied.length > 0 ? ` There is no detectable difference between ${first.mechanism} and ${namesOf(tied)}.` : '';
  return `${lead}, ${significant(rateOf(first) / rateOf(last))} times as many as ${last.mechanism}.${tie}`;
}

/** The highest percentile that the run has for every mechanism. @param {Run} run */
function highestPercentile({ results }) {
  const names = /** @type {const} */ (['p99.99', 'p99.9', 'p99', 'p90']);
  return names.find((name) => results.every(({ roundTrip }) => roundTrip.ns[name] !== null)) ?? null;
}

/** @type {Record<string, string>} */
const ONE_IN = { p90: '10', p99: '100', 'p99.9': '1,000', 'p99.99': '10,000' };

/** @param {Run} run */
function explainPercentiles(run) {
  const name = highestPercentile(run);
  if (!name) return 'Too few round trips for a tail percentile.';
  const tail = (/** @type {Result} */ result) => Number(result.roundTrip.ns[name]);
  const ratio = (/** @type {Result} */ result) => tail(result) / p50(result);
  const byRatio = [...run.results].sort((a, b) => ratio(a) - ratio(b));
  const [steadiest, longest] = [byRatio[0], byRatio[byRatio.length - 1]];
  const figure = (/** @type {Result} */ result) =>
    `${duration(tail(result))}, ${significant(ratio(result))} times its median`;
  const lead = `With ${longest.mechanism}, one round trip in ${ONE_IN[name]} takes more than ${figure(longest)}`;
  return steadiest === longest ? `${lead}.` : `${lead}; with ${steadiest.mechanism}, more than ${figure(steadiest)}.`;
}

/** @param {Run} run */
function explainDistribution(run) {
  const sorted = fastestFirst(run);
  const [fast, slow] = [sorted[0], sorted[sorted.length - 1]];
  const range = (/** @type {Result} */ { roundTrip: { ns } }) =>
    `${duration(Number(ns.min))} to ${duration(Number(ns.p90))}`;
  const lead = `With ${fast.mechanism}, 90 % of the round trips take ${range(fast)}`;
  if (fast === slow) return `${lead}.`;
  const apart = Number(slow.roundTrip.ns.min) > Number(fast.roundTrip.ns.p90);
  const relation = apart
    ? `Even the fastest ${slow.mechanism} round trip is slower than those of ${fast.mechanism}.`
    : 'The two ranges overlap.';
  return `${lead}; with ${slow.mechanism}, ${range(slow)}. ${relation}`;
}

/** The names of a group and how long their round trips take. @param {Result[]} results */
const timesOf = (results) => `${namesOf(results)}, ${span(results.map(p50), duration)} per round trip`;

/** @param {Run} run */
function explainCrossings(run) {
  const counted = run.results.filter(({ crossings }) => crossings.perRoundTrip !== null);
  const silent = counted.filter(({ crossings }) => crossings.perRoundTrip === 0);
  const crossing = counted.filter(({ crossings }) => crossings.perRoundTrip !== 0);
  const calls = crossing.map(({ crossings }) => Number(crossings.perRoundTrip));
  const without = `Without system calls: ${timesOf(silent)}.`;
  const withSome = `With ${span(calls, crossingCount)} system calls: ${timesOf(crossing)}`;
  if (counted.length === 0) return 'System calls could not be counted here, so only the round trips are shown.';
  if (silent.length === 0) return `${withSome}.`;
  if (crossing.length === 0) return without;
  const gap = Math.min(...crossing.map(p50)) / Math.max(...silent.map(p50));
  const relation = gap > 1 ? `at least ${significant(gap)} times as long` : 'which overlaps the first group';
  return `${without} ${withSome}, ${relation}.`;
}

/**
 * One sentence for each chart.
 * @param {Run} run
 */
const explainCharts = (run) => ({
  throughput: explainThroughput(run),
  percentiles: explainPercentiles(run),
  distribution: explainDistribution(run),
  crossings: explainCrossings(run),
});

module.exports = { explainCharts };
