'use strict';
// The consumer's end of a ring in JavaScript: the reading half of native/ring.h, on the same memory, by the same protocol.
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
  HEADER_BYTES,
  KIND,
  READ_POSITION_WORD,
  WAITING_FOR_ROOM_WORD,
  frameBytes,
  maxMessage,
} = require('./layout.js');

// Up to this size, a loop copies eight bytes at a time: the subarray that set() needs costs more than the copying.
// BigInt64Array keeps every bit; Float64Array is as fast but may change the bits of a NaN.
const LOOP_COPY_BYTES = 256;
const LARGE_BUFFER_BYTES = 2 ** 31; // offsets into larger buffers are no longer 32-bit integers
// A reader that finds the ring empty after more than this many frames in a row has caught up with its writer, and backs
// off for a few microseconds (ring_back_off in native/ring.h).
const STREAM_FRAMES = 2;
const BACK_OFF_LOOKS = 2000;

const EMPTY_BYTES = new Uint8Array(0);
const EMPTY_WORDS = new Int32Array(0);
const EMPTY_LONGS = new BigInt64Array(0);

/** A view of a resizable buffer may change its length between two messages. @param {ArrayBufferLike} buffer */
const isResizable = (buffer) => /** @type {any} */ (buffer).resizable || /** @type {any} */ (buffer).growable;

/** The consumer's end: the peer's ring, in the peer's region, which is mapped read-only here. */
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
    this.largest = maxMessage(peer.capacity);
    this.stride = peer.capacity >> 4;
    this.step = this.stride; // bytes read before the peer must learn of it
    this.peerMaySleep = !peer.neverSleeps;
    this.position = 0; // of the next frame to read
    this.announced = 0; // the read position that the peer can see
    this.streak = 0; // frames read in a row since the ring was last empty
    this.rung = 0;
    this.mustRing = false; // the peer sleeps until there is room, and now there is some
    this.messages = 0;
    this.payloadBytes = 0;
    this.emptyTurns = 0;
    /** @type {Uint8Array} the last target of a copy; below, its offset in its memory and the 8-byte words of that memory */
    this.target = EMPTY_BYTES;
    this.targetStart = 0;
    /** @type {BigInt64Array<ArrayBufferLike>} */
    this.targetLongs = EMPTY_LONGS;
  }

  /** Size of the next frame's payload in bytes, or -1 if the ring is empty. */
  peek() {
    // Pairs with the release in ring_publish. Loaded once: the peer may change it, so only this value is checked and used.
    const signal = Atomics.load(this.peerWords, (HEADER_BYTES + (this.position & this.mask)) >> 2);
    if (signal === 0) {
      this.emptyTurns++;
      if (this.streak !== 0) this.#caughtUp();
      return -1;
    }
    const size = (signal - 1) | 0;
    if (size < 0 || size > this.largest) throw corruptPeer(`invalid frame size ${signal >>> 0}`);
    return size;
  }

  /** Like peek() for plain messages, in fewer steps; -2 for any other frame: use peek() and kind(). */
  peekMessage() {
    const word = (HEADER_BYTES + (this.position & this.mask)) >> 2;
    // Pairs with the release in ring_publish. Loaded once.
    const size = (Atomics.load(this.peerWords, word) - 1) | 0;
    if (size === -1) {
      this.emptyTurns++;
      if (this.streak !== 0) this.#caughtUp();
      return -1;
    }
    return size < 0 || size > this.largest || this.peerWords[word + 1] !== KIND.MESSAGE ? -2 : size;
  }

  /** Is there a frame to read? For loops that only look. */
  isReady() {
    return Atomics.load(this.peerWords, (HEADER_BYTES + (this.position & this.mask)) >> 2) !== 0;
  }

  /** The ring is empty for the first time since a frame was read. */
  #caughtUp() {
    if (this.announced !== this.position) this.#announce();
    if (this.streak > STREAM_FRAMES) {
      for (let i = 0; i < BACK_OFF_LOOKS; i++) Atomics.load(this.words, READ_POSITION_WORD);
    }
    this.streak = 0;
  }

  /**
   * Store my read position where the peer sees it. It costs as much as a small copy, so this is not done for every
   * message: only when a sixteenth of the ring has been read, and when the ring is empty, so that a peer that waits for
   * room gets it in time.
   */
  #announce() {
    this.announced = this.position;
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

  /** Show the peer everything that was read. Check mustRing afterwards. */
  announceRest() {
    if (this.announced !== this.position) this.#announce();
  }

  /** Announce each frame that is read from now on? @param {boolean} yes no: as described above */
  announceEach(yes) {
    this.step = yes ? 0 : this.stride;
  }

  /** Kind of the frame that peek() found. */
  kind() {
    return this.peerWords[((HEADER_BYTES + (this.position & this.mask)) >> 2) + 1];
  }

  /** Request number of the frame that peek() found, if its kind carries one. */
  number() {
    return this.peerWords[((HEADER_BYTES + (this.position & this.mask)) >> 2) + 2];
  }

  /** Offset in peerBytes of the payload of the frame that peek() found: a multiple of 8. */
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
    } else if (target.buffer.byteLength < LARGE_BUFFER_BYTES && !isResizable(target.buffer)) {
      // Prepare the loop above for the next message: callers tend to pass the same target every time.
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
   * @param {number} to byte offset in `longs`, a multiple of 8 like `from`
   */
  copyLongs(from, size, longs, to) {
    const source = this.peerLongs;
    const whole = size >> 3;
    for (let i = 0, a = to >> 3, b = from >> 3; i < whole; i++) longs[a + i] = source[b + i];
  }

  /**
   * Move past the frame that peek() found. Check mustRing afterwards.
   * @param {number} size what peek() returned
   */
  consume(size) {
    this.position = (this.position + frameBytes(this.position, size)) | 0;
    this.streak++;
    this.messages++;
    this.payloadBytes += size;
    if (((this.position - this.announced) | 0) >= this.step) this.#announce();
  }

  /** Drop every view of the memory. */
  release() {
    this.words = this.peerWords = EMPTY_WORDS;
    this.peerLongs = EMPTY_LONGS;
    this.peerBytes = EMPTY_BYTES;
    this.target = EMPTY_BYTES;
    this.targetLongs = EMPTY_LONGS;
  }
}

module.exports = { RingReader };
