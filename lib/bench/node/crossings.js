'use strict';
// The system calls of both Node processes per round trip and per message: a slope, as in lib/measure/crossings.js. Node
// occasionally makes system calls of its own, so this slope spans more messages.
const { notCounted, slope } = require('../../measure/crossings.js');
const { eventOf, runProgram } = require('../../measure/programs.js');
const { tripsPerReadingOf } = require('./transports.js');

const TRIPS = [2000, 6000];
const MESSAGES = [10_000, 30_000];
const WARMUP_FACTOR = 1.2; // each exchange makes a fifth more trips and messages than it times

/**
 * @param {import('./transports.js').Transport} transport
 * @param {(work: import('./transports.js').Work) => string[]} commandOf
 * @param {{countMethod: string, signal?: AbortSignal}} options
 * @returns {Promise<import('../../measure/crossings.js').Crossings>}
 */
async function countCrossings(transport, commandOf, { countMethod, signal }) {
  const factor = tripsPerReadingOf(transport); // the faster a transport, the more trips count
  const [fewTrips, manyTrips] = TRIPS.map((trips) => trips * factor);
  const [fewMessages, manyMessages] = MESSAGES.map((messages) => messages * factor);
  /** @param {number} trips @param {number} messages */
  const count = async (trips, messages) => {
    const command = commandOf({ trips, messages });
    const events = await runProgram('crossings-count', ['--method', countMethod, '--', ...command], { signal });
    return eventOf(events, 'crossings');
  };
  try {
    const few = await count(fewTrips, fewMessages);
    const perTrip = slope(few, await count(manyTrips, fewMessages), (manyTrips - fewTrips) * WARMUP_FACTOR);
    const perMessage = slope(few, await count(fewTrips, manyMessages), (manyMessages - fewMessages) * WARMUP_FACTOR);
    return {
      perRoundTrip: Math.max(0, perTrip.total),
      perMessage: Math.max(0, perMessage.total),
      method: few.method,
      notice: few.notice,
      byName: perTrip.byName,
      byNamePerMessage: perMessage.byName,
    };
  } catch (error) {
    signal?.throwIfAborted();
    return notCounted(error);
  }
}

module.exports = { countCrossings };
