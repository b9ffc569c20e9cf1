'use strict';
// The consumer's end of a ring in JavaScript: the reading half of native/ring.h, on the same memory, with the same protocol.
// Nothing in this file makes a system call or a Node-API call.
//
// Memory order. Atomics are sequentially consistent: each store is at least a release, each load is at least an acquire, and
// a store is never reordered after a later load. The latter is the full fence that the sleep protocol needs. Plain accesses to
// the same memory are ordered by the Atomics around them. A comment at each Atomics call names the code that it pairs with.
//
// Positions are 32-bit and wrap around. A difference of two positions, truncated to 32 bits, is the number of bytes between
// them, because a ring's capacity is at most 2^30.
// biome-ignore lint/suspicious/noShadowRestrictedNames: JavaScript's own in most runtimes, and used like them
const { Atomics, copiesPeer, wordsOf } = require('./atomics.js');
const { corruptPeer } = require('./errors.js');
const {
  HEADER_BYTES,
  KIND,
  READ_POSITION_WORD,
  WAITING_FOR_ROOM_WORD,
  frameBytes,
  maxMessage,
} = require('./layout.js');
const { CLOSED, errorOf } = require('./life.js');
const { EMPTY_RING, SPARE_WORDS } = require('./released.js');

// Up to this size, a loop copies eight bytes at a time. For small copies, creating the subarray that set() needs takes longer
// than copying.
// BigInt64Array keeps every bit; Float64Array is as fast but may change the bits of a NaN.
const LOOP_COPY_BYTES = 256;
const LARGE_BUFFER_BYTES = 2 ** 31; // offsets into larger buffers do not fit into a signed 32-bit integer
// A reader that finds the ring empty after reading more than this many frames in a row has caught up with a busy writer. It
// backs off for a few microseconds (see ring_back_off in native/ring.h).
const STREAM_FRAMES = 2;
const BACK_OFF_LOOKS = copiesPeer ? 50 : 2000; // through the addon, a load takes longer

const EMPTY_BYTES = new Uint8Array(0);
const EMPTY_LONGS = new BigInt64Array(0);

/** Can the buffer change its length between two messages, and the views of it as well? @param {ArrayBufferLike} buffer */
const isResizable = (buffer) => /** @type {any} */ (buffer).resizable || /** @type {any} */ (buffer).growable;

/** The consumer's end of the peer's ring. The peer's region is mapped read-only in this process. */
class RingReader {
  /**
   * @param {import('./native.js').NativeRegion} mine
   * @param {import('./native.js').NativeRegion} peer
   */
  constructor(mine, peer) {
    this.words = wordsOf(mine);
    this.peerWords = wordsOf(peer);
    // Where payloads are copied from: the peer's region, or the checked copy of an AuthRingReader.
    /** @type {BigInt64Array<ArrayBufferLike>} */
    this.sourceLongs = new BigInt64Array(peer.buffer);
    /** @type {Uint8Array<ArrayBufferLike>} */
    this.sourceBytes = new Uint8Array(peer.buffer);
    this.mask = peer.capacity - 1;
    this.largest = maxMessage(peer.capacity); // -1 while no frame may be read: see suspend() and endsHere()
    this.suspended = false;
    this.ended = false; // the peer can write no more
    this.endedAt = 0; // the read position when the peer's end was noticed
    this.stride = peer.capacity >> 4;
    this.step = this.stride; // bytes read before the read position is announced
    this.peerMaySleep = !peer.neverSleeps;
    this.position = 0; // of the next frame to read
    this.announced = 0; // the read position that the peer can see
    this.owes = true; // what is read will be announced soon: see willRead()
    this.owe = () => {}; // sees to that; set by the connection
    this.streak = 0; // frames read in a row since the ring was last empty
    this.emptyAt = 0; // the read position at that time, or when the peer was checked since
    this.rung = 0; // the peer's waiting count when its doorbell was last rung
    this.mustRing = false; // the peer is sleeping until there is room, and a read has made room
    this.messages = 0;
    this.payloadBytes = 0;
    this.emptyTurns = 0;
    /** @type {Uint8Array} the target of the last copy. The next two fields: its offset in its buffer, and that buffer as 8-byte words */
    this.target = EMPTY_BYTES;
    this.targetStart = 0;
    /** @type {BigInt64Array<ArrayBufferLike>} */
    this.targetLongs = EMPTY_LONGS;
  }

