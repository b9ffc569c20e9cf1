'use strict';
// Two sides of finished runs, the baseline (a) and the candidate (b): a verdict for each mechanism. `crossings compare` and
// the lab's page show the same result.
const { version } = require('../../../package.json');
const { BUSY_LIMIT } = require('../../measure/environment.js');
const { median, quantile, tripsOf } = require('../../measure/statistics.js');
const { differences } = require('./environments.js');
const { describeAll } = require('./sentences.js');
const { ALPHA, answer, compareSets, noiseOf, observationsNeeded, smallestP } = require('./verdicts.js');

/** @typedef {import('../runner.js').Run} Run */
/** @typedef {import('../runner.js').Result} Result */
/** @typedef {import('./verdicts.js').Unit} Unit */
/** @typedef {import('./verdicts.js').Answer} Answer */

/**
 * @typedef {object} Compared one mechanism
 * @property {string} mechanism
 * @property {string} title
 * @property {number} [sizeBytes] of a message, in runs that measure several sizes
 * @property {Answer | null} throughput messages per second; null: not measured in both
 * @property {Answer | null} roundTrip nanoseconds
 * @property {{perRoundTrip: [number | null, number | null], perMessage: [number | null, number | null]}} crossings of the
 *   baseline and the candidate
 */

/**
 * A comparison, as its file holds it (schema crossings/compare/1).
 * @typedef {object} Comparison
 * @property {string} schema
 * @property {string} startedAt of the candidate
 * @property {{version: string}} tool
 * @property {import('../../measure/environment.js').Environment} environment of the candidate
 * @property {{runs?: {id: string, startedAt: string}[], [name: string]: any}} a the baseline
 * @property {{runs?: {id: string, startedAt: string}[], [name: string]: any}} b the candidate
 * @property {{unit: Unit, alpha: number, confidence: number, correction: 'holm', questions: number, noise: number,
 *   disturbed: boolean}} rule noise: at least this much is not counted as a difference; disturbed: a single run was made
 *   while other processes used the machine, so there are no verdicts
 * @property {string[]} differences between the environments and parameters, which come before any verdict
 * @property {Compared[]} mechanisms
 * @property {string[]} sentences the verdicts in words
 * @property {string | null} caution why they may be wrong
 */

/** @type {Record<'throughput' | 'roundTrip', {better: 'lower' | 'higher', samplesOf: (result: Result) => number[]}>} */
const MEASURES = {
  throughput: { better: 'higher', samplesOf: ({ throughput }) => throughput.messagesPerSecond.samples },
  roundTrip: { better: 'lower', samplesOf: tripsOf },
};
const KINDS = /** @type {const} */ (['throughput', 'roundTrip']);

/** What identifies a result within a run: some runs measure a mechanism at several sizes. @param {Result} result */
const keyOf = ({ mechanism, ...more }) => ('sizeBytes' in more ? `${mechanism}, ${more.sizeBytes} bytes` : mechanism);

/** The results of a side by their keys. @param {Run[]} runs @returns {Map<string, Result[]>} */
function resultsOf(runs) {
  /** @type {Map<string, Result[]>} */
  const results = new Map();
  for (const result of runs.flatMap((run) => run.results)) {
    results.set(keyOf(result), [...(results.get(keyOf(result)) ?? []), result]);
  }
  return results;
}

/** Whether other processes used the machine during a run, which its samples cannot show. @param {Run} run */
const isDisturbed = ({ environment }) => (environment.otherWork ?? 0) > BUSY_LIMIT;

/**
 * How far one side differs from itself: the medians of its runs, and the quartiles of its samples. 0.1: the upper one is
 * 10 % above the lower. Two runs may be expected to differ as much as the samples of one.
 * @param {number[][]} runs the samples of each run
 */
function spreadOf(runs) {
  const medians = runs.map(median);
  const samples = runs.flat();
  return Math.max(Math.max(...medians) / Math.min(...medians), quantile(samples, 0.75) / quantile(samples, 0.25)) - 1;
}

/**
 * One question.
 * @param {number[][]} a the samples of each run
 * @param {number[][]} b
 * @param {Unit} unit
 * @param {{noise: number, isGiven: boolean}} limit isGiven: by the user
 * @param {'lower' | 'higher'} better
 */
