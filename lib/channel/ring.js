'use strict';
// The ring's two ends in JavaScript: native/ring.h, on the same memory, by the same protocol. Per message it makes no
// system call and no Node-API call.
//
// Memory order. Atomics are sequentially consistent: each store is at least a release and each load at least an acquire,
// and a store before a load stays before it, which is the full fence that the sleeping protocol needs. Plain accesses to
// the same memory are ordered by the Atomics around them. Each use names the line in native/ring.h that it pairs with.
//
// Positions are 32-bit and wrap; differences of positions are small and positive, as ring capacities are at most 2^30.
const { CrossingsError } = require('./errors.js');
const layout = require('./layout.js');

const { HEADER_BYTES, READ_POSITION_WORD, WAITING_FOR_DATA_WORD, WAITING_FOR_ROOM_WORD } = layout;

// Up to this size, bytes are copied out eight at a time by a loop: a fresh subarray for set() costs more than the copying. BigInt64Array, since it keeps every bit; a Float64Array is as fast but may change those of a NaN.
const LOOP_COPY_BYTES = 256;
const LARGE_BUFFER_BYTES = 2 ** 31; // in these, offsets are no 32-bit integers any more
// A reader that finds the ring empty after so many frames in a row has run into its writer and stands back for a few
// microseconds (ring_back_off in native/ring.h).
const STREAM = 2;
const STAND_BACK_LOOKS = 2000;

const EMPTY_BYTES = new Uint8Array(0);
const EMPTY_WORDS = new Int32Array(0);
const EMPTY_LONGS = new BigInt64Array(0);

/** @param {string} what @returns {never} */
function corrupt(what) {
  throw new CrossingsError('ERR_PEER_CORRUPT', `The peer's memory holds what no peer writes: ${what}.`);
}

/** The writing end: my ring, in my region. */
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
    this.peerRead = 0; // the peer's read position when last looked at
    this.heldAt = 0; // the first frame that is written but not yet published, as a word...
    this.heldSignal = 0; // ...and what its signal will be; 0: none is held
    this.rung = 0; // the peer's waiting count when its doorbell was last rung
    this.messages = 0;
    this.payloadBytes = 0;
    this.fullTurns = 0;
  }

  /** Bytes that were free when last looked at; looks again when they are fewer than `needed`. @param {number} needed */
  hasRoom(needed) {
    if (this.capacity - ((this.position - this.peerRead) | 0) >= needed) return true;
    // Pairs with the release in ring_consume: the peer has read what lies before this position.
    const read = Atomics.load(this.peerWords, READ_POSITION_WORD);
    const used = (this.position - read) | 0;
    // It only ever grows, up to my position.
    if (used < 0 || used > ((this.position - this.peerRead) | 0) || (read & 7) !== 0)
      corrupt(`read position ${read >>> 0}`);
    this.peerRead = read;
    if (this.capacity - used >= needed) return true;
    this.fullTurns++;
    return false;
  }

  /**
   * Write a frame without showing it yet.
   * @param {Uint8Array} payload
   * @param {number} kind
   * @param {number} [number] of the request, for kinds that have one
   * @returns {boolean} false: no room now
   */
  write(payload, kind, number) {
    const prefix = kind === 0 ? 0 : 4;
    const size = payload.length + prefix;
    const frame = (size + 15) & ~7; // header, payload, padding
    if (!this.hasRoom(frame + 8)) return false;
    const at = HEADER_BYTES + (this.position & this.mask);
    const word = at >> 2;
    const next = (this.position + frame) | 0;
    this.bytes.set(payload, at + 8 + prefix);
    if (prefix) this.words[word + 2] = /** @type {number} */ (number);
    this.words[(HEADER_BYTES + (next & this.mask)) >> 2] = 0; // the end mark, before anyone can come this far
    this.words[word + 1] = kind;
    if (this.heldSignal !== 0) {
      this.words[word] = size + 1; // nobody sees past the first held frame
    } else {
      this.heldAt = word;
      this.heldSignal = size + 1;
    }
    this.position = next;
    this.messages++;
    this.payloadBytes += size - prefix;
    return true;
  }

  /**
   * Show the peer all frames that are held.
   * @returns {boolean} must its doorbell be rung?
   */
  publish() {
    if (this.heldSignal !== 0) {
      // Pairs with the acquire in ring_peek: payloads, later frames and the end mark before the first frame's signal.
      Atomics.store(this.words, this.heldAt, this.heldSignal);
      this.heldSignal = 0;
    }
    if (!this.peerMaySleep) return false;
    // After the store above, in the order of all Atomics: pairs with the fence in ring_begin_waiting.
    const count = Atomics.load(this.peerWords, WAITING_FOR_DATA_WORD);
    if ((count & 1) === 0 || count === this.rung) return false;
    this.rung = count; // one ring for each sleep
    return true;
  }

  /** Lets go of the memory. */
  release() {
    this.words = this.peerWords = EMPTY_WORDS;
    this.bytes = EMPTY_BYTES;
  }
}

