'use strict';
// Requests over the ring: request() on the first side, onRequest() on the other. The throughput pass
// keeps up to 64 requests outstanding.
const { timeTrips } = require('./await.js');
const { check, makeMessage, now, numberIn, warmupMessagesOf } = require('./messages.js');

const OUTSTANDING = 64;

/** @typedef {import('../transports.js').End} End */
/** @typedef {import('./messages.js').Work} Work */

/** @param {End} end @param {Work} work */
async function first({ channel }, work) {
  const request = makeMessage(0, work);
  const word = numberIn(request);
  const times = await timeTrips(work, async (from, count) => {
    for (let number = from; number < from + count; number++) {
      word[0] = number;
      check(await channel.request(request), number);
    }
  });
  const all = Array.from({ length: OUTSTANDING }, (_, i) => makeMessage(i, work));
  const stream = async (/** @type {number} */ count) => {
    for (let done = 0; done < count; done += OUTSTANDING) {
      const responses = await Promise.all(all.map((message) => channel.request(message)));
      check(responses[OUTSTANDING - 1], OUTSTANDING - 1);
    }
  };
  await stream(warmupMessagesOf(work));
  const began = now();
  await stream(work.messages);
  return { times, streamNs: now() - began };
}

/** @param {End} end */
async function other({ channel }) {
  channel.onRequest((/** @type {Buffer} */ message) => message);
}

module.exports = { first, other };
