'use strict';
// Round trips of a message that each side writes to the same place, with a number beside it that says when it is complete. No
// ring, no check and no call but those of JavaScript itself: a lower bound for trySend() and tryReceiveInto(). There is no
// throughput pass.
const { allTrips, now, warmupOf } = require('./messages.js');

const FRAME_HEADER_BYTES = 8; // the payload follows the number where it follows the header of a frame in the ring
const LOOKS_PER_CHECK = 2 ** 22; // without success, before the other side is checked: it may have been killed

/** @typedef {import('../transports.js').End} End */
/** @typedef {import('./messages.js').Work} Work */

/**
 * The two halves of a round trip. As in the ring, set() copies the message to the memory and a loop copies it from there, which are
 * the fastest ways for small messages.
 * @param {End} end @param {Work} work
 */
function exchangeOver({ memory }, { sizeBytes }) {
  const { mine, peer, isPeerAlive } = /** @type {import('../bare.js').Memory} */ (memory);
  const myNumber = new Int32Array(mine.buffer, mine.byteOffset, 1);
  const peerNumber = new Int32Array(peer.buffer, peer.byteOffset, 1);
  const longs = sizeBytes >> 3;
  const payload = new BigInt64Array(peer.buffer, peer.byteOffset + FRAME_HEADER_BYTES, longs);
  const message = new Uint8Array(sizeBytes);
  const word = new Int32Array(message.buffer);
  const received = new BigInt64Array(longs);
  const receivedWord = new Int32Array(received.buffer);
  const setBytes = /** @type {(target: Uint8Array, source: Uint8Array, offset: number) => void} */ (
    Function.prototype.call.bind(Uint8Array.prototype.set)
  );
  return {
    send(/** @type {number} */ number) {
      word[0] = number;
      setBytes(mine, message, FRAME_HEADER_BYTES);
      Atomics.store(myNumber, 0, number); // pairs with the load in receive()
    },
    receive(/** @type {number} */ number) {
      for (let looks = 1; Atomics.load(peerNumber, 0) !== number; looks++) {
        if (looks % LOOKS_PER_CHECK === 0 && !isPeerAlive()) throw new Error('The other side has ended.');
      }
      for (let i = 0; i < longs; i++) received[i] = payload[i];
      if (receivedWord[0] !== number) throw new Error(`expected message ${number}, got message ${receivedWord[0]}`);
    },
  };
}

/** @param {End} end @param {Work} work */
async function first(end, work) {
  const { send, receive } = exchangeOver(end, work);
  const { trips, tripsPerReading } = work;
  const times = [];
  let number = 0;
  const trip = () => {
    send(++number); // 0 is what new memory holds
    receive(number);
  };
  for (let i = 0; i < warmupOf(work); i++) trip();
  for (let i = 0; i < trips; i += tripsPerReading) {
    const start = now();
    for (let j = 0; j < tripsPerReading; j++) trip();
    times.push((now() - start) / tripsPerReading);
  }
  return { times, streamNs: 0 };
}

/** @param {End} end @param {Work} work */
async function other(end, work) {
  const { send, receive } = exchangeOver(end, work);
  for (let number = 1; number <= allTrips(work); number++) {
    receive(number);
    send(number);
  }
  end.close();
}

module.exports = { first, other };
