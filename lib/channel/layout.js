'use strict';
// The layout of a region, as native/ring.h defines it and docs/protocol.md explains it. Offsets are bytes; a WORD is an
// index into an Int32Array over the region.

const HEADER_BYTES = 4096;
const FRAME_HEADER_BYTES = 8;
const LINE_BYTES = 64; // a cache line
const TAG_BYTES = 8; // at the start of each payload of an authenticated channel
const MIN_CAPACITY = 65536;
const MAX_CAPACITY = 2 ** 30;

const READ_POSITION_WORD = 128 / 4;
const WAITING_FOR_DATA_WORD = 256 / 4;
const WAITING_FOR_ROOM_WORD = 260 / 4;
const CLOSED_WORD = 384 / 4;

/** The kinds of frames. */
const KIND = Object.freeze({ MESSAGE: 0, REQUEST: 1, RESPONSE: 2, REFUSAL: 3 });

/** The largest payload for a ring: the frame and the end mark after it must fit. @param {number} capacity */
const maxMessage = (capacity) => capacity - 2 * FRAME_HEADER_BYTES;

/**
 * The size in bytes, padding included, of a frame at `position` with a payload of `size` bytes. After a frame of at most one
 * cache line, the next one starts on a new line. A longer frame is padded to a multiple of 8 only.
 * @param {number} position
 * @param {number} size
 */
function frameBytes(position, size) {
  const bytes = (size + FRAME_HEADER_BYTES + 7) & ~7;
  return bytes > LINE_BYTES ? bytes : bytes + (-(position + bytes) & (LINE_BYTES - 1));
}

module.exports = {
  HEADER_BYTES,
  FRAME_HEADER_BYTES,
  MIN_CAPACITY,
  MAX_CAPACITY,
  READ_POSITION_WORD,
  WAITING_FOR_DATA_WORD,
  WAITING_FOR_ROOM_WORD,
  CLOSED_WORD,
  KIND,
  maxMessage,
  frameBytes,
  LINE_BYTES,
  TAG_BYTES,
};