  /** Size of the next frame's payload in bytes, or -1 if the ring is empty. */
  peek() {
    // Pairs with the release in ring_publish. Load it only once: the peer may change it after the checks.
    const signal = Atomics.load(this.peerWords, (HEADER_BYTES + (this.position & this.mask)) >> 2);
    if (signal === 0) {
      this.emptyTurns++;
      if (this.streak !== 0) this.#caughtUp();
      return -1;
    }
    const size = (signal - 1) | 0;
    if (size < 0 || size > this.largest) throw this.#invalidSize(signal);
    return size;
  }

  /** @param {number} signal */
  #invalidSize(signal) {
    if (this.largest < 0) return corruptPeer('it left more messages than its ring can hold');
    return corruptPeer(`invalid frame size ${signal >>> 0}`);
  }

  /** A faster peek() for plain messages. Returns -2 for any other frame, including invalid ones: then use peek() and kind(). */
  peekMessage() {
    const word = (HEADER_BYTES + (this.position & this.mask)) >> 2;
    // Pairs with the release in ring_publish. Load it only once, because the peer may change it.
    const size = (Atomics.load(this.peerWords, word) - 1) | 0;
    if (size === -1) {
      this.emptyTurns++;
      if (this.streak !== 0) this.#caughtUp();
      return -1;
    }
    return size < 0 || size > this.largest || this.peerWords[word + 1] !== KIND.MESSAGE ? -2 : size;
  }

  /** Is there a frame to read? For polling loops: no checks and no side effects. */
  isReady() {
    return Atomics.load(this.peerWords, (HEADER_BYTES + (this.position & this.mask)) >> 2) !== 0;
  }

  /** Called when the ring is found empty for the first time since a frame was read. */
  #caughtUp() {
    if (this.announced !== this.position) this.#announce();
    if (this.streak > STREAM_FRAMES) {
      for (let i = 0; i < BACK_OFF_LOOKS; i++) Atomics.load(this.words, READ_POSITION_WORD);
    }
    this.streak = 0;
    this.emptyAt = this.position;
  }

  /**
   * This side has sent something. If each frame read is followed by one that is sent, the two sides talk to each other, and the
   * reader must not back off, even if it found the ring empty for the first time in many frames.
   */
  answered() {
    if (this.streak > 1) this.streak = 1;
  }

  /**
   * Store the read position in my region, where the peer can see it. The store takes as long as a small copy, so it is not
   * done for every message. It is done after every sixteenth of the ring, when the ring is found empty, and soon after the last
   * message, so that a peer waiting for room always gets it, and after each frame while announceEach() is on.
   */
  #announce(position = this.position) {
    if (this.#hasReadAll(position)) this.largest = -1;
    // Pairs with the acquire in ring_room: the payloads were copied before this store.
    Atomics.store(this.words, READ_POSITION_WORD, position);
    this.announced = position;
    if (!this.peerMaySleep) return;
    // Ordered after the store above. Pairs with the fence in ring_begin_waiting.
    const count = Atomics.load(this.peerWords, WAITING_FOR_ROOM_WORD);
    if ((count & 1) !== 0 && count !== this.rung) {
      this.rung = count;
      this.mustRing = true;
    }
  }

  /** Announce the read position if the peer does not have it yet. Check mustRing afterwards. */
  announceRest() {
    if (this.announced !== this.position) this.#announce();
  }

  /** Set whether consume() announces the read position after every frame. @param {boolean} yes false: after every sixteenth */
  announceEach(yes) {
    this.step = yes || this.ended ? 0 : this.stride;
  }

  /**
   * The peer has closed or died. An honest peer has left at most one full ring of frames. After that many bytes, any further
   * frame is invalid: without this limit, a peer that still writes to its memory would keep this side reading forever.
   */
  endsHere() {
    this.ended = true;
    this.endedAt = this.position;
    this.step = 0; // check after every frame
  }

  /** Has everything been read that an honest peer can have left? */
  #hasReadAll(position = this.position) {
    return this.ended && ((position - this.endedAt) | 0) > this.mask;
  }

  /** Make the ring look empty to Arrivals, and never ready for the fast paths, while a frame is read in place. */
  suspend() {
    this.suspended = true;
    this.largest = -1;
  }

  resume() {
    this.suspended = false;
    this.largest = this.#hasReadAll() ? -1 : maxMessage(this.mask + 1);
  }

  /** The kind of the frame that peek() found. */
  kind() {
    return this.peerWords[((HEADER_BYTES + (this.position & this.mask)) >> 2) + 1];
  }

  /** The request number in the frame that peek() found. Only for kinds that carry one. */
  number() {
    return this.peerWords[((HEADER_BYTES + (this.position & this.mask)) >> 2) + 2];
  }

  /** The offset in sourceBytes of the payload that peek() found. It is a multiple of 8. */
  payloadOffset() {
    return HEADER_BYTES + (this.position & this.mask) + 8;
  }

  /**
   * Copy `size` bytes of sourceBytes.
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
        for (let i = size & ~7; i < size; i++) target[offset + i] = this.sourceBytes[from + i];
        return;
      }
    } else if (target.buffer.byteLength < LARGE_BUFFER_BYTES && !isResizable(target.buffer)) {
      // Prepare the loop above for the next message: callers usually pass the same target again.
      this.targetLongs = new BigInt64Array(target.buffer, 0, target.buffer.byteLength >> 3);
      this.targetStart = target.byteOffset;
      this.target = target;
    }
    target.set(this.sourceBytes.subarray(from, from + size), offset);
  }

  /**
   * Copy the complete 8-byte words of `size` bytes; the last `size % 8` bytes are not copied.
   * @param {number} from bytes
   * @param {number} size
   * @param {BigInt64Array} longs
   * @param {number} to byte offset in `longs`, a multiple of 8 like `from`
   */
  copyLongs(from, size, longs, to) {
    const source = this.sourceLongs;
    const whole = size >> 3;
    for (let i = 0, a = to >> 3, b = from >> 3; i < whole; i++) longs[a + i] = source[b + i];
  }

  /**
   * Move past the frame that peek() found. Check mustRing afterwards.
   * @param {number} size what peek() returned
   */
  consume(size) {
    const position = (this.position + frameBytes(this.position, size)) | 0;
    // First: this call fails if the stack is full, and then the frame was not read.
    if (((position - this.announced) | 0) >= this.step || !this.owes) this.#announce(position);
    this.position = position;
    this.streak++;
    this.messages++;
    this.payloadBytes += size;
  }

  /**
   * Call this before looking for a frame that consume() will move past. It starts a timer, and hooks of async_hooks may then use this
   * channel: they must not while a frame is being read. If a frame comes between this call and the look, consume() announces it.
   */
  willRead() {
    if (!this.owes && this.isReady()) this.owe();
  }

  /** Drop every view of the memory. */
  release() {
    this.words = SPARE_WORDS;
    this.peerWords = EMPTY_RING;
    this.mask = 0;
    this.sourceLongs = EMPTY_LONGS;
    this.sourceBytes = EMPTY_BYTES;
    this.target = EMPTY_BYTES;
    this.targetLongs = EMPTY_LONGS;
    this.consume = throwClosed; // what was being copied is nothing
  }
}

/** @returns {never} */
function throwClosed() {
  throw errorOf(CLOSED);
}

module.exports = { RingReader };
