'use strict';
// Moves what arrives from the socket into the copy of the peer's region. The peer is not trusted: each record is checked before
// anything is stored, and a frame must fit into the room that this side has announced. So the peer fills one ring and no more.
// What arrives counts toward the budget of a turn: a peer that sends as fast as it can must not delay timers and other channels.
const { corruptPeer } = require('../channel/errors.js');
const {
  CLOSED_WORD,
  FRAME_HEADER_BYTES,
  HEADER_BYTES,
  KIND,
  READ_POSITION_WORD,
  frameBytes,
  maxMessage,
} = require('../channel/layout.js');
const { copies, take: takeFromTurn } = require('../channel/turn.js');
const { RECORD, RECORD_BYTES } = require('./wire.js');

const NO_BYTES = new Uint8Array(0);
const NO_WORDS = new Int32Array(0);

class Receiver {
  #words; // of the copy of the peer's region
  #bytes;
  #mine; // words of my own region
  #acceptRead;
  #capacity;
  #record = Buffer.alloc(RECORD_BYTES);
  #recordBytes = 0; // of the record that have arrived
  #position = 0; // of the frame that is arriving, or of the next one
  #to = 0; // where the rest of its payload goes
  #left = -1; // bytes of it; -1: no frame is arriving
  #size = 0; // of its payload
  #kind = 0;
  isClosed = false; // the peer has closed its end; nothing follows

  /**
   * @param {import('./memory.js').Memory} mine
   * @param {import('./memory.js').Memory} peer
   * @param {(read: number) => boolean} acceptRead can this be the peer's read position?
   */
  constructor(mine, peer, acceptRead) {
    this.#mine = new Int32Array(mine.buffer);
    this.#words = new Int32Array(peer.buffer);
    this.#bytes = new Uint8Array(peer.buffer);
    this.#capacity = peer.capacity;
    this.#acceptRead = acceptRead;
  }

  /**
   * Take what has arrived, until the budget of this turn is spent. Throws ERR_PEER_CORRUPT.
   * @param {Buffer} bytes
   * @returns {number} how many bytes were taken
   */
  take(bytes) {
    let at = 0;
    while (at < bytes.length) {
      if (this.isClosed) return bytes.length; // nothing may follow
      if (!takeFromTurn()) break;
      at += this.#left >= 0 ? this.#takePayload(bytes, at) : this.#takeRecord(bytes, at);
    }
    return at;
  }

  /** Nothing more will be taken: drop the memory. */
  release() {
    this.#words = this.#mine = NO_WORDS;
    this.#bytes = NO_BYTES;
    this.isClosed = true;
  }

  /** @param {Buffer} bytes @param {number} at @returns {number} how many were taken */
  #takeRecord(bytes, at) {
    if (this.#recordBytes === 0 && bytes.length - at >= RECORD_BYTES) {
      this.#begin(bytes.readInt32LE(at), bytes.readInt32LE(at + 4));
      return RECORD_BYTES;
    }
    const size = Math.min(RECORD_BYTES - this.#recordBytes, bytes.length - at);
    bytes.copy(this.#record, this.#recordBytes, at, at + size);
    this.#recordBytes += size;
    if (this.#recordBytes === RECORD_BYTES) {
      this.#recordBytes = 0;
      this.#begin(this.#record.readInt32LE(0), this.#record.readInt32LE(4));
    }
    return size;
  }

  /** @param {number} value @param {number} kind */
  #begin(value, kind) {
    if (kind >= 0 && kind <= KIND.REFUSAL) return this.#beginFrame(value, kind);
    if (kind === RECORD.READ) {
      if (!this.#acceptRead(value)) throw corruptPeer(`invalid read position ${value >>> 0}`);
      Atomics.store(this.#words, READ_POSITION_WORD, value);
    } else if (kind === RECORD.CLOSED) {
      this.isClosed = true;
      Atomics.store(this.#words, CLOSED_WORD, 1);
    } else {
      throw corruptPeer(`invalid frame kind ${kind}`);
    }
  }

  /** @param {number} size @param {number} kind */
  #beginFrame(size, kind) {
    if (size < 0 || size > maxMessage(this.#capacity)) throw corruptPeer(`invalid frame size ${size >>> 0}`);
    const used = (this.#position - Atomics.load(this.#mine, READ_POSITION_WORD)) | 0;
    // 8 more bytes for the end mark, as in RingWriter.write().
    if (this.#capacity - used < frameBytes(this.#position, size) + 8)
      throw corruptPeer(`it sent a frame of ${size} bytes into a ring without room for it`);
    this.#to = HEADER_BYTES + (this.#position & (this.#capacity - 1)) + FRAME_HEADER_BYTES;
    this.#left = this.#size = size;
    this.#kind = kind;
    if (size === 0) this.#publish();
  }

  /** @param {Buffer} bytes @param {number} at @returns {number} how many were taken */
  #takePayload(bytes, at) {
    const size = Math.min(this.#left, bytes.length - at);
    copies(size);
    this.#bytes.set(bytes.subarray(at, at + size), this.#to);
    this.#to += size;
    this.#left -= size;
    if (this.#left === 0) this.#publish();
    return size;
  }

  /** The frame is complete. */
  #publish() {
    const mask = this.#capacity - 1;
    const word = (HEADER_BYTES + (this.#position & mask)) >> 2;
    this.#position = (this.#position + frameBytes(this.#position, this.#size)) | 0;
    this.#words[(HEADER_BYTES + (this.#position & mask)) >> 2] = 0; // the end mark
    this.#words[word + 1] = this.#kind;
    Atomics.store(this.#words, word, this.#size + 1);
    this.#left = -1;
  }
}

module.exports = { Receiver };
