'use strict';
// The sentences that explain a run, from the figures of that run. A difference that the samples cannot show is reported
// as not detectable.
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

/** Mechanisms for which `crossings bill` measures what the rest of a round trip is spent on. */
const BILLED = ['pipe', 'uds', 'tcp'];

/** How much of a round trip the crossings explain. @param {Run} run @param {Result} result */
function explainBill(run, result) {
  const crossings = /** @type {number} */ (result.crossings.perRoundTrip);
  const floorNs = crossings * run.floors.syscallNs;
  const rest = `\`npx crossings-lab bill ${result.mechanism}\` measures what the rest is spent on.`;
  const crossed =
    `With ${result.mechanism}, a round trip makes ${crossingCount(crossings)} system calls and takes ${duration(tripNs(result))}. ` +
    `The cheapest system call takes ${duration(run.floors.syscallNs)} here, so the crossings alone account for ` +
    `${duration(floorNs)}, or ${percent(floorNs / tripNs(result))} of that time.`;
  return BILLED.includes(result.mechanism) ? `${crossed} ${rest}` : crossed;
}

/** @param {Result} fast @param {Result} slow */
function explainNone(fast, slow) {
  const floor = fast.roundTrip.overFloor
    ? `, ${significant(fast.roundTrip.overFloor.median)} times the cache-line floor between these two cores`
    : '';
  return (
    `${fast.mechanism} makes no system call: its round trip takes ${duration(tripNs(fast))}${floor}. ` +
    `A ${slow.mechanism} round trip takes ${significant(tripNs(slow) / tripNs(fast))} times as long.`
  );
}

/** Shared memory that waits in the kernel, by semaphores. @param {Result} sem @param {Result} other */
function explainSemaphores(sem, other) {
  const lead = `${sem.mechanism} shares memory too, but waits in the kernel, with ${crossingCount(sem.crossings.perRoundTrip)} system calls per round trip.`;
  const rate = sem.throughput.messagesPerSecond.median / other.throughput.messagesPerSecond.median;
  const stream =
    rate < 1
      ? `${other.mechanism} carries ${significant(1 / rate)} times as many messages per second`
      : `it carries ${significant(rate)} times as many messages per second`;
  const outcome = {
    higher: `Its round trip takes ${percent(tripNs(sem) / tripNs(other) - 1)} longer than that of ${other.mechanism}`,
    lower: `Its round trip takes ${percent(1 - tripNs(sem) / tripNs(other))} less time than that of ${other.mechanism}`,
    undetected: `Its round trip is not detectably different from that of ${other.mechanism}`,
  }[compareTrips(sem, other)];
  return `${lead} ${outcome}, and ${stream}. How two processes wait matters more than where the bytes are.`;
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
  const floor = overFloor ? `, ${significant(overFloor.median)} times the cache-line floor` : '';
  const calls = result.crossings.perRoundTrip;
  const counted =
    calls === null ? 'Its system calls could not be counted here.' : `It makes ${crossingCount(calls)} system calls.`;
  return `With ${result.mechanism}, a round trip takes ${duration(tripNs(result))}${floor}. ${counted}`;
}

module.exports = { explain };
