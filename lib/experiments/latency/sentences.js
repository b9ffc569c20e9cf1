'use strict';
// What the latency table says, in sentences, and whether the document's figures hold on this machine.
const { duration, significant } = require('../../terminal/numbers.js');
const { DOCUMENT } = require('./document.js');

/** @typedef {import('../figure.js').Figure} Figure */

const TAIL = Number(DOCUMENT.ns['p99.9']) / DOCUMENT.ns.p50; // times the median, in the document
const REALTIME_CORES = 3; // the least for --realtime

/** @param {Figure | null} figure */
const range = (figure) =>
  figure && figure.low !== null && figure.high !== null
    ? ` (95 % interval over the rounds: ${duration(figure.low)} to ${duration(figure.high)})`
    : '';

/** @param {number} share */
const percent = (share) => `${significant(share * 100, 2)} %`;

/** @param {number} rate */
const perSecond = (rate) => `${significant(rate)} per second`;

/** @param {any} measured */
function explainMedian({ ns, intervals, overFloor, floorNs, oneWayEstimateNs }) {
  const floor = floorNs
    ? `, ${significant(overFloor.median)} times the round trip of a bare cache line between these cores (${duration(floorNs.median)})`
    : '';
  return (
    `The median round trip takes ${duration(ns.p50)}${range(intervals.p50)}${floor}. Half of it, ${duration(oneWayEstimateNs)}, is an ` +
    'estimate of the one-way time: the two directions are not timed separately.'
  );
}

/** @param {any} measured */
function explainDocument({ ns, floorNs, sizeBytes }) {
  const times = ns.p50 / DOCUMENT.ns.p50;
  const lead = `The document's median is ${DOCUMENT.ns.p50} ns (${DOCUMENT.machine}; ${DOCUMENT.conditions}). `;
  const ours = `This machine's is ${significant(times)} times that`;
  if (sizeBytes !== DOCUMENT.sizeBytes) {
    return (
      `${lead}${ours}, but with ${sizeBytes} bytes per message instead of ${DOCUMENT.sizeBytes}, so this run cannot decide ` +
      "whether the document's table holds."
    );
  }
  if (!floorNs) return `${lead}${ours}.`;
  const floor = floorNs.median / DOCUMENT.ns.p50;
  const bound =
    floor > 1
      ? `. The bare cache line alone takes ${significant(floor)} times the document's whole round trip, so no ring can match ` +
        'the document between these two cores'
      : `. The bare cache line takes ${duration(floorNs.median)}`;
  return `${lead}${ours}${bound}.`;
}

/** @param {any} measured */
function explainClock({ clock, parameters }) {
  const { source, ticksPerSecond, tickNs, overheadNs, shareOfP50, spreadPpm } = clock;
  const reading =
    `Reading it takes ${significant(overheadNs)} ns, ${percent(shareOfP50)} of the median. Every time includes one reading; ` +
    'nothing is subtracted.';
  if (source === 'clock_monotonic') return `The clock is CLOCK_MONOTONIC. ${reading}`;
  const name = source === 'tsc' ? 'time-stamp counter' : 'CNTVCT counter';
  const agreed =
    parameters.rounds > 1
      ? `; the ${parameters.rounds} calibrations agree within ${significant(spreadPpm, 2)} ppm`
      : '';
  return (
    `The clock is the ${name} at ${significant(ticksPerSecond / 1e9, 5)} GHz (${significant(tickNs)} ns per tick), calibrated against ` +
    `CLOCK_MONOTONIC for 20 ms in each round${agreed}. ${reading} ` +
    `The document's overhead of ${DOCUMENT.clockOverheadNs} ns is the length of a tick on its machine (document 000 ` +
    'multiplies ticks by 0.3721 ns), not the time that a reading takes.'
  );
}

/** @param {any} measured */
function explainConditions({ parameters, cores }) {
  const priority = parameters.realtime ? 'at real-time priority' : 'at normal priority';
  const memory = parameters.mlock ? 'with locked memory' : 'without locked memory';
  const lead = `Both processes ran ${priority}, ${memory}`;
  if (parameters.realtime && parameters.mlock) return `${lead}, as in the document.`;
  const advice =
    cores < REALTIME_CORES && !parameters.realtime
      ? ` --realtime needs ${REALTIME_CORES} cores; this machine has ${cores}.`
      : '';
  return `${lead}. The document used real-time priority and locked memory, and says that the tail is longer without them.${advice}`;
}

/** Coordinated omission. @param {any} measured */
function explainPace({ ns, paced, disturbedShare, samples }) {
  if (!paced) return null;
  const { ratePerSecond, shareOfClosedLoop, serviceNs } = paced;
  const stalled = Math.max(1, Math.round((ns.max / 1e9) * ratePerSecond));
  const reached = paced.roundTripsPerSecond.median / ratePerSecond;
  const behind =
    reached < 0.9
      ? ` The ring did not keep up (it reached ${percent(reached)} of this rate), so the waiting times grew during each round.`
      : '';
  const tail = ns['p99.9'] === null ? 'p99' : 'p99.9';
  return (
    `The closed loop sends a message only after the previous one has returned. During a stall it sends nothing, so a stall ` +
    `counts once: the longest round trip, ${duration(ns.max)}, is one of ${samples.toLocaleString('en-US')}. ` +
    `The paced loop sends ${perSecond(ratePerSecond)} (${percent(shareOfClosedLoop)} of the closed loop's rate). Each message is due ` +
    `at a time fixed in advance, and is timed from then on, so an equally long stall would delay about ` +
    `${stalled.toLocaleString('en-US')} of its messages. Round trips longer than 10 times the closed loop's median: ` +
    `${percent(disturbedShare)} in the closed loop, ${percent(paced.disturbedShare)} in the paced loop. ` +
    `The paced ${tail} is ${duration(paced.ns[tail])} from the due time, and ${duration(serviceNs[tail])} from sending. ` +
    `Times from the due time are how long a user of a queue waits; the others are service times.${behind}`
  );
}

/** @param {any} measured */
function explainThroughput({ roundTripsPerSecond }) {
  return (
    `The closed loop made ${significant(roundTripsPerSecond.median)} round trips per second. This includes writing and checking ` +
    'each message and reading the clock.'
  );
}

/** @param {any} measured @returns {string[]} */
function explain(measured) {
  return [
    explainMedian(measured),
    explainDocument(measured),
    explainPace(measured),
    explainClock(measured),
    explainThroughput(measured),
    explainConditions(measured),
  ].filter((sentence) => sentence !== null);
}

/**
 * Two claims: the median is at most the document's, and p99.9 is at most as many times the median as in the document.
 * @param {{sizeBytes: number, ns: Record<string, number | null>, intervals: Record<string, Figure | null>}} measured
 * @returns {'held' | 'partly' | 'failed' | 'unknown'}
 */
function judge({ sizeBytes, ns, intervals }) {
  const { p50 } = intervals;
  if (sizeBytes !== DOCUMENT.sizeBytes) return 'unknown';
  if (!p50 || p50.low === null || p50.high === null || ns['p99.9'] === null) return 'unknown';
  if (p50.low <= DOCUMENT.ns.p50 && p50.high > DOCUMENT.ns.p50) return 'unknown';
  const claims = [p50.high <= DOCUMENT.ns.p50, ns['p99.9'] <= TAIL * Number(ns.p50)];
  if (claims.every(Boolean)) return 'held';
  return claims.some(Boolean) ? 'partly' : 'failed';
}

module.exports = { explain, judge };
