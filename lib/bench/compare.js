'use strict';
// Two runs side by side: a verdict for each mechanism, from the samples of both. What they cannot tell apart is called
// undetected.
const { byteCount, duration, significant } = require('../terminal/numbers.js');
const { compareMedians, median, tripsOf } = require('../measure/statistics.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */
/** @typedef {'faster' | 'slower' | 'undetected'} Verdict of the second run against the first */
/** @typedef {{a: number, b: number, ratio: number, verdict: Verdict}} Comparison medians of the samples, ratio b to a */

const FEWEST = 6; // samples, below which no median has a 95 % interval

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
function sayTrip({ a, b, ratio, verdict }) {
  if (verdict === 'undetected') return 'round trip no detectable difference';
  const much = ratio >= 2 ? `${significant(ratio)} times as long` : `${percentFrom1(ratio)} ${verdict}`;
  return `round trip ${much} (${duration(a)}, then ${duration(b)})`;
}

/** @param {Comparison} comparison of messages a second */
function sayThroughput({ ratio, verdict }) {
  if (verdict === 'undetected') return 'throughput no detectable difference';
  if (ratio >= 2) return `throughput ${significant(ratio)} times as high`;
  return `throughput ${percentFrom1(ratio)} ${verdict === 'faster' ? 'higher' : 'lower'}`;
}

/** @param {ReturnType<typeof compareResults>} compared */
function say({ mechanism, throughput, roundTrip }) {
  if (throughput.verdict === 'undetected' && roundTrip.verdict === 'undetected') {
    return `${mechanism}: no detectable difference.`;
  }
  return `${mechanism}: ${sayTrip(roundTrip)}; ${sayThroughput(throughput)}.`;
}

/** @param {Run} run @param {Run} other @param {string} which */
function sayMissing(run, other, which) {
  const names = namesOf(run).filter((name) => !namesOf(other).includes(name));
  return names.length > 0 ? [`Only the ${which} run has ${names.join(', ')}.`] : [];
}

/** @param {Run} run */
const namesOf = (run) => run.results.map(({ mechanism }) => mechanism);

/** Why the two may not be comparable, or null. @param {Run} a @param {Run} b */
function cautionFor(a, b) {
  const cautions = [];
  /** @param {string} what @param {(run: Run) => string} read */
  const differ = (what, read) => {
    if (read(a) !== read(b)) cautions.push(`The ${what} differ (${read(a)}, then ${read(b)}).`);
  };
  differ('machines', ({ environment }) => `${environment.cpu}, ${environment.cores} cores, ${environment.kernel}`);
  differ('cores used', ({ environment }) => environment.pinnedCores?.join(' and ') ?? 'not pinned');
  differ('sizes', ({ parameters }) => byteCount(parameters.sizeBytes));
  differ('numbers of messages', ({ parameters }) => parameters.messages.toLocaleString('en-US'));
  differ('batches', ({ parameters }) => String(parameters.batch ?? 1));
  const short = [a, b].filter((run) => run.results.some((result) => tripsOf(result).length < FEWEST));
  if (short.length > 0) {
    cautions.push(
      `A difference can be detected only from ${FEWEST} samples of each mechanism on, and there are fewer.`,
    );
  }
  if ([a, b].some(({ environment }) => environment.virtualization !== 'none')) {
    cautions.push(
      'The speed of a virtual machine or container changes from minute to minute: so may the times of two runs.',
    );
  }
  return cautions.length > 0 ? cautions.join(' ') : null;
}

/**
 * Compare run b against run a.
 * @param {Run} a
 * @param {Run} b
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
    sentences: [...mechanisms.map(say), ...sayMissing(a, b, 'first'), ...sayMissing(b, a, 'second')],
    caution: cautionFor(a, b),
  };
}

module.exports = { compareRuns };