function ask(a, b, unit, { noise, isGiven }, better) {
  const difference = unit === 'runs' ? compareSets(a.map(median), b.map(median)) : compareSets(a.flat(), b.flat());
  const seen = unit === 'samples' && !isGiven ? Math.max(spreadOf(a), spreadOf(b)) : 0;
  return { difference, better, noise: Math.max(noise, seen) };
}

/**
 * The sides of the comparison.
 * @param {Run[]} runs
 */
const sideOf = (runs) => ({
  id: runs[0].id,
  startedAt: runs[0].startedAt,
  runs: runs.map(({ id, startedAt }) => ({ id, startedAt })),
});

/** @param {[Result[], Result[]]} sides @param {'perRoundTrip' | 'perMessage'} kind @returns {[number | null, number | null]} */
const countsOf = ([a, b], kind) => [a[0].crossings?.[kind] ?? null, b[0].crossings?.[kind] ?? null];

/**
 * Compares runs. Several runs a side must be runs of the same program on the same machine.
 * @param {Run[]} a the baseline, at least one run
 * @param {Run[]} b the candidate
 * @param {{noise?: number, mechanisms?: string[]}} [options] mechanisms: only these
 * @returns {Comparison}
 */
function compareRuns(a, b, { noise, mechanisms } = {}) {
  const wanted = (/** @type {string} */ key) => mechanisms?.includes(key.split(',')[0]) ?? true;
  const [before, after] = [resultsOf(a), resultsOf(b)];
  const shared = [...after.keys()].filter((key) => before.has(key) && wanted(key));
  const questions = shared.flatMap((key) =>
    KINDS.flatMap((kind) => {
      const [x, y] = [before, after].map((side) =>
        /** @type {Result[]} */ (side.get(key)).map(MEASURES[kind].samplesOf).filter(({ length }) => length > 0),
      );
      return x.length && y.length ? [{ key, kind, x, y }] : [];
    }),
  );
  // Whole runs decide if there are enough for the rank test to reach 5 % after the correction.
  const unit = smallestP(a.length, b.length) * questions.length < ALPHA ? 'runs' : 'samples';
  const isVirtual = [...a, ...b].some(({ environment }) => environment.virtualization !== 'none');
  const limit = { noise: noise ?? noiseOf(unit, isVirtual), isGiven: noise !== undefined };
  const disturbed = unit === 'samples' && [...a, ...b].some(isDisturbed);
  const answers = answer(
    questions.map(({ x, y, kind }) => ask(x, y, unit, limit, MEASURES[kind].better)),
    !disturbed,
  );
  /** @param {string} key @param {'throughput' | 'roundTrip'} kind */
  const answerTo = (key, kind) => answers[questions.findIndex((one) => one.key === key && one.kind === kind)] ?? null;
  const compared = shared.map((key) => {
    const sides = /** @type {[Result[], Result[]]} */ ([before.get(key), after.get(key)]);
    const { mechanism, title, ...more } = sides[1][0];
    return {
      mechanism,
      title,
      ...('sizeBytes' in more ? { sizeBytes: /** @type {number} */ (more.sizeBytes) } : {}),
      throughput: answerTo(key, 'throughput'),
      roundTrip: answerTo(key, 'roundTrip'),
      crossings: { perRoundTrip: countsOf(sides, 'perRoundTrip'), perMessage: countsOf(sides, 'perMessage') },
    };
  });
  const only = (/** @type {Map<string, any>} */ side, /** @type {Map<string, any>} */ other) =>
    [...side.keys()].filter((key) => !other.has(key) && wanted(key));
  const file = {
    schema: 'crossings/compare/1',
    startedAt: b[0].startedAt,
    tool: { version },
    environment: b[0].environment,
    a: sideOf(a),
    b: sideOf(b),
    rule: {
      unit: /** @type {Unit} */ (unit),
      alpha: ALPHA,
      confidence: 0.95,
      correction: /** @type {const} */ ('holm'),
      questions: questions.length,
      noise: limit.noise,
      disturbed,
    },
    differences: differences(a, b),
    mechanisms: compared,
  };
  const onlyIn = /** @type {[string[], string[]]} */ ([only(before, after), only(after, before)]);
  return { ...file, ...describeAll(file, { onlyIn, needed: observationsNeeded(questions.length) }) };
}

module.exports = { KINDS, compareRuns };
