'use strict';
// Bursts over the ring: trySend() on the first side, or send() when the ring is full. On the other side, batches() or messages(),
// which copy each message to new memory or, with the option reuse, to that of the batch or message before.
const { receiveMessages, sendAndReceive, timeStream, timeTrips } = require('./await.js');
const { allTrips, check, makeMessage, numberIn, numberOf, warmupMessagesOf } = require('./messages.js');

/** @typedef {import('../transports.js').End} End */
/** @typedef {import('./messages.js').Work} Work */

/** @param {End} end @param {Work} work */
async function first({ channel }, work) {
  const times = await timeTrips(work, sendAndReceive(channel, work));
  const message = makeMessage(0, work);
  const word = numberIn(message);
  const streamNs = await timeStream(channel, work, async (count) => {
    for (let i = 0; i < count; i++) {
      word[0] = i;
      if (!channel.trySend(message)) await channel.send(message);
    }
  });
  return { times, streamNs };
}

/**
 * Checks the numbers of a batch. A function of its own, because V8 optimizes its loop better than one inside an async function.
 * @param {Buffer[]} batch @param {number} due of the first message @returns {number} due after the last one
 */
function checkAll(batch, due) {
  let next = due;
  for (const message of batch) {
    if (numberOf(message) !== next) check(message, next); // check() throws here; comparing first avoids most calls of it
    next++;
  }
  return next;
}

/** @param {{reuse: boolean}} options of batches() */
const receiveBatches =
  (options) =>
  async (/** @type {End} */ { channel }, /** @type {Work} */ work) => {
    const trips = allTrips(work);
    let number = 0;
    let [due, count] = [0, warmupMessagesOf(work)];
    for await (const batch of channel.batches(options)) {
      if (number < trips) {
        for (const message of batch) await channel.send(message);
        number += batch.length;
      } else {
        due = checkAll(batch, due);
        if (due < count) continue;
        [due, count] = [0, work.messages];
        await channel.send(batch[0]);
      }
    }
    await channel.close();
  };

module.exports = {
  messages: { first, other: receiveMessages({ reuse: false }) },
  reusedMessages: { first, other: receiveMessages({ reuse: true }) },
  batches: { first, other: receiveBatches({ reuse: false }) },
  reusedBatches: { first, other: receiveBatches({ reuse: true }) },
};
