'use strict';
// The ring's interface for bursts: trySend() while there is room on the first side, batches() on the other.
const { sendAndReceive, timeTrips } = require('./await.js');
const { allTrips, check, makeMessage, now } = require('./messages.js');

/** @typedef {import('../transports.js').End} End */
/** @typedef {import('./messages.js').Work} Work */

/** @param {End} end @param {Work} work */
async function first({ channel }, work) {
  const times = await timeTrips(work, sendAndReceive(channel, work));
  const message = new Uint8Array(makeMessage(0, work));
  const number = new Int32Array(message.buffer);
  const began = now();
  for (let i = 0; i < work.messages; i++) {
    number[0] = i;
    if (!channel.trySend(message)) await channel.send(message);
  }
  if (work.messages > 0) await channel.receive(); // the other side has received them all
  return { times, streamNs: now() - began };
}

/** @param {End} end @param {Work} work */
async function other({ channel }, work) {
  const trips = allTrips(work);
  const last = trips + work.messages - 1;
  let number = 0;
  for await (const batch of channel.batches()) {
    for (let i = 0; i < batch.length; i++, number++) {
      if (number < trips) await channel.send(batch[i]);
      else if (batch[i].readInt32LE(0) !== number - trips) check(batch[i], number - trips);
    }
    if (number > last && work.messages > 0) await channel.send(batch[batch.length - 1]);
  }
  await channel.close();
}

module.exports = { first, other };
