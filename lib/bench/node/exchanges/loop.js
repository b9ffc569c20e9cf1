'use strict';
// The ring's try methods in tight loops that never return to the event loop.
const { allTrips, now, warmupMessagesOf, warmupOf } = require('./messages.js');

/** @param {any} channel @param {Uint8Array} target */
function receiveNow(channel, target) {
  for (;;) if (channel.tryReceiveInto(target) >= 0) return;
}

/** @param {any} channel @param {Uint8Array} message */
function sendNow(channel, message) {
  for (;;) if (channel.trySend(message)) return;
}

/** Writes a message's number into its first four bytes. @param {Int32Array} word @param {number} number */
function stamp(word, number) {
  word[0] = number;
}

/** @param {import('../transports.js').End} end @param {import('./messages.js').Work} work */
async function first({ channel }, work) {
  const { sizeBytes, trips, messages, tripsPerReading } = work;
  const message = new Uint8Array(sizeBytes);
  const answer = new Uint8Array(sizeBytes);
  const [word, echoed] = [new Int32Array(message.buffer), new Int32Array(answer.buffer)];
  const times = [];
  let number = 0;
  const trip = () => {
    stamp(word, number);
    sendNow(channel, message);
    receiveNow(channel, answer);
    if (echoed[0] !== number++) throw new Error(`expected message ${number - 1}, got message ${echoed[0]}`);
  };
  for (let i = 0; i < warmupOf(work); i++) trip();
  for (let i = 0; i < trips; i += tripsPerReading) {
    const start = now();
    for (let j = 0; j < tripsPerReading; j++) trip();
    times.push((now() - start) / tripsPerReading);
  }
  const stream = (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) {
      stamp(word, i);
      sendNow(channel, message);
    }
    if (count > 0) receiveNow(channel, answer); // acknowledges that the other side has received all of them
  };
  stream(warmupMessagesOf(work));
  const began = now();
  stream(messages);
  return { times, streamNs: now() - began };
}

/** @param {import('../transports.js').End} end @param {import('./messages.js').Work} work */
async function other({ channel, close }, work) {
  const { sizeBytes, messages } = work;
  const message = new Uint8Array(sizeBytes);
  const word = new Int32Array(message.buffer);
  for (let i = 0; i < allTrips(work); i++) {
    receiveNow(channel, message);
    sendNow(channel, message);
  }
  for (const count of [warmupMessagesOf(work), messages]) {
    for (let i = 0; i < count; i++) {
      receiveNow(channel, message);
      if (word[0] !== i) throw new Error(`expected message ${i}, got message ${word[0]}`);
    }
    if (count > 0) sendNow(channel, message);
  }
  await close();
}

module.exports = { first, other };
