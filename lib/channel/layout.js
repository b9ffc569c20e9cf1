'use strict';
// The layout of a region, as native/ring.h defines it and docs/protocol.md explains it. Offsets are bytes; a WORD is an
// index into an Int32Array over the region.

const HEADER_BYTES = 4096;
const FRAME_HEADER_BYTES = 8;
const FRAME_ALIGN = 64; // a cache line
const MIN_CAPACITY = 65536;
const MAX_CAPACITY = 2 ** 30;

const READ_POSITION_WORD = 128 / 4;
const WAITING_FOR_DATA_WORD = 256 / 4;
const WAITING_FOR_ROOM_WORD = 260 / 4;
const CLOSED_WORD = 384 / 4;

/** What a frame's payload is. */
const KIND = Object.freeze({ MESSAGE: 0, REQUEST: 1, RESPONSE: 2, REFUSAL: 3 });

/** The largest payload for a ring: beside its frame, the end mark of the next must fit. @param {number} capacity */
const maxMessage = (capacity) => capacity - FRAME_ALIGN - FRAME_HEADER_BYTES;

/** Bytes that the frame of a payload of `size` bytes takes: header, payload, padding. @param {number} size */
const frameBytes = (size) => (size + FRAME_HEADER_BYTES + FRAME_ALIGN - 1) & -FRAME_ALIGN;

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
  FRAME_ALIGN,
};
