'use strict';
// What every exchange shares: its task, the clock, and messages that carry their number in the first four bytes.

const WARMUP_SHARE = 0.2; // of the trips and of the messages, before timing begins: time to compile the code

/**
 * What one side of a sample does.
 * @typedef {object} Work
 * @property {number} sizeBytes of a message
 * @property {number} trips round trips that are timed
 * @property {number} messages of the throughput pass
 * @property {boolean} text messages are strings
 * @property {number} tripsPerReading round trips per reading of the clock
 *
 * What it measured.
 * @typedef {{times: number[], streamNs: number}} Measured nanoseconds per trip, and of the throughput pass
 */

/** Trips that are not timed. @param {Work} work */
const warmupOf = ({ trips }) => Math.ceil(trips * WARMUP_SHARE);

/** Messages of the throughput pass that are not timed; the other side acknowledges them, too. @param {Work} work */
const warmupMessagesOf = ({ messages }) => Math.ceil(messages * WARMUP_SHARE);

/**
 * What the other side does with a message after the round trips: the number that it must have, and whether it is the last one
 * of the warm-up or of the throughput pass, which is acknowledged.
 * @param {number} index among these messages
 * @param {Work} work
 */
function streamed(index, work) {
  const warmup = warmupMessagesOf(work);
  const due = index < warmup ? index : index - warmup;
  return { due, isLast: index === warmup - 1 || index === warmup + work.messages - 1 };
}

/** All trips: the last reading of the clock may complete its number. @param {Work} work */
const allTrips = (work) => warmupOf(work) + Math.ceil(work.trips / work.tripsPerReading) * work.tripsPerReading;

/** @param {number} number @param {Work} work @returns {any} a message that contains its number */
function makeMessage(number, { text, sizeBytes }) {
  if (text) return String(number).padEnd(sizeBytes, '.');
  const message = Buffer.alloc(sizeBytes, number & 0xff);
  message.writeInt32LE(number, 0);
  return message;
}

/** The number of a Buffer, a plain Uint8Array (from a MessagePort) or a string. @param {any} message */
function numberOf(message) {
  if (typeof message === 'string') return Number.parseInt(message, 10);
  return message[0] | (message[1] << 8) | (message[2] << 16) | (message[3] << 24);
}

/** @param {any} message @param {number} due */
function check(message, due) {
  if (message === undefined) return; // a bare wake-up carries no message
  const got = numberOf(message);
  if (got !== due) throw new Error(`expected message ${due}, got message ${got}`);
}

/** Nanoseconds. */
const now = () => Number(process.hrtime.bigint());

module.exports = { warmupOf, warmupMessagesOf, streamed, allTrips, makeMessage, check, now };
