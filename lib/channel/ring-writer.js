'use strict';
// The producer's end of a ring in JavaScript: the writing half of native/ring.h, on the same memory, with the same protocol.
// Nothing in this file makes a system call or a Node-API call.
//
// Memory order. Atomics are sequentially consistent: each store is at least a release, each load is at least an acquire, and
// a store is never reordered after a later load. The latter is the full fence that the sleep protocol needs. Plain accesses to
// the same memory are ordered by the Atomics around them. A comment at each Atomics call names the code that it pairs with.
//
// Positions are 32-bit and wrap around. A difference of two positions, truncated to 32 bits, is the number of bytes between
// them, because a ring's capacity is at most 2^30.
// biome-ignore lint/suspicious/noShadowRestrictedNames: JavaScript's own in most runtimes, and used like them
const { Atomics, wordsOf } = require('./atomics.js');
const { corruptPeer } = require('./errors.js');
const {
  FRAME_HEADER_BYTES,
  HEADER_BYTES,
  LINE_BYTES,
  READ_POSITION_WORD,
  WAITING_FOR_DATA_WORD,
  frameBytes,
} = require('./layout.js');
const { EMPTY_RING, SPARE_WORDS } = require('./released.js');

/** Uint8Array.prototype.set() as a function: V8 often leaves the lookup of a built-in method in its code (docs/protocol.md). */
const setBytes = /** @type {(target: Uint8Array, source: Uint8Array, offset: number) => void} */ (
  Function.prototype.call.bind(Uint8Array.prototype.set)
);

const EMPTY_BYTES = new Uint8Array(0);

/** The producer's end of my ring, in my region. */
class RingWriter {
  /**
   * @param {import('./native.js').NativeRegion} mine
   * @param {import('./native.js').NativeRegion} peer
   */
  constructor(mine, peer) {
    this.words = wordsOf(mine);
    this.bytes = new Uint8Array(mine.buffer);
    this.peerWords = wordsOf(peer);
    this.capacity = mine.capacity;
    this.mask = mine.capacity - 1;
    this.peerMaySleep = !peer.neverSleeps;
    this.position = 0; // where the next frame goes
    this.frame = LINE_BYTES; // size of the last frame written, bytes
    this.cleared = 0; // a position ahead where the end mark is already stored; equal to `position` if there is none
    this.peerRead = 0; // the peer's read position when last loaded
    this.heldAt = 0; // word index of the first frame that is written but not published
    this.heldSignal = 0; // the signal that will publish it; 0: no frame is held back
    this.rung = 0; // the peer's waiting count when I last rang its doorbell
    this.messages = 0;
    this.payloadBytes = 0;
    this.fullTurns = 0;
  }

  /** Are `needed` bytes free? Loads the peer's read position only if the last known one leaves too little room. @param {number} needed */
  hasRoom(needed) {
    if (this.capacity - ((this.position - this.peerRead) | 0) >= needed) return true;
    // Pairs with the release in ring_consume: the peer has read everything before this position.
    const read = Atomics.load(this.peerWords, READ_POSITION_WORD);
    const used = (this.position - read) | 0;
    // A valid read position never moves backward, never passes my position, and is a multiple of 8.
    if (used < 0 || used > ((this.position - this.peerRead) | 0) || (read & 7) !== 0)
      throw corruptPeer(`invalid read position ${read >>> 0}`);
    this.peerRead = read;
    if (this.capacity - used >= needed) return true;
    this.fullTurns++;
    return false;
  }

  /** Has the peer freed room since its read position was last loaded? For polling loops. */
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
    // Store the end mark, unless #clearAhead() has already done so. It must be there before this frame is published. It is
    // stored before the payload so that no other store comes between the stores to this frame's cache line, which a polling
    // reader could take away in between (docs/protocol.md).
    if (next !== this.cleared) this.words[(HEADER_BYTES + (next & this.mask)) >> 2] = 0;
    setBytes(this.bytes, payload, at + 8 + prefix);
    if (prefix) this.words[word + 2] = /** @type {number} */ (number);
    this.words[word + 1] = kind;
    if (this.heldSignal !== 0) {
      this.words[word] = size + 1; // not visible yet: the reader cannot get past the first held frame
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
    // Then the peer is not rung: two sides that both wait for room would ring each other for ever.
    if (this.heldSignal === 0) return false;
    // Pairs with the acquire in ring_peek: payloads, later frames and the end mark are written before this signal.
    Atomics.store(this.words, this.heldAt, this.heldSignal);
    this.heldSignal = 0;
    this.#clearAhead();
    if (!this.peerMaySleep) return false;
    // Ordered after the store above, because Atomics are totally ordered. Pairs with the fence in ring_begin_waiting.
    const count = Atomics.load(this.peerWords, WAITING_FOR_DATA_WORD);
    if ((count & 1) === 0 || count === this.rung) return false;
    this.rung = count; // ring once per sleep
    return true;
  }

  /**
   * Store the end mark of the next frame in advance, assuming that it will have the size of the last one. That cache line may
   * be in the reader's cache, and fetching it takes about half a round trip. Here, this happens while the writer waits anyway.
   */
  #clearAhead() {
    const ahead = (this.position + this.frame) | 0;
    if (((ahead + FRAME_HEADER_BYTES - this.peerRead) | 0) > this.capacity) {
      this.cleared = this.position; // the reader has not yet read the data at that place
      return;
    }
    this.words[(HEADER_BYTES + (ahead & this.mask)) >> 2] = 0;
    this.cleared = ahead;
  }

  /** Drop every view of the memory. */
  release() {
    this.words = SPARE_WORDS;
    this.peerWords = EMPTY_RING;
    this.bytes = EMPTY_BYTES;
  }
}

module.exports = { RingWriter };
