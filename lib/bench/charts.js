'use strict';
// One plain sentence under each chart, written from that run's own figures.
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

/** From the lowest to the highest, or one value when both look the same. @param {number[]} values @param {(value: number) => string} show */
function span(values, show) {
  const [low, high] = [show(Math.min(...values)), show(Math.max(...values))];
  return low === high ? low : `${low} to ${high}`;
}

/** @param {Run} run */
function explainThroughput(run) {
  const [first, ...others] = [...run.results].sort((a, b) => rateOf(b) - rateOf(a));
  const lead = `${first.mechanism} carries ${significant(rateOf(first))} messages a second`;
  const last = others.at(-1);
  if (!last) return `${lead}, the median of ${first.throughput.messagesPerSecond.samples.length} samples.`;
  const samples = (/** @type {Result} */ result) => result.throughput.messagesPerSecond.samples;
  const fewest = Math.min(...run.results.map((result) => samples(result).length));
  if (!medianInterval(Array(fewest).fill(0))) {
    const times = significant(rateOf(first) / rateOf(last));
    return `${lead}, ${times} times as many as ${last.mechanism}, by ${fewest} samples of each: too few to test for ties.`;
  }
  if (compareMedians(samples(first), samples(last)) === 'undetected') {
    return `${lead}; with these samples no difference from ${last.mechanism}, the lowest, can be detected.`;
  }
  const tied = others.filter((other) => compareMedians(samples(first), samples(other)) === 'undetected');
  const tie = tied.length > 0 ? `, with no detectable difference from ${namesOf(tied)}` : '';
  return `${lead}${tie}: ${significant(rateOf(first) / rateOf(last))} times as many as ${last.mechanism}.`;
}

/** The farthest percentile that the run has for every mechanism. @param {Run} run */
function farthestPercentile({ results }) {
  const names = /** @type {const} */ (['p99.99', 'p99.9', 'p99', 'p90']);
  return names.find((name) => results.every(({ roundTrip }) => roundTrip.ns[name] !== null)) ?? null;
}

/** @type {Record<string, string>} */
const ONE_IN = { p90: 'one round trip in 10', p99: 'one in 100', 'p99.9': 'one in 1,000', 'p99.99': 'one in 10,000' };

/** @param {Run} run */
function explainPercentiles(run) {
  const name = farthestPercentile(run);
  if (!name) return 'There are too few round trips to say anything of the slow ones.';
  const far = (/** @type {Result} */ result) => Number(result.roundTrip.ns[name]);
  const byTail = [...run.results].sort((a, b) => far(a) / p50(a) - far(b) / p50(b));
  const say = (/** @type {Result} */ result) =>
    `over ${result.mechanism} ${ONE_IN[name]} takes more than ${duration(far(result))}, ${significant(far(result) / p50(result))} times its median`;
  const [calm, wild] = [byTail[0], byTail[byTail.length - 1]];
  const text = calm === wild ? say(wild) : `${say(wild)}, and ${say(calm)}`;
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** @param {Run} run */
function explainDistribution(run) {
  const sorted = fastestFirst(run);
  const [fast, slow] = [sorted[0], sorted[sorted.length - 1]];
  const range = (/** @type {Result} */ { roundTrip: { ns } }) =>
    `${duration(Number(ns.min))} to ${duration(Number(ns.p90))}`;
  const lead = `Nine of ten round trips over ${fast.mechanism} take ${range(fast)}`;
  if (fast === slow) return `${lead}.`;
  const apart = Number(slow.roundTrip.ns.min) > Number(fast.roundTrip.ns.p90);
  const relation = apart ? `the fastest of ${slow.mechanism} is slower than all of those` : 'the two ranges overlap';
  return `${lead}, and over ${slow.mechanism} ${range(slow)}: ${relation}.`;
}

/** The names of a group and what their round trips take. @param {Result[]} results */
const timesOf = (results) => `${namesOf(results)}, ${span(results.map(p50), duration)} a round trip`;

/** @param {Run} run */
function explainCrossings(run) {
  const counted = run.results.filter(({ crossings }) => crossings.perRoundTrip !== null);
  const silent = counted.filter(({ crossings }) => crossings.perRoundTrip === 0);
  const crossing = counted.filter(({ crossings }) => crossings.perRoundTrip !== 0);
  const calls = crossing.map(({ crossings }) => Number(crossings.perRoundTrip));
  const without = `Without a system call: ${timesOf(silent)}`;
  const withSome = `${span(calls, crossingCount)} system calls: ${timesOf(crossing)}`;
  if (counted.length === 0) return 'System calls could not be counted here, so the round trips stand alone.';
  if (silent.length === 0) return `With ${withSome}.`;
  if (crossing.length === 0) return `${without}.`;
  const gap = Math.min(...crossing.map(p50)) / Math.max(...silent.map(p50));
  const relation = gap > 1 ? `${significant(gap)} times as long at the least` : 'the two groups overlap here';
  return `${without}; with ${withSome}, ${relation}.`;
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
