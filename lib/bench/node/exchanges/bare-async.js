'use strict';
// Round trips by the smallest async functions around the try methods: what one promise per call and one Buffer per message cost
// with a ring that is polled. A lower bound for send() and receive(). There is no throughput pass.
const { allTrips } = require('./messages.js');
const { sendAndReceive, timeTrips } = require('./await.js');

/** @param {any} channel */
const wrapped = (channel) => ({
  async send(/** @type {Uint8Array} */ message) {
    while (!channel.trySend(message));
  },
  async receive() {
    for (;;) {
      const message = channel.tryReceive();
      if (message !== null) return message;
    }
  },
});

/** @param {import('../transports.js').End} end @param {import('./messages.js').Work} work */
async function first({ channel }, work) {
  return { times: await timeTrips(work, sendAndReceive(wrapped(channel), work)), streamNs: 0 };
}

/** @param {import('../transports.js').End} end @param {import('./messages.js').Work} work */
async function other({ channel }, work) {
  const { send, receive } = wrapped(channel);
  for (let i = 0; i < allTrips(work); i++) await send(await receive());
  await channel.close();
}

module.exports = { first, other };
