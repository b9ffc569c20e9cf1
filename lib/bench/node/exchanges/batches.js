'use strict';
// The ring's interface for bursts: trySend() on the first side, or send() when the ring is full; batches() on the other side,
// which copies each message to new memory, or, with the option reuse, to that of the batch before.
const { sendAndReceive, timeStream, timeTrips } = require('./await.js');
const { allTrips, check, makeMessage, warmupMessagesOf } = require('./messages.js');

/** @typedef {import('../transports.js').End} End */
/** @typedef {import('./messages.js').Work} Work */

/** @param {End} end @param {Work} work */
async function first({ channel }, work) {
  const times = await timeTrips(work, sendAndReceive(channel, work));
  const message = new Uint8Array(makeMessage(0, work));
  const number = new Int32Array(message.buffer);
  const streamNs = await timeStream(channel, work, async (count) => {
    for (let i = 0; i < count; i++) {
      number[0] = i;
      if (!channel.trySend(message)) await channel.send(message);
    }
  });
  return { times, streamNs };
}

/** @param {{reuse: boolean}} options of batches() */
const receiveBatches =
  (options) =>
  async (/** @type {End} */ { channel }, /** @type {Work} */ work) => {
    const trips = allTrips(work);
    let number = 0;
    let [due, count] = [0, warmupMessagesOf(work)];
    for await (const batch of channel.batches(options)) {
      for (const message of batch) {
        if (number < trips) {
          number++;
          await channel.send(message);
        } else {
          if (message.readInt32LE(0) !== due) check(message, due); // check() throws here; comparing first avoids most calls of it
          if (++due < count) continue;
          [due, count] = [0, work.messages];
          await channel.send(message);
        }
      }
    }
    await channel.close();
  };

module.exports = {
  batches: { first, other: receiveBatches({ reuse: false }) },
  reusedBatches: { first, other: receiveBatches({ reuse: true }) },
};
