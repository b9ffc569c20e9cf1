'use strict';
// The statistics of a comparison: the ratio of candidate to baseline with its interval and its p-value, and the verdicts
// on all questions that one comparison asks.
const { bootstrapInterval } = require('../../measure/bootstrap.js');
const { holm, mannWhitney, wilcoxonSignedRank } = require('../../measure/rank-tests.js');
const { median } = require('../../measure/statistics.js');

const ALPHA = 0.05; // the probability of one or more false verdicts in one comparison

/** @typedef {'faster' | 'slower' | 'undetected'} Verdict on the candidate */

/**
 * What one observation is: the two samples that the builds took in the same round; one whole run, by its median; or one
 * sample of a run.
 * @typedef {'rounds' | 'runs' | 'samples'} Unit
 */

/**
 * The difference that identical programs may show, as a share of the ratio. A smaller one gets no verdict.
 *
 * rounds, runs: the layout of a build in memory alone changes its speed by a percent or more (Mytkowicz et al., "Producing
 * wrong data without doing anything obviously wrong!", ASPLOS 2009). samples: an assumption about how much two runs of one
 * program differ, which the samples of one run cannot show. Six identical runs of `bench --quick` in a virtual machine, one
 * after the other, differed by up to 22 % (the round trip of uds), 16 % (pipe), and 13 % (any throughput).
 * @type {{rounds: number, runs: number, samples: {real: number, virtual: number}}}
 */
const NOISE = { rounds: 0.02, runs: 0.02, samples: { real: 0.1, virtual: 0.25 } };

/** @param {Unit} unit @param {boolean} isVirtual whether a run was made in a virtual machine or container */
const noiseOf = (unit, isVirtual) => (unit === 'samples' ? NOISE.samples[isVirtual ? 'virtual' : 'real'] : NOISE[unit]);

/**
 * @typedef {object} Difference
 * @property {number} a the baseline: the median of its observations
 * @property {number} b the candidate
 * @property {number} ratio candidate to baseline
 * @property {number} low the 95 % interval of the ratio, by the bootstrap
 * @property {number} high
 * @property {number} p of the rank test
 * @property {[number, number]} observations of the baseline and of the candidate
 */

/**
 * Independent observations: the ratio of the medians, and the test of Mann and Whitney.
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @returns {Difference}
 */
function compareSets(a, b) {
  const { estimate, low, high } = bootstrapInterval([a, b], (x, y) => median(y) / median(x));
  return {
    a: median(a),
    b: median(b),
    ratio: estimate,
    low,
    high,
    p: mannWhitney(a, b).p,
    observations: [a.length, b.length],
  };
}

/**
 * Observations that belong together in pairs: the median of their ratios, and Wilcoxon's signed-rank test of the
 * logarithms, for which twice as fast and half as fast are equally far from no difference.
 * @param {readonly number[]} a
 * @param {readonly number[]} b as many as a
 * @returns {Difference}
 */
function comparePairs(a, b) {
  const ratios = a.map((value, index) => b[index] / value);
  const { estimate, low, high } = bootstrapInterval([ratios], median);
  const { p } = wilcoxonSignedRank(b.map(Math.log), a.map(Math.log));
  return { a: median(a), b: median(b), ratio: estimate, low, high, p, observations: [a.length, b.length] };
}

/**
 * One question: do the two sides differ in one measure of one mechanism?
 * @typedef {{difference: Difference, better: 'lower' | 'higher', noise: number}} Question
 * @typedef {Difference & {adjustedP: number, noise: number, verdict: Verdict}} Answer
 */

/** @param {Question} question @param {number} adjustedP @returns {Verdict} */
function verdictOf({ difference: { low, high }, better, noise }, adjustedP) {
  if (!(adjustedP < ALPHA)) return 'undetected';
  if (low > 1 + noise) return better === 'higher' ? 'faster' : 'slower';
  if (high < 1 / (1 + noise)) return better === 'lower' ? 'faster' : 'slower';
  return 'undetected';
}

/**
 * The answers to all questions of one comparison. A verdict requires both: a rank test that remains below 5 % after Holm's
 * correction for the number of questions, and an interval entirely beyond the noise.
 * @param {readonly Question[]} questions
 * @param {boolean} [trusted] false: the samples allow no verdict, no matter what they show
 * @returns {Answer[]}
 */
function answer(questions, trusted = true) {
  const adjusted = holm(questions.map(({ difference }) => difference.p));
  return questions.map((question, index) => ({
    ...question.difference,
    adjustedP: adjusted[index],
    noise: question.noise,
    verdict: trusted ? verdictOf(question, adjusted[index]) : 'undetected',
  }));
}

/**
 * The smallest p-value that the rank test can give for this many observations: 2 of all arrangements.
 * @param {number} m
 * @param {number} n
 */
function smallestP(m, n) {
  let arrangements = 1;
  for (let i = 1; i <= m; i++) arrangements *= (n + i) / i;
  return Math.min(1, 2 / arrangements);
}

/** The fewest observations on each side with which a verdict is possible. @param {number} questions */
function observationsNeeded(questions) {
  let each = 1;
  while (smallestP(each, each) * questions >= ALPHA) each++;
  return each;
}

module.exports = { ALPHA, answer, comparePairs, compareSets, noiseOf, observationsNeeded, smallestP };
