'use strict';
// The ends of an authenticated ring: each frame carries a SipHash-2-4 tag, as in native/ring-auth.h. An ordinary channel uses
// none of this, and runs none of its checks.
//
// The writer signs a private copy of the message and then writes that copy. The reader copies the frame first and checks its
// copy; all other code of the channel then reads the copy, never the peer's memory.
const { corruptPeer } = require('./errors.js');
const { HEADER_BYTES, KIND, TAG_BYTES, frameBytes } = require('./layout.js');
const { RingReader } = require('./ring-reader.js');
const { RingWriter } = require('./ring-writer.js');
const { SipHash } = require('./siphash.js');
const turn = require('./turn.js');

const NUMBER_BYTES = 4; // of the number of a request
const PAYLOAD_BYTE = 16; // where the payload begins in the copy of a frame
const SMALLEST_COPY_BYTES = 4096;
const LARGEST_KEPT_BYTES = 2 ** 20; // of a copy, after its frame: the peer decides how large a frame is
const LOOP_COPY_BYTES = 256; // up to this size a loop copies, as in ring-reader.js

/** A private copy of one frame, as its tag covers it: the frame's number, its signal and its kind, its payload. */
class Copy {
  #hash;
  #numberLow = 0; // of the current frame: 0, 1, 2 ...
  #numberHigh = 0;
  words = new Int32Array(0);
  longs = new BigInt64Array(0);
  bytes = new Uint8Array(0);

  /** @param {ArrayLike<number>} key */
  constructor(key) {
    this.#hash = new SipHash(key);
    this.reserve(0);
  }

  /** Make room for a payload. @param {number} size */
  reserve(size) {
    const needed = PAYLOAD_BYTE + size + 8; // copies of whole words may exceed the payload
    if (needed <= this.bytes.length) return;
    const bytes =
      needed > LARGEST_KEPT_BYTES
        ? (needed + 7) & ~7
        : Math.max(SMALLEST_COPY_BYTES, 2 ** Math.ceil(Math.log2(needed)));
    const memory = new ArrayBuffer(bytes);
    this.words = new Int32Array(memory);
    this.longs = new BigInt64Array(memory);
    this.bytes = new Uint8Array(memory);
  }

  /**
   * The tag of the frame whose payload is in the copy.
   * @param {number} kind
   * @param {number} size of the payload without its tag
   */
  tag(kind, size) {
    const { words } = this;
    words[0] = this.#numberLow;
    words[1] = this.#numberHigh;
    words[2] = size + TAG_BYTES + 1; // the signal
    words[3] = kind;
    this.#hash.digest(words, PAYLOAD_BYTE + size);
    return this.#hash;
  }

  /** Give back the memory of a large payload. @returns {boolean} false if it was not large */
  shrink() {
    if (this.bytes.length <= LARGEST_KEPT_BYTES) return false;
    this.bytes = this.bytes.subarray(0, 0);
    this.reserve(0);
    return true;
  }

  /** The next frame is the current one. */
  next() {
    this.#numberLow = (this.#numberLow + 1) | 0;
    if (this.#numberLow === 0) this.#numberHigh = (this.#numberHigh + 1) | 0;
  }
}

/** The producer's end of my ring. */
class AuthRingWriter extends RingWriter {
  #copy;
  #signed = new Uint8Array(0); // the view of the copy that was written last

  /**
   * @param {import('./native.js').NativeRegion} mine
   * @param {import('./native.js').NativeRegion} peer
   * @param {ArrayLike<number>} key made by the peer
   */
  constructor(mine, peer, key) {
    super(mine, peer);
    this.#copy = new Copy(key);
  }

