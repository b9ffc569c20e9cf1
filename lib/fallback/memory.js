'use strict';
// A region in ordinary memory. Each side keeps two: its own, which its RingWriter fills and its Sender empties into the socket, and
// a copy of the peer's, which its Receiver fills from the socket and its RingReader empties. The ring's ends do not notice.
const { randomFillSync } = require('node:crypto');
const { CrossingsError } = require('../channel/errors.js');
const { HEADER_BYTES, WAITING_FOR_DATA_WORD, WAITING_FOR_ROOM_WORD } = require('../channel/layout.js');

/** @typedef {import('../channel/native.js').NativeRegion & {handle: {isReleased: boolean}}} Memory */

/**
 * The ring's data has twice its capacity, because ordinary memory cannot be mapped twice: a frame at the end of the ring
 * continues in the second half.
 * @param {number} capacity
 * @param {number[] | null} key
 * @param {{isReleased: boolean}} handle of the channel's memory
 * @returns {Memory}
 */
function createMemory(capacity, key, handle) {
  const bytes = HEADER_BYTES + 2 * capacity;
  let buffer;
  try {
    buffer = new ArrayBuffer(bytes);
  } catch {
    throw new CrossingsError('ERR_SYSTEM', `Cannot allocate ${bytes} bytes for a ring of ${capacity} bytes.`);
  }
  return { handle, buffer, capacity, neverSleeps: false, key };
}

/**
 * In the copy of the peer's region, the peer sleeps at all times. So this side rings for each frame that it publishes and for each
 * read position that it announces, if the count has changed since the last ring.
 * @param {Int32Array} words of the peer's region
 */
function sleepAnew(words) {
  words[WAITING_FOR_DATA_WORD] = (words[WAITING_FOR_DATA_WORD] + 2) | 1;
  words[WAITING_FOR_ROOM_WORD] = (words[WAITING_FOR_ROOM_WORD] + 2) | 1;
}

/** A key of an authenticated channel. */
const newKey = () => [...randomFillSync(new Int32Array(4))];

module.exports = { createMemory, newKey, sleepAnew };
