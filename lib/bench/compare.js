'use strict';
// Two runs side by side, the baseline (a) and the candidate (b): a verdict for each mechanism, from the samples of
// both. A difference that the samples cannot show is reported as not detectable.
const { byteCount, duration, significant } = require('../terminal/numbers.js');
const { compareMedians, median, tripsOf } = require('../measure/statistics.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */
/** @typedef {'faster' | 'slower' | 'undetected'} Verdict on the candidate */
/** @typedef {{a: number, b: number, ratio: number, verdict: Verdict}} Comparison medians of the samples, ratio b to a */

const FEWEST = 6; // samples; with fewer, a median has no 95 % confidence interval

/**
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @param {'lower' | 'higher'} better
 * @returns {Comparison}
 */
function compareSamples(a, b, better) {
  const found = compareMedians(b, a);
  const verdict = found === 'undetected' ? found : found === better ? 'faster' : 'slower';
  return { a: median(a), b: median(b), ratio: median(b) / median(a), verdict };
}

/** @param {Result} a @param {Result} b */
const compareResults = (a, b) => ({
  mechanism: b.mechanism,
  title: b.title,
  throughput: compareSamples(a.throughput.messagesPerSecond.samples, b.throughput.messagesPerSecond.samples, 'higher'),
  roundTrip: compareSamples(tripsOf(a), tripsOf(b), 'lower'),
});

/** @param {number} ratio */
const percentFrom1 = (ratio) => `${significant(Math.abs(ratio - 1) * 100, 2)} %`;

/** @param {Comparison} comparison of round trips */
function describeTrip({ a, b, ratio, verdict }) {
  if (verdict === 'undetected') return 'no detectable difference in the round trip';
  const much = ratio >= 2 ? `${significant(ratio)} times as long` : `${percentFrom1(ratio)} ${verdict}`;
  return `round trip ${much} (${duration(a)} → ${duration(b)})`;
}

/** @param {Comparison} comparison of messages per second */
function describeThroughput({ ratio, verdict }) {
  if (verdict === 'undetected') return 'no detectable difference in throughput';
  if (ratio >= 2) return `throughput ${significant(ratio)} times as high`;
  return `throughput ${percentFrom1(ratio)} ${verdict === 'faster' ? 'higher' : 'lower'}`;
}

/** @param {ReturnType<typeof compareResults>} compared */
function describe({ mechanism, throughput, roundTrip }) {
  if (throughput.verdict === 'undetected' && roundTrip.verdict === 'undetected') {
    return `${mechanism}: no detectable difference.`;
  }
  return `${mechanism}: ${describeTrip(roundTrip)}; ${describeThroughput(throughput)}.`;
}

/** @param {Run} run @param {Run} other @param {string} which */
function describeMissing(run, other, which) {
  const names = namesOf(run).filter((name) => !namesOf(other).includes(name));
  return names.length > 0 ? [`Only the ${which} includes ${names.join(', ')}.`] : [];
}

/** @param {Run} run */
const namesOf = (run) => run.results.map(({ mechanism }) => mechanism);

/** Why the two runs may not be comparable, or null. @param {Run} a @param {Run} b */
function cautionFor(a, b) {
  const cautions = [];
  /** @param {string} what @param {(run: Run) => string} read */
  const differ = (what, read) => {
    if (read(a) !== read(b)) cautions.push(`The ${what} differ: ${read(a)} (baseline), ${read(b)} (candidate).`);
  };
  differ('machines', ({ environment }) => `${environment.cpu}, ${environment.cores} cores, ${environment.kernel}`);
  differ('cores used', ({ environment }) => environment.pinnedCores?.join(' and ') ?? 'not pinned');
  differ('message sizes', ({ parameters }) => byteCount(parameters.sizeBytes));
  differ('message counts', ({ parameters }) => parameters.messages.toLocaleString('en-US'));
  differ('batch sizes', ({ parameters }) => String(parameters.batch ?? 1));
  const short = [a, b].filter((run) => run.results.some((result) => tripsOf(result).length < FEWEST));
  if (short.length > 0) {
    cautions.push(`Detecting a difference takes at least ${FEWEST} samples of each mechanism; there are fewer.`);
  }
  if ([a, b].some(({ environment }) => environment.virtualization !== 'none')) {
    cautions.push(
      'The speed of a virtual machine or container changes from minute to minute, and the times of two runs with it.',
    );
  }
  return cautions.length > 0 ? cautions.join(' ') : null;
}

/**
 * Compares two runs.
 * @param {Run} a the baseline
 * @param {Run} b the candidate
 */
function compareRuns(a, b) {
  const mechanisms = b.results.flatMap((result) => {
    const before = a.results.find(({ mechanism }) => mechanism === result.mechanism);
    return before ? [compareResults(before, result)] : [];
  });
  return {
    a: { id: a.id, startedAt: a.startedAt },
    b: { id: b.id, startedAt: b.startedAt },
    mechanisms,
    sentences: [
      ...mechanisms.map(describe),
      ...describeMissing(a, b, 'baseline'),
      ...describeMissing(b, a, 'candidate'),
    ],
    caution: cautionFor(a, b),
  };
}

module.exports = { compareRuns };
