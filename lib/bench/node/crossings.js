'use strict';
// Counts the system calls of both Node processes per round trip and per message, as a slope between a short and a long run
// (lib/measure/crossings.js). Node occasionally makes system calls of its own, so these runs use more messages.
const { notCounted, slope } = require('../../measure/crossings.js');
const { eventOf, runProgram } = require('../../measure/programs.js');
const { unlessShortened } = require('../../measure/run.js');
const { allTrips, warmupMessagesOf } = require('./exchanges/messages.js');
const { tripsPerReadingOf } = require('./transports.js');

const TRIPS = [2000, 6000];
const MESSAGES = [10_000, 30_000];
const FAST_REPEATS = 3; // of fast transports: a call in a few dozen trips is lost among the others if the machine is disturbed

/** The one with the median total. @param {ReturnType<typeof slope>[]} slopes */
const middle = (slopes) => slopes.sort((a, b) => a.total - b.total)[slopes.length >> 1];

/**
 * @param {import('./transports.js').Transport} transport
 * @param {(work: import('./transports.js').Work) => string[]} commandOf
 * @param {{countMethod: string, signal?: AbortSignal}} options
 * @returns {Promise<import('../../measure/crossings.js').Crossings>}
 */
async function countCrossings(transport, commandOf, { countMethod, signal }) {
  const tripsPerReading = tripsPerReadingOf(transport);
  // Fast transports have more trips per reading of the clock: count more of them.
  const factor = unlessShortened(tripsPerReading);
  const repeats = tripsPerReading > 1 ? unlessShortened(FAST_REPEATS) : 1;
  const [fewTrips, manyTrips] = TRIPS.map((trips) => trips * factor);
  const [fewMessages, manyMessages] = MESSAGES.map((messages) => messages * factor);
  // Each exchange adds a warm-up.
  const tripsMade = (/** @type {number} */ trips) => allTrips({ trips, tripsPerReading });
  const messagesMade = (/** @type {number} */ messages) => messages + warmupMessagesOf({ messages });
  /** @param {number} trips @param {number} messages */
  const count = async (trips, messages) => {
    const command = commandOf({ trips, messages });
    const events = await runProgram('crossings-count', ['--method', countMethod, '--', ...command], { signal });
    return eventOf(events, 'crossings');
  };
  const moreTrips = tripsMade(manyTrips) - tripsMade(fewTrips);
  const moreMessages = messagesMade(manyMessages) - messagesMade(fewMessages);
  try {
    /** @type {any} */ let few;
    const perTrips = [];
    const perMessages = [];
    for (let i = 0; i < repeats; i++) {
      few = await count(fewTrips, fewMessages);
      perTrips.push(slope(few, await count(manyTrips, fewMessages), moreTrips));
      perMessages.push(slope(few, await count(fewTrips, manyMessages), moreMessages));
    }
    const [perTrip, perMessage] = [middle(perTrips), middle(perMessages)];
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
