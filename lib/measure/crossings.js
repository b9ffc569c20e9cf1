'use strict';
// The number of system calls per round trip and per message, as the kernel counts them. A run also makes some during
// setup, so each figure is the slope between two runs that differ only in their number of messages.
const { eventOf, programPath, runProgram } = require('./programs.js');

// The supervisor's own calls vary by two or three between runs, because both sides may end together or one after the
// other. A slope over this many messages is exact to about 0.002; it is rounded to two decimals.
const ROUND_TRIPS = [100, 1600];
const MESSAGES = [500, 2000];

/**
 * @typedef {object} Crossings
 * @property {number | null} perRoundTrip system calls of both processes together; null: not countable here
 * @property {number | null} perMessage the same per message of a one-way stream
 * @property {'tracepoint' | 'ptrace' | null} method
 * @property {string | null} notice why a better method, or any, was not used
 * @property {Record<string, number>} byName per round trip, by the name of the system call
 * @property {Record<string, number>} byNamePerMessage per message
 */

/** @param {number} value */
const toHundredths = (value) => Math.round(value * 100) / 100 + 0; // + 0: never -0

/**
 * The increase of each count per additional message.
 * @param {any} fewer
 * @param {any} more
 * @param {number} difference
 * @returns {{total: number, byName: Record<string, number>}}
 */
function slope(fewer, more, difference) {
  /** @type {Record<string, number>} */
  const byName = {};
  for (const [name, count] of Object.entries(more.byName)) {
    const calls = toHundredths((Number(count) - (fewer.byName[name] ?? 0)) / difference);
    if (calls !== 0) byName[name] = calls;
  }
  return { total: toHundredths((more.total - fewer.total) / difference), byName };
}

/** What to report where counting failed. @param {unknown} error @returns {Crossings} */
function notCounted(error) {
  const notice = /** @type {Error} */ (error).message;
  return { perRoundTrip: null, perMessage: null, method: null, notice, byName: {}, byNamePerMessage: {} };
}

/** @typedef {{sizeBytes: number, countMethod: string, program?: string, signal?: AbortSignal}} CountOptions */

/**
 * Runs crossings-bench once and counts its system calls.
 * @param {string} mechanism
 * @param {(string | number)[]} placement the options that place the processes
 * @param {{messages: number, roundTrips: number}} work
 * @param {CountOptions} options
 */
async function count(mechanism, placement, { messages, roundTrips }, { sizeBytes, countMethod, program, signal }) {
  const what = [
    '--messages',
    messages,
    '--round-trips',
    roundTrips,
    '--size',
    sizeBytes,
    '--no-floors',
    '--no-progress',
  ];
  const command = [programPath(program ?? 'crossings-bench'), '--mechanism', mechanism, ...what, ...placement];
  const events = await runProgram('crossings-count', ['--method', countMethod, '--', ...command], { signal });
  return eventOf(events, 'crossings');
}

/** @param {string} mechanism @param {(string | number)[]} placement @param {CountOptions} options */
async function countTrips(mechanism, placement, options) {
  const [few, many] = ROUND_TRIPS;
  const fewer = await count(mechanism, placement, { messages: 0, roundTrips: few }, options);
  const more = await count(mechanism, placement, { messages: 0, roundTrips: many }, options);
  const { total, byName } = slope(fewer, more, many - few);
  return { perRoundTrip: total, method: fewer.method, notice: fewer.notice, byName };
}

/**
 * The crossings of a round trip only, which is all that `crossings bill` needs.
 * @param {string} mechanism
 * @param {(string | number)[]} placement
 * @param {CountOptions} options
 * @returns {Promise<Pick<Crossings, 'perRoundTrip' | 'method' | 'notice' | 'byName'>>}
 */
async function countRoundTrip(mechanism, placement, options) {
  try {
    return await countTrips(mechanism, placement, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    return notCounted(error);
  }
}

/**
 * @param {string} mechanism
 * @param {(string | number)[]} placement
 * @param {CountOptions} options
 * @returns {Promise<Crossings>}
 */
async function countCrossings(mechanism, placement, options) {
  try {
    const trips = await countTrips(mechanism, placement, options);
    const [few, many] = MESSAGES;
    const fewer = await count(mechanism, placement, { messages: few, roundTrips: 0 }, options);
    const more = await count(mechanism, placement, { messages: many, roundTrips: 0 }, options);
    const perMessage = slope(fewer, more, many - few);
    return { ...trips, perMessage: perMessage.total, byNamePerMessage: perMessage.byName };
  } catch (error) {
    options.signal?.throwIfAborted();
    return notCounted(error);
  }
}

module.exports = { countCrossings, countRoundTrip, notCounted, slope };
