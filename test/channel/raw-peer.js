'use strict';
// A channel whose peer keeps to the layout of the ring and nothing else: a test decides about each of its frames.
const { createHook } = require('node:async_hooks');
const {
  CLOSED_WORD,
  HEADER_BYTES,
  KIND,
  WAITING_FOR_DATA_WORD,
  WAITING_FOR_ROOM_WORD,
} = require('../../lib/channel/layout.js');
const { RingReader } = require('../../lib/channel/ring-reader.js');
const { RingWriter } = require('../../lib/channel/ring-writer.js');
const { channelPair } = require('../../lib/index.js');
const { native } = require('../../lib/channel/native.js');

const CAPACITY = 65536;

/**
 * A channel and the raw memory of its peer: a second thread's view of the ring that this process reads.
 * @param {object} [options] of the channel
 */
async function rawPeer(options = {}) {
  const { channel, port } = channelPair({ capacity: CAPACITY, ...options });
  const fd = native.redeemTicket(port.take());
  const mine = native.createRegion(CAPACITY, false, true);
  native.sendHello(fd, mine.handle);
  const words = new Int32Array(mine.buffer);
  const a = await channel;
  const theirs = /** @type {any} */ (native.receiveHello(fd, true));
  const writer = new RingWriter(mine, theirs);
  const reader = new RingReader(mine, theirs);
  let isOver = false;
  return {
    a,
    /** Write a frame as the protocol asks for, if there is room. @param {number} kind @param {number} number @param {Uint8Array} payload */
    send(kind, number, payload) {
      if (!writer.write(payload, kind, number)) return false;
      if (writer.publish()) native.ring(fd);
      return true;
    },
    /** Read the next frame. @returns {number} the number of the request; -1: there is no frame */
    read() {
      const size = reader.peek();
      const number = size < 0 ? -1 : reader.number();
      if (size >= 0) reader.consume(size);
      if (reader.mustRing) native.ring(fd);
      reader.mustRing = false;
      return number;
    },
    ring: () => native.ring(fd),
    /** Write a message and do not ring, whether this side sleeps or not. @param {Uint8Array} payload */
    publish(payload) {
      writer.write(payload, Number(KIND.MESSAGE), 0);
      writer.publish();
    },
    /** Claim to sleep until there is room. */
    claimToWaitForRoom() {
      Atomics.add(words, WAITING_FOR_ROOM_WORD, 1);
    },
    /** Claim to sleep until there is a message. */
    claimToWaitForData() {
      Atomics.add(words, WAITING_FOR_DATA_WORD, 1);
    },
    /** Write a frame with an invalid size. */
    sendInvalid() {
      Atomics.store(words, (HEADER_BYTES + (writer.position & (CAPACITY - 1))) >> 2, -1);
    },
    /** Fill the whole ring with frames of one kind, without an end mark: empty messages, or responses with a number. @param {number} [kind] */
    fill(kind = Number(KIND.MESSAGE)) {
      const signal = kind === KIND.MESSAGE ? 1 : 5;
      for (let at = 0; at < CAPACITY; at += 64) {
        words[((HEADER_BYTES + at) >> 2) + 1] = kind;
        Atomics.store(words, (HEADER_BYTES + at) >> 2, signal);
      }
    },
    /** @param {boolean} closed */
    end(closed) {
      isOver = true;
      Atomics.store(words, CLOSED_WORD, closed ? 1 : 0);
      native.closeFd(fd);
    },
    async close() {
      await a.close();
      if (!isOver) native.closeFd(fd);
      native.releaseRegion(mine.handle, mine.buffer);
      native.releaseRegion(theirs.handle, theirs.buffer);
    },
  };
}

/**
 * Make a call, and close the channel in a hook of async_hooks, which runs when the call makes its first promise.
 * @template T @param {any} channel @param {() => T} call @param {string} [made] of another resource @returns {T}
 */
function closedByHook(channel, call, made = 'PROMISE') {
  let isArmed = true;
  const hook = createHook({
    init(_id, type) {
      if (type !== made || !isArmed) return;
      isArmed = false;
      channel.close();
    },
  }).enable();
  try {
    return call();
  } finally {
    isArmed = false;
    hook.disable();
  }
}

module.exports = { CAPACITY, closedByHook, rawPeer };
