'use strict';
// The ring with promises, as most programs use it: send() and receive() on the first side, for await on the other side.
const { allTrips, check, makeMessage, now, numberIn, numberOf, warmupMessagesOf, warmupOf } = require('./messages.js');

/** @typedef {import('../transports.js').End} End */
/** @typedef {import('./messages.js').Work} Work */

/**
 * Times round trips.
 * @param {Work} work
 * @param {(from: number, count: number) => Promise<void>} exchange makes `count` round trips, numbered from `from`. One
 *   call makes several trips, so that the promise of the call itself is a small part of the time
 */
async function timeTrips(work, exchange) {
  const { tripsPerReading } = work;
  const warmup = warmupOf(work);
  /** @type {number[]} */
  const times = [];
  await exchange(0, warmup);
  for (let from = warmup; from < allTrips(work); from += tripsPerReading) {
    const start = now();
    await exchange(from, tripsPerReading);
    times.push((now() - start) / tripsPerReading);
  }
  return times;
}

/** Round trips by send() and receive(). @param {any} channel @param {Work} work */
function sendAndReceive(channel, work) {
  const message = makeMessage(0, work);
  const word = numberIn(message);
  return async (/** @type {number} */ from, /** @type {number} */ count) => {
    for (let number = from; number < from + count; number++) {
      word[0] = number;
      await channel.send(message);
      check(await channel.receive(), number);
    }
  };
}

/**
 * Times the throughput pass, after a warm-up. The other side acknowledges the last message of each.
 * @param {any} channel
 * @param {Work} work
 * @param {(count: number) => Promise<void>} sendAll sends `count` messages, numbered from 0
 * @returns {Promise<number>} nanoseconds
 */
async function timeStream(channel, work, sendAll) {
  let began = 0;
  for (const count of [warmupMessagesOf(work), work.messages]) {
    began = now();
    await sendAll(count);
    if (count > 0) await channel.receive();
  }
  return now() - began;
}

/** @param {End} end @param {Work} work */
async function first({ channel }, work) {
  const times = await timeTrips(work, sendAndReceive(channel, work));
  const message = makeMessage(0, work);
  const word = numberIn(message);
  const streamNs = await timeStream(channel, work, async (count) => {
    for (let i = 0; i < count; i++) {
      word[0] = i;
      await channel.send(message);
    }
  });
  return { times, streamNs };
}

/** @param {{reuse: boolean}} options of messages() */
const receiveMessages =
  (options) =>
  async (/** @type {End} */ { channel }, /** @type {Work} */ work) => {
    const trips = allTrips(work);
    let number = 0;
    let [due, count] = [0, warmupMessagesOf(work)];
    for await (const message of channel.messages(options)) {
      if (number < trips) {
        number++;
        await channel.send(message);
      } else {
        if (numberOf(message) !== due) check(message, due); // check() throws here; comparing first avoids most calls of it
        if (++due < count) continue;
        [due, count] = [0, work.messages];
        await channel.send(message);
      }
    }
    await channel.close();
  };

module.exports = {
  first,
  other: receiveMessages({ reuse: false }),
  receiveMessages,
  timeTrips,
  timeStream,
  sendAndReceive,
};