/** The reading end: the peer's ring, in the peer's region, which cannot be written here. */
class RingReader {
  /**
   * @param {import('./native.js').NativeRegion} mine
   * @param {import('./native.js').NativeRegion} peer
   */
  constructor(mine, peer) {
    this.words = new Int32Array(mine.buffer);
    this.peerWords = new Int32Array(peer.buffer);
    this.peerLongs = new BigInt64Array(peer.buffer);
    this.peerBytes = new Uint8Array(peer.buffer);
    this.mask = peer.capacity - 1;
    this.largest = layout.maxMessage(peer.capacity);
    this.step = peer.capacity >> 4; // how far I read at most before I tell the peer
    this.peerMaySleep = !peer.neverSleeps;
    this.position = 0; // of the next frame to read
    this.told = 0; // the read position that the peer knows
    this.streak = 0; // frames read in a row without finding the ring empty
    this.rung = 0;
    this.mustRing = false; // the peer sleeps until there is room, and there is: its doorbell must be rung
    this.messages = 0;
    this.payloadBytes = 0;
    this.emptyTurns = 0;
    /** @type {Uint8Array} the last target of a copy, where in its memory it starts, and the 8-byte words of that memory */
    this.target = EMPTY_BYTES;
    this.targetStart = 0;
    /** @type {BigInt64Array<ArrayBufferLike>} */
    this.targetLongs = EMPTY_LONGS;
  }

  /** Bytes of the next frame's payload, or -1: nothing is there. */
  peek() {
    // Pairs with the release in ring_publish. Read once: the peer may change it, and only this value is checked.
    const signal = Atomics.load(this.peerWords, (HEADER_BYTES + (this.position & this.mask)) >> 2);
    if (signal === 0) {
      this.emptyTurns++;
      if (this.streak !== 0) this.#caughtUp();
      return -1;
    }
    const size = (signal - 1) | 0;
    if (size < 0 || size > this.largest) corrupt(`a frame of ${signal >>> 0} bytes`);
    return size;
  }

  /** Bytes of the next frame's payload when that is a plain message; -1: nothing is there; -2: look with peek(). */
  peekMessage() {
    const word = (HEADER_BYTES + (this.position & this.mask)) >> 2;
    // Pairs with the release in ring_publish. Read once.
    const size = (Atomics.load(this.peerWords, word) - 1) | 0;
    if (size === -1) {
      this.emptyTurns++;
      if (this.streak !== 0) this.#caughtUp();
      return -1;
    }
    return size < 0 || size > this.largest || this.peerWords[word + 1] !== layout.KIND.MESSAGE ? -2 : size;
  }

  /** 0: nothing is there. For loops that only look. */
  peekSignal() {
    return Atomics.load(this.peerWords, (HEADER_BYTES + (this.position & this.mask)) >> 2);
  }

