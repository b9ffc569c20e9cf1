'use strict';
// How many system calls a round trip and a message cost, as the kernel counts them. A run makes some in its set-up, too,
// so each figure is the slope between two runs that differ in nothing but the number of messages.
const { eventOf, programPath, runProgram } = require('./programs.js');

// The supervisor's own few calls differ by two or three from run to run (does it see both sides end at once, or one
// after the other?), so a slope over this many is exact to about 0.002; it is given to two decimals.
const ROUND_TRIPS = [100, 1600];
const MESSAGES = [500, 2000];

/**
 * @typedef {object} Crossings
 * @property {number | null} perRoundTrip system calls of both processes together; null: they cannot be counted here
 * @property {number | null} perMessage the same for one message one way, in a stream of messages
 * @property {'tracepoint' | 'ptrace' | null} method
 * @property {string | null} notice why a better method was not used, or why there was none
 * @property {Record<string, number>} byName per round trip, by the name of the system call
 * @property {Record<string, number>} byNamePerMessage per message
 */

/** @param {number} value */
const toHundredths = (value) => Math.round(value * 100) / 100 + 0; // + 0: never -0

/**
 * The increase of each count for each further message.
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
 * @param {(string | number)[]} placement the options that say where the processes run
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
