'use strict';
// What every exchange shares: its task, the clock, and messages that carry their number in the first four bytes.

const WARMUP_SHARE = 0.2; // of the trips, before timing begins: time to compile the code

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

module.exports = { warmupOf, allTrips, makeMessage, check, now };
