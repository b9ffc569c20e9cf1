'use strict';
// Two or three sentences that explain a run, written from that run's own figures. What the samples cannot tell apart is
// called undetected.
const { fastestFirst } = require('./table.js');
const { crossingCount, duration, significant } = require('../terminal/numbers.js');
const { compareMedians, tripsOf } = require('../measure/statistics.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */

/** @param {Result} result */
const tripNs = (result) => Number(result.roundTrip.ns.p50);

/** @param {number} share */
const percent = (share) => `${significant(share * 100, 2)} %`;

/** How two mechanisms' round trips compare. @param {Result} a @param {Result} b */
function compareTrips(a, b) {
  return compareMedians(tripsOf(a), tripsOf(b));
}

/** What the crossings of the fastest mechanism of the kernel's explain. @param {Run} run @param {Result} result */
function explainBill(run, result) {
  const crossings = /** @type {number} */ (result.crossings.perRoundTrip);
  const floorNs = crossings * run.floors.syscallNs;
  return (
    `A round trip over ${result.mechanism} makes ${crossingCount(crossings)} system calls; at ${duration(run.floors.syscallNs)} for the ` +
    `cheapest there is, the crossings alone are ${duration(floorNs)} or ${percent(floorNs / tripNs(result))} of its ${duration(tripNs(result))}: ` +
    'the rest is what the kernel does once it has been asked, waking a sleeping process above all.'
  );
}

/** @param {Result} fast @param {Result} slow */
function explainNone(fast, slow) {
  const floor = fast.roundTrip.overFloor
    ? `, ${significant(fast.roundTrip.overFloor.median)} times the floor of a bare cache line between these two cores`
    : '';
  return (
    `${fast.mechanism} makes none: a round trip takes ${duration(tripNs(fast))}${floor}, ` +
    `and ${significant(tripNs(slow) / tripNs(fast))} times less than over ${slow.mechanism}.`
  );
}

/** The article's lesson: the same memory, with semaphores. @param {Result} sem @param {Result} other */
function explainSemaphores(sem, other) {
  const lead = `${sem.mechanism} uses the same kind of memory but waits in the kernel, ${crossingCount(sem.crossings.perRoundTrip)} calls a trip: `;
  const rate = sem.throughput.messagesPerSecond.median / other.throughput.messagesPerSecond.median;
  const stream =
    rate < 1
      ? `carries ${significant(1 / rate)} times fewer messages a second`
      : `carries ${significant(rate)} times as many messages a second`;
  const outcome = {
    higher: `its round trip is ${percent(tripNs(sem) / tripNs(other) - 1)} slower than ${other.mechanism}'s`,
    lower: `its round trip is ${percent(1 - tripNs(sem) / tripNs(other))} faster than ${other.mechanism}'s`,
    undetected: `its round trip shows no detectable difference from ${other.mechanism}'s`,
  }[compareTrips(sem, other)];
  return `${lead}${outcome}, and it ${stream}; how two processes wait decides, not where the bytes lie.`;
}

/**
 * @param {Run} run
 * @returns {string[]}
 */
function explain(run) {
  const sorted = fastestFirst(run);
  const crossing = sorted.filter(
    ({ crossings, mechanism }) => (crossings.perRoundTrip ?? 0) >= 1 && mechanism !== 'shm-sem',
  );
  const silent = sorted.find(({ crossings }) => crossings.perRoundTrip === 0);
  const semaphores = sorted.find(({ mechanism }) => mechanism === 'shm-sem');
  const pipe = crossing.find(({ mechanism }) => mechanism === 'pipe') ?? crossing[0];
  const sentences = [];
  if (pipe) sentences.push(explainBill(run, pipe));
  if (silent && pipe) sentences.push(explainNone(silent, pipe));
  if (semaphores?.crossings.perRoundTrip && pipe) sentences.push(explainSemaphores(semaphores, pipe));
  if (sentences.length === 0 && sorted.length > 0) sentences.push(describeAlone(sorted[0]));
  return sentences;
}

/** @param {Result} result */
function describeAlone(result) {
  const { overFloor } = result.roundTrip;
  const floor = overFloor ? `, ${significant(overFloor.median)} times the floor of a bare cache line` : '';
  const calls = result.crossings.perRoundTrip;
  const counted =
    calls === null ? 'a number of system calls that could not be counted here' : `${crossingCount(calls)} system calls`;
  return `A round trip over ${result.mechanism} takes ${duration(tripNs(result))}${floor}, and makes ${counted}.`;
}

module.exports = { explain };