  /** The first time that nothing is there after something was. */
  #caughtUp() {
    if (this.told !== this.position) this.#tell();
    if (this.streak > STREAM) {
      for (let i = 0; i < STAND_BACK_LOOKS; i++) Atomics.load(this.words, READ_POSITION_WORD);
    }
    this.streak = 0;
  }

  /**
   * Tell the peer how far I have read. Not after every message, since it costs as much as a small copy: when a
   * sixteenth of the ring is read, and when it is empty, so that a peer that waits for room gets it in time.
   */
  #tell() {
    this.told = this.position;
    // Pairs with the acquire in ring_room: my copies of the payloads before the position.
    Atomics.store(this.words, READ_POSITION_WORD, this.position);
    if (!this.peerMaySleep) return;
    // After the store above: pairs with the fence in ring_begin_waiting.
    const count = Atomics.load(this.peerWords, WAITING_FOR_ROOM_WORD);
    if ((count & 1) !== 0 && count !== this.rung) {
      this.rung = count;
      this.mustRing = true;
    }
  }

  /** The kind of the frame that peek() has seen. */
  kind() {
    return this.peerWords[((HEADER_BYTES + (this.position & this.mask)) >> 2) + 1];
  }

  /** The number of the request, of a frame that has one. */
  number() {
    return this.peerWords[((HEADER_BYTES + (this.position & this.mask)) >> 2) + 2];
  }

  /** Where the payload of the frame that peek() has seen begins, in peerBytes: a multiple of 8. */
  payloadOffset() {
    return HEADER_BYTES + (this.position & this.mask) + 8;
  }

  /**
   * Copy `size` bytes of the peer's memory.
   * @param {number} from a multiple of 8
   * @param {number} size
   * @param {Uint8Array} target
   * @param {number} offset in the target
   */
  copy(from, size, target, offset) {
    if (target === this.target) {
      const to = this.targetStart + offset;
      if (size <= LOOP_COPY_BYTES && (to & 7) === 0) {
        this.copyLongs(from, size, this.targetLongs, to);
        for (let i = size & ~7; i < size; i++) target[offset + i] = this.peerBytes[from + i];
        return;
      }
    } else if (target.buffer.byteLength < LARGE_BUFFER_BYTES) {
      // Whoever hands in the same target again and again gets the fast way, whose preparation costs more than one copy.
      this.targetLongs = new BigInt64Array(target.buffer, 0, target.buffer.byteLength >> 3);
      this.targetStart = target.byteOffset;
      this.target = target;
    }
    target.set(this.peerBytes.subarray(from, from + size), offset);
  }

  /**
   * Copy the whole 8-byte words among `size` bytes.
   * @param {number} from bytes
   * @param {number} size
   * @param {BigInt64Array} longs
   * @param {number} to bytes from the start of longs: like `from` a multiple of 8
   */
  copyLongs(from, size, longs, to) {
    const source = this.peerLongs;
    const whole = size >> 3;
    for (let i = 0, a = to >> 3, b = from >> 3; i < whole; i++) longs[a + i] = source[b + i];
  }

  /**
   * Done with the frame that peek() has seen, whose size it said. Look at mustRing afterwards.
   * @param {number} size
   */
  consume(size) {
    this.position = (this.position + ((size + 15) & ~7)) | 0;
    this.streak++;
    this.messages++;
    this.payloadBytes += size;
    if (((this.position - this.told) | 0) >= this.step) this.#tell();
  }

  /** Lets go of the memory. */
  release() {
    this.words = this.peerWords = EMPTY_WORDS;
    this.peerLongs = EMPTY_LONGS;
    this.peerBytes = EMPTY_BYTES;
    this.target = EMPTY_BYTES;
    this.targetLongs = EMPTY_LONGS;
  }
}

module.exports = { RingWriter, RingReader };
