'use strict';
// Allocates the memory for received messages. Small messages are slices of a shared slab, which is much faster than one
// allocation per message. No two messages overlap, so each receiver can modify its message.

const { Buffer } = require('node:buffer');
const { markAsUntransferable } = require('node:worker_threads');
const turn = require('./turn.js');

const SLAB_BYTES = 64 * 1024;
const LOOP_COPY_BYTES = 1024; // larger messages get their own memory

/** @type {new (memory: ArrayBuffer, offset: number, length: number) => Buffer} */
const FastBuffer = findFastBuffer();

/**
 * Find Node's internal constructor for a Buffer on part of an ArrayBuffer, which takes a third of the time of Buffer.from().
 * Node exposes it as Buffer[Symbol.species]. The fallback for other runtimes is Buffer.from().
 */
function findFastBuffer() {
  const species = /** @type {any} */ (Buffer)[Symbol.species];
  if (typeof species === 'function' && species.prototype === Buffer.prototype) return species;
  return /** @type {any} */ (
    function fromMemory(/** @type {ArrayBuffer} */ memory, /** @type {number} */ offset, /** @type {number} */ length) {
      return Buffer.from(memory, offset, length);
    }
  );
}

/**
 * Memory for messages.
 * @param {number} bytes
 */
function newMemory(bytes) {
  const memory = /** @type {ArrayBuffer} */ (Buffer.allocUnsafeSlow(bytes).buffer); // not zeroed: it will be overwritten
  markAsUntransferable(memory); // transferring one message to a worker must not detach the others
  return memory;
}

/**
 * Copy a payload to its own memory. The parameters are those of Slab.copy().
 * @param {InstanceType<typeof import('./ring-reader.js').RingReader>} reader
 * @param {number} from
 * @param {number} size
 * @param {number} skip
 * @returns {Buffer}
 */
function copyToOwn(reader, from, size, skip) {
  turn.copies(size);
  const own = Buffer.allocUnsafeSlow(size - skip);
  own.set(reader.sourceBytes.subarray(from + skip, from + size));
  return own;
}

class Slab {
  #memory = new ArrayBuffer(0);
  #longs = new BigInt64Array(0);
  #used = 0;
  #size = 0; // of the last payload copied here, and the bytes skipped
  #skip = 0;
  /** @type {Buffer | null} prepare() made it for the next payload */ #prepared = null;

  /**
   * Copy the payload of the frame that the reader's peek() found.
   * @param {InstanceType<typeof import('./ring-reader.js').RingReader>} reader
   * @param {number} from offset of the payload in sourceBytes
   * @param {number} size of the payload, including the skipped bytes
   * @param {number} skip bytes at its start that are not part of the result
   * @returns {Buffer}
   */
  copy(reader, from, size, skip) {
    if (size > LOOP_COPY_BYTES || (from & 7) !== 0) return copyToOwn(reader, from, size, skip);
    const padded = (size + 7) & ~7;
    const prepared = this.#prepared;
    this.#prepared = null; // first: if a vm timeout ends this call, it must not be used for another payload
    let start = this.#used;
    // A receiver may have transferred the memory of its message (ArrayBuffer.prototype.transfer): then there is none left.
    if (start + padded >= this.#longs.length * 8) {
      this.#memory = newMemory(SLAB_BYTES);
      this.#longs = new BigInt64Array(this.#memory);
      start = 0;
    } else if (prepared !== null && size === this.#size && skip === this.#skip) {
      this.#used = start + padded;
      reader.copyLongs(from, padded, this.#longs, start);
      return prepared;
    }
    this.#size = size;
    this.#skip = skip;
    this.#used = start + padded;
    reader.copyLongs(from, padded, this.#longs, start);
    return new FastBuffer(this.#memory, start + skip, size - skip);
  }

  /**
   * Make the Buffer that the next copy() returns if its payload has the same size as the last one. For a caller that is about to
   * poll: the Buffer is not made after the message has arrived, when the peer may be waiting for the answer.
   * @returns {Buffer | null} null if there is no room left
   */
  prepare() {
    if (this.#prepared !== null) return this.#prepared;
    const start = this.#used;
    if (start + ((this.#size + 7) & ~7) >= this.#longs.length * 8) return null;
    this.#prepared = new FastBuffer(this.#memory, start + this.#skip, this.#size - this.#skip);
    return this.#prepared;
  }
}

module.exports = { FastBuffer, LOOP_COPY_BYTES, Slab, copyToOwn, newMemory };
