'use strict';
// The producer's end of a ring in JavaScript: the writing half of native/ring.h, on the same memory, by the same protocol.
// A message makes no system call and no Node-API call.
//
// Memory order. Atomics are sequentially consistent: each store is at least a release and each load at least an acquire,
// and a store stays before a later load, which is the full fence that the sleeping protocol needs. Plain accesses to the
// same memory are ordered by the Atomics around them. Each use names the line in native/ring.h that it pairs with.
//
// Positions are 32-bit and wrap. The difference of two positions is small and positive, because a ring's capacity is at
// most 2^30.
const { corruptPeer } = require('./errors.js');
const {
  FRAME_HEADER_BYTES,
  HEADER_BYTES,
  LINE_BYTES,
  READ_POSITION_WORD,
  WAITING_FOR_DATA_WORD,
  frameBytes,
} = require('./layout.js');

const EMPTY_BYTES = new Uint8Array(0);
const EMPTY_WORDS = new Int32Array(0);

/** The producer's end: my ring, in my region. */
class RingWriter {
  /**
   * @param {import('./native.js').NativeRegion} mine
   * @param {import('./native.js').NativeRegion} peer
   */
  constructor(mine, peer) {
    this.words = new Int32Array(mine.buffer);
    this.bytes = new Uint8Array(mine.buffer);
    this.peerWords = new Int32Array(peer.buffer);
    this.capacity = mine.capacity;
    this.mask = mine.capacity - 1;
    this.peerMaySleep = !peer.neverSleeps;
    this.position = 0; // where the next frame goes
    this.frame = LINE_BYTES; // size of the last frame written, bytes
    this.cleared = 0; // a position behind the next frame's whose signal is known to be 0; the same: none is
    this.peerRead = 0; // the peer's read position when last loaded
    this.heldAt = 0; // word index of the first frame that is written but not published
    this.heldSignal = 0; // the signal that will publish it; 0: no frame is held back
    this.rung = 0; // the peer's waiting count when I last rang its doorbell
    this.messages = 0;
    this.payloadBytes = 0;
    this.fullTurns = 0;
  }

  /** Are `needed` bytes free? Loads the peer's read position only if the last one leaves too few. @param {number} needed */
  hasRoom(needed) {
    if (this.capacity - ((this.position - this.peerRead) | 0) >= needed) return true;
    // Pairs with the release in ring_consume: the peer has read everything before this position.
    const read = Atomics.load(this.peerWords, READ_POSITION_WORD);
    const used = (this.position - read) | 0;
    // A read position only grows, up to my position.
    if (used < 0 || used > ((this.position - this.peerRead) | 0) || (read & 7) !== 0)
      throw corruptPeer(`invalid read position ${read >>> 0}`);
    this.peerRead = read;
    if (this.capacity - used >= needed) return true;
    this.fullTurns++;
    return false;
  }

  /** Has the peer freed room since its read position was last loaded? For loops that only look. */
  isReady() {
    return Atomics.load(this.peerWords, READ_POSITION_WORD) !== this.peerRead;
  }

  /**
   * Write a frame without publishing it.
   * @param {Uint8Array} payload
   * @param {number} kind
   * @param {number} [number] of the request, for kinds that carry one
   * @returns {boolean} false if there is no room now
   */
  write(payload, kind, number) {
    const prefix = kind === 0 ? 0 : 4;
    const size = payload.length + prefix;
    const frame = frameBytes(this.position, size);
    if (!this.hasRoom(frame + 8)) return false;
    const at = HEADER_BYTES + (this.position & this.mask);
    const word = at >> 2;
    const next = (this.position + frame) | 0;
    // The end mark, stored before the reader can get this far: usually clearAhead() has done it. It comes first, so that the
    // stores to this frame's own line follow each other: a polling reader takes the line away in between (docs/protocol.md).
    if (next !== this.cleared) this.words[(HEADER_BYTES + (next & this.mask)) >> 2] = 0;
    this.bytes.set(payload, at + 8 + prefix);
    if (prefix) this.words[word + 2] = /** @type {number} */ (number);
    this.words[word + 1] = kind;
    if (this.heldSignal !== 0) {
      this.words[word] = size + 1; // the reader cannot see past the first frame held back
    } else {
      this.heldAt = word;
      this.heldSignal = size + 1;
    }
    this.position = next;
    this.frame = frame;
    this.messages++;
    this.payloadBytes += size - prefix;
    return true;
  }

  /**
   * Publish every frame that is held back.
   * @returns {boolean} true if the peer sleeps and its doorbell must be rung
   */
  publish() {
    if (this.heldSignal !== 0) {
      // Pairs with the acquire in ring_peek: payloads, later frames and the end mark before the first frame's signal.
      Atomics.store(this.words, this.heldAt, this.heldSignal);
      this.heldSignal = 0;
      this.#clearAhead();
    }
    if (!this.peerMaySleep) return false;
    // After the store above, in the order of all Atomics: pairs with the fence in ring_begin_waiting.
    const count = Atomics.load(this.peerWords, WAITING_FOR_DATA_WORD);
    if ((count & 1) === 0 || count === this.rung) return false;
    this.rung = count; // ring once per sleep
    return true;
  }

  /**
   * Store the end mark of the next frame ahead, as if that had the size of this one. The reader may have its line in its
   * cache: fetching it takes as long as half a round trip, which now passes while we wait for the peer.
   */
  #clearAhead() {
    const ahead = (this.position + this.frame) | 0;
    if (((ahead + FRAME_HEADER_BYTES - this.peerRead) | 0) > this.capacity) {
      this.cleared = this.position; // the reader has not read what is there yet
      return;
    }
    this.words[(HEADER_BYTES + (ahead & this.mask)) >> 2] = 0;
    this.cleared = ahead;
  }

  /** Drop every view of the memory. */
  release() {
    this.words = this.peerWords = EMPTY_WORDS;
    this.bytes = EMPTY_BYTES;
  }
}

module.exports = { RingWriter };