  /**
   * Write a frame without publishing it.
   * @override
   * @param {Uint8Array} payload
   * @param {number} kind
   * @param {number} [number] of the request, for kinds that carry one
   * @returns {boolean} false if there is no room now
   */
  write(payload, kind, number) {
    const prefix = kind === KIND.MESSAGE ? 0 : NUMBER_BYTES;
    const size = payload.length + prefix;
    if (!this.hasRoom(frameBytes(this.position, size + TAG_BYTES) + 8)) return false; // before signing in vain
    const copy = this.#copy;
    copy.reserve(size);
    copy.bytes.set(payload, PAYLOAD_BYTE + prefix);
    if (prefix) copy.words[4] = /** @type {number} */ (number);
    const { low, high } = copy.tag(kind, size);
    copy.words[2] = low; // the tag takes the place of the header in front of the payload
    copy.words[3] = high;
    if (this.#signed.length !== size + TAG_BYTES || this.#signed.buffer !== copy.bytes.buffer)
      this.#signed = copy.bytes.subarray(PAYLOAD_BYTE - TAG_BYTES, PAYLOAD_BYTE + size);
    const kindWord = ((HEADER_BYTES + (this.position & this.mask)) >> 2) + 1;
    super.write(this.#signed, KIND.MESSAGE);
    this.words[kindWord] = kind; // the frame is not published yet
    this.payloadBytes -= TAG_BYTES + prefix;
    copy.next();
    return true;
  }
}

/** The consumer's end of the peer's ring. */
class AuthRingReader extends RingReader {
  #copy;
  #checked = -1; // size of the frame in the copy, whose tag is right; -1: none
  #refused = false; // a tag was wrong. There is no second guess, even if the peer changes the frame
  #peerLongs;
  #peerBytes;

  /**
   * @param {import('./native.js').NativeRegion} mine
   * @param {import('./native.js').NativeRegion} peer
   * @param {ArrayLike<number>} key made by this side
   */
  constructor(mine, peer, key) {
    super(mine, peer);
    this.#peerLongs = this.sourceLongs;
    this.#peerBytes = this.sourceBytes;
    this.#copy = new Copy(key);
    this.#readFromCopy();
  }

  #readFromCopy() {
    this.sourceLongs = this.#copy.longs;
    this.sourceBytes = this.#copy.bytes;
  }

  /** @override @returns {number} */
  peek() {
    const bytes = this.#refused ? 0 : super.peek();
    if (bytes < 0) return bytes;
    if (this.#checked < 0 && turn.copies(bytes)) return this.peek();
    if (this.#checked < 0 && !this.#check(bytes)) throw corruptPeer('invalid tag');
    return this.#checked;
  }

  /** @override @returns {number} */
  peekMessage() {
    const bytes = this.#refused ? -2 : super.peekMessage();
    if (bytes < 0) return bytes;
    if (this.#checked < 0 && turn.copies(bytes)) return this.peekMessage();
    if (this.#checked < 0 && !this.#check(bytes)) return -2;
    return this.kind() === KIND.MESSAGE ? this.#checked : -2;
  }

  /**
   * Copy the next frame and check its tag. The peer's memory may change at any time, so only the copy is trusted.
   * @param {number} bytes its payload and its tag
   */
  #check(bytes) {
    const size = bytes - TAG_BYTES;
    if (size < 0 || this.#refused) return false;
    const copy = this.#copy;
    const at = HEADER_BYTES + (this.position & this.mask);
    const word = at >> 2;
    const from = at + PAYLOAD_BYTE; // behind the header and the tag
    if (PAYLOAD_BYTE + size + 8 > copy.bytes.length) {
      copy.reserve(size);
      this.#readFromCopy();
    }
    if (size <= LOOP_COPY_BYTES) {
      const { longs } = copy;
      const peerLongs = this.#peerLongs;
      const end = (size + 7) >> 3;
      for (let i = 0, a = PAYLOAD_BYTE >> 3, b = from >> 3; i < end; i++) longs[a + i] = peerLongs[b + i];
    } else {
      copy.bytes.set(this.#peerBytes.subarray(from, from + size), PAYLOAD_BYTE);
    }
    const { low, high } = copy.tag(this.peerWords[word + 1], size);
    this.#refused = ((low ^ this.peerWords[word + 2]) | (high ^ this.peerWords[word + 3])) !== 0;
    if (this.#refused) return false;
    this.#checked = size;
    return true;
  }

  /** @override */
  kind() {
    return this.#copy.words[3];
  }

  /** @override */
  number() {
    return this.#copy.words[4];
  }

  /** @override */
  payloadOffset() {
    return PAYLOAD_BYTE;
  }

  /** @override @param {number} size what peek() returned */
  consume(size) {
    this.#checked = -1;
    this.#copy.next();
    if (this.#copy.shrink()) this.#readFromCopy();
    super.consume(size + TAG_BYTES);
    this.payloadBytes -= TAG_BYTES;
  }

  /** @override */
  release() {
    super.release();
    this.#peerLongs = this.sourceLongs;
    this.#peerBytes = this.sourceBytes;
  }
}

module.exports = { AuthRingReader, AuthRingWriter };
