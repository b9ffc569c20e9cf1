'use strict';
// What a Node process executes between its first and its last message inside the filter. Every function counts its
// messages, sent and received, in progress[0], and ends early when the time is up.
const { readSync, writeSync } = require('node:fs');

const MESSAGE_BYTES = 64;
const LOOKS_BEFORE_PAUSE = 1024; // about 10 µs
const PAUSE_TURNS = 20_000;

const outgoing = new Uint8Array(MESSAGE_BYTES);
const incoming = new Uint8Array(MESSAGE_BYTES);
const outgoingWords = new Int32Array(outgoing.buffer); // [0]: the number of the message; [1]: 1 if it is the last
const incomingWords = new Int32Array(incoming.buffer);
const idle = new Int32Array(new SharedArrayBuffer(4));

/** @typedef {import('../../../index.js').Channel} Channel */
/** @typedef {{progress: Float64Array, stop: Int32Array}} Shared */
/** @typedef {(end: any, messages: number, shared: Shared) => void | Promise<void>} Exchange */

/** @param {number} number @param {number} got */
function check(number, got) {
  if (got !== number) throw new Error(`expected message ${number}, got ${got}`);
}

/** Writes the next message, and returns true if it is the last. @param {number} number @param {number} of @param {Shared} shared */
function prepare(number, of, { stop }) {
  const last = number + 1 >= of || Atomics.load(stop, 0) === 1;
  outgoingWords[0] = number;
  outgoingWords[1] = last ? 1 : 0;
  return last;
}

/**
 * After 65,536 unsuccessful looks the package asks the kernel whether the peer is still alive, with a system call. Looking
 * without a pause takes about a millisecond for that, and the kernel may preempt the peer for longer.
 */
function pause() {
  for (let turn = 0; turn < PAUSE_TURNS; turn++) Atomics.load(idle, 0);
}

/** @param {Channel} channel */
function put(channel) {
  let looks = 0;
  while (!channel.trySend(outgoing)) if (++looks > LOOKS_BEFORE_PAUSE) pause();
}

/** @param {Channel} channel @param {number} number */
function take(channel, number) {
  let looks = 0;
  while (channel.tryReceiveInto(incoming) < 0) if (++looks > LOOKS_BEFORE_PAUSE) pause();
  check(number, incomingWords[0]);
}

/** @param {Channel} channel @param {number} messages @param {Shared} shared */
function askTrying(channel, messages, shared) {
  for (let trip = 0, last = false; !last; trip++) {
    last = prepare(trip, messages / 2, shared);
    put(channel);
    take(channel, trip);
    shared.progress[0] = 2 * trip + 2;
  }
}

/** @param {Channel} channel @param {number} messages @param {Shared} shared */
function answerTrying(channel, messages, shared) {
  for (let trip = 0, last = false; !last; trip++) {
    take(channel, trip);
    last = incomingWords[1] === 1;
    prepare(trip, messages / 2, shared);
    put(channel);
    shared.progress[0] = 2 * trip + 2;
  }
}

/** Receives a message, and returns true if it is the last. @param {Channel} channel @param {number} number */
async function receive(channel, number) {
  const message = await channel.receive();
  check(number, message === null ? -1 : message.readInt32LE(0));
  return message?.readInt32LE(4) === 1;
}

/** @param {Channel} channel @param {number} messages @param {Shared} shared */
async function askAwaiting(channel, messages, shared) {
  for (let trip = 0, last = false; !last; trip++) {
    last = prepare(trip, messages / 2, shared);
    await channel.send(outgoing);
    await receive(channel, trip);
    shared.progress[0] = 2 * trip + 2;
  }
}

/** @param {Channel} channel @param {number} messages @param {Shared} shared */
async function answerAwaiting(channel, messages, shared) {
  for (let trip = 0, last = false; !last; trip++) {
    last = await receive(channel, trip);
    prepare(trip, messages / 2, shared);
    await channel.send(outgoing);
    shared.progress[0] = 2 * trip + 2;
  }
}

/** Repeats a call on a descriptor that does not block. @param {() => number} call */
function untilDone(call) {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EAGAIN') throw error;
    }
  }
}

/** The control: the same messages through the kernel. @param {number} fd @param {number} messages @param {Shared} shared */
function askKernel(fd, messages, shared) {
  for (let trip = 0, last = false; !last; trip++) {
    last = prepare(trip, messages / 2, shared);
    untilDone(() => writeSync(fd, outgoing));
    untilDone(() => readSync(fd, incoming));
    check(trip, incomingWords[0]);
    shared.progress[0] = 2 * trip + 2;
  }
}

/** @param {number} fd @param {number} messages @param {Shared} shared */
function answerKernel(fd, messages, shared) {
  for (let trip = 0, last = false; !last; trip++) {
    untilDone(() => readSync(fd, incoming));
    last = incomingWords[1] === 1;
    prepare(trip, messages / 2, shared);
    untilDone(() => writeSync(fd, outgoing));
    shared.progress[0] = 2 * trip + 2;
  }
}

module.exports = {
  answerAwaiting,
  answerKernel,
  answerTrying,
  askAwaiting,
  askKernel,
  askTrying,
  pause,
};
