'use strict';
// What a run says about the shape of its samples: outliers, two groups, and a drift over the run.
const { findDrift, findGroups, findOutliers, followsGroups } = require('../measure/shape.js');
const { holm } = require('../measure/rank-tests.js');
const { duration, significant } = require('../terminal/numbers.js');

const ALPHA = 0.05; // the probability of one or more false notices about one run
const LEAST_DRIFT = 0.05;
const LEAST_BETWEEN_GROUPS = 0.1;

/** @typedef {'throughput' | 'roundTrip'} Kind */

/**
 * The shape of one series, as the run file has it.
 * @typedef {object} Shape
 * @property {{mild: number, severe: number}} outliers
 * @property {{p: number, groups: {count: number, median: number}[], changes: number, withFloor: boolean | null} | null}
 *   groups null: too few samples; withFloor: whether the cache-line floor changes along with the groups; null: unknown
 * @property {{p: number, tau: number, change: number}} drift
 */

/**
 * @param {number[]} samples
 * @param {(number | null)[]} floorNs measured beside each sample
 * @returns {Shape}
 */
function shapeOf(samples, floorNs) {
  const found = findGroups(samples);
  let groups = null;
  if (found) {
    const { isUpper, ...more } = found;
    groups = { ...more, withFloor: samples.length === floorNs.length ? followsGroups(isUpper, floorNs) : null };
  }
  return { outliers: findOutliers(samples), groups, drift: findDrift(samples) };
}

/** @param {number} share */
const percent = (share) => `${significant(share * 100, 2)} %`;

/** @param {number} value @param {Kind} kind */
const quantity = (value, kind) => (kind === 'roundTrip' ? duration(value) : `${significant(value)} messages/s`);

/** @typedef {{mechanism: string, kind: Kind, samples: number, shape: Shape}} Entry */

/** @param {Entry} entry */
const nameOf = ({ mechanism, kind }) => `${mechanism} (${kind === 'roundTrip' ? 'round trip' : 'throughput'})`;

/** @param {Entry[]} entries */
function describeOutliers(entries) {
  const total = (/** @type {(entry: Entry) => number} */ of) => entries.reduce((sum, entry) => sum + of(entry), 0);
  const severe = total(({ shape }) => shape.outliers.severe);
  if (severe === 0) return [];
  const [worst] = [...entries].sort((a, b) => b.shape.outliers.severe - a.shape.outliers.severe);
  return [
    `Of ${total(({ samples }) => samples)} samples, ${severe} ${severe === 1 ? 'is a severe outlier' : 'are severe outliers'} ` +
      `and ${total(({ shape }) => shape.outliers.mild)} mild (Tukey's fences), most in ${nameOf(worst)}: ` +
      `${worst.shape.outliers.severe} severe of ${worst.samples}.`,
  ];
}

/** @param {Entry} entry */
function describeGroups(entry) {
  const { groups, changes, withFloor } = /** @type {NonNullable<Shape['groups']>} */ (entry.shape.groups);
  const [low, high] = groups.map(({ count, median }) => `${count} near ${quantity(median, entry.kind)}`);
  const floor =
    withFloor === null
      ? ''
      : withFloor
        ? ' The cache-line floor changed along with them, so the machine has two states, not the mechanism.'
        : ' The cache-line floor did not change along with them.';
  return (
    `The samples of ${nameOf(entry)} form two groups, ${low} and ${high}, with ` +
    `${changes} change${changes === 1 ? '' : 's'} between them during the run. The median describes neither.${floor}`
  );
}

/** @param {Entry} entry @param {number} p */
function describeDrift(entry, p) {
  const { change } = entry.shape.drift;
  return (
    `${nameOf(entry)} ${change > 0 ? 'rose' : 'fell'} by ${percent(Math.abs(change))} during the run ` +
    `(Mann-Kendall test, p = ${significant(p, 2)}).`
  );
}

/**
 * The notices about a run. Groups and drifts are many questions at once, so their p-values are corrected (Holm).
 * @param {{mechanism: string, throughput: {messagesPerSecond: {samples: number[]}}, roundTrip: {sampleP50Ns: number[]},
 *   shape: Record<Kind, Shape>}[]} results
 * @returns {string[]}
 */
function noticesOf(results) {
  /** @type {Entry[]} */
  const entries = results.flatMap(({ mechanism, shape, throughput, roundTrip }) => [
    { mechanism, kind: 'roundTrip', samples: roundTrip.sampleP50Ns.length, shape: shape.roundTrip },
    { mechanism, kind: 'throughput', samples: throughput.messagesPerSecond.samples.length, shape: shape.throughput },
  ]);
  const adjusted = holm(entries.flatMap(({ shape }) => [shape.groups?.p ?? 1, shape.drift.p]));
  return [
    ...describeOutliers(entries),
    ...entries.flatMap((entry, index) => {
      const [groupsP, driftP] = adjusted.slice(2 * index, 2 * index + 2);
      const [low, high] = entry.shape.groups?.groups ?? [];
      const isTwo = groupsP < ALPHA && high.median / low.median > 1 + LEAST_BETWEEN_GROUPS;
      const isDrift = driftP < ALPHA && Math.abs(entry.shape.drift.change) > LEAST_DRIFT;
      return [...(isTwo ? [describeGroups(entry)] : []), ...(isDrift ? [describeDrift(entry, driftP)] : [])];
    }),
  ];
}

module.exports = { noticesOf, shapeOf };
