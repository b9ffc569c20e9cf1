'use strict';
// The number of system calls per round trip and per message, as the kernel counts them. A run also makes some during
// set-up, so each figure is the slope between two runs that differ only in their number of messages.
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

/**
 * @param {string} mechanism
 * @param {(string | number)[]} placement the options that place the processes
 * @param {{sizeBytes: number, countMethod: string, program?: string, signal?: AbortSignal}} options
 * @returns {Promise<Crossings>}
 */
async function countCrossings(mechanism, placement, { sizeBytes, countMethod, program, signal }) {
  const bench = programPath(program ?? 'crossings-bench');
  /** @param {number} messages @param {number} roundTrips */
  const count = async (messages, roundTrips) => {
    const what = ['--messages', messages, '--round-trips', roundTrips, '--size', sizeBytes, '--no-floors'];
    const command = [bench, '--mechanism', mechanism, ...what, ...placement];
    return eventOf(
      await runProgram('crossings-count', ['--method', countMethod, '--', ...command], { signal }),
      'crossings',
    );
  };
  try {
    const trips = [await count(0, ROUND_TRIPS[0]), await count(0, ROUND_TRIPS[1])];
    const messages = [await count(MESSAGES[0], 0), await count(MESSAGES[1], 0)];
    const perTrip = slope(trips[0], trips[1], ROUND_TRIPS[1] - ROUND_TRIPS[0]);
    const perMessage = slope(messages[0], messages[1], MESSAGES[1] - MESSAGES[0]);
    return {
      perRoundTrip: perTrip.total,
      perMessage: perMessage.total,
      method: trips[0].method,
      notice: trips[0].notice,
      byName: perTrip.byName,
      byNamePerMessage: perMessage.byName,
    };
  } catch (error) {
    signal?.throwIfAborted();
    return notCounted(error);
  }
}

module.exports = { countCrossings, notCounted, slope };
