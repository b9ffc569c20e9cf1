'use strict';
// Shared by all exchanges: the warm-up, the clock, and numbered messages.

// The warm-up before the timed trips and messages, as a share of them: when timing starts, the code has been compiled. V8 compiles the
// functions of an `await` one after the other, and has not finished before about 100,000 round trips.
const WARMUP_SHARE = 0.2;
const FAST_WARMUP_SHARE = 1; // of the trips of transports that are timed several trips at a time

/**
 * The work of one side of a sample.
 * @typedef {object} Work
 * @property {number} sizeBytes of a message
 * @property {number} trips round trips that are timed
 * @property {number} messages in the throughput pass
 * @property {boolean} text messages are strings
 * @property {number} tripsPerReading round trips per reading of the clock
 *
 * The measurements of a sample.
 * @typedef {{times: number[], streamNs: number}} Measured nanoseconds per round trip, and the duration of the throughput pass in nanoseconds
 */

/** Number of warm-up trips, which are not timed. @param {Pick<Work, 'trips' | 'tripsPerReading'>} work */
const warmupOf = ({ trips, tripsPerReading }) =>
  Math.ceil(trips * (tripsPerReading > 1 ? FAST_WARMUP_SHARE : WARMUP_SHARE));

/** Number of warm-up messages before the throughput pass. They are not timed, but the other side acknowledges them. @param {Pick<Work, 'messages'>} work */
const warmupMessagesOf = ({ messages }) => Math.ceil(messages * WARMUP_SHARE);

/**
 * For the other side, after the round trips: the number that a message must carry, and whether it is the last one of the
 * warm-up or of the throughput pass. The other side acknowledges the last one.
 * @param {number} index of the message, counted from the end of the round trips
 * @param {Work} work
 */
function streamed(index, work) {
  const warmup = warmupMessagesOf(work);
  const due = index < warmup ? index : index - warmup;
  return { due, isLast: index === warmup - 1 || index === warmup + work.messages - 1 };
}

/** Number of all trips, with warm-up; the timed trips are rounded up to a multiple of tripsPerReading. @param {Pick<Work, 'trips' | 'tripsPerReading'>} work */
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

/**
 * The number of a message that makeMessage() made of bytes, to be changed before the message is sent again. The exchanges read
 * and write numbers as elements of typed arrays: V8 often does not inline readInt32LE() and writeInt32LE(), and what is timed is
 * the channel.
 * @param {Buffer} message
 */
const numberIn = (message) => new Int32Array(message.buffer, message.byteOffset, 1);

/** @param {any} message @param {number} due */
function check(message, due) {
  if (message === undefined) return; // a bare wake-up carries no message
  const got = numberOf(message);
  if (got !== due) throw new Error(`expected message ${due}, got message ${got}`);
}

/** The monotonic clock, in nanoseconds. */
const now = () => Number(process.hrtime.bigint());

module.exports = { warmupOf, warmupMessagesOf, streamed, allTrips, makeMessage, numberIn, numberOf, check, now };
