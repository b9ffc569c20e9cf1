'use strict';
// The memory of an iterator with the option reuse: the next messages take the place of the last ones. Where a message has the
// place and the size of an earlier one, its Buffer is used again, too: creating one takes longer than copying a small message.
const { FastBuffer, LOOP_COPY_BYTES, copyToOwn, newMemory } = require('./slab.js');
const turn = require('./turn.js');

class ReusedSlab {
  #memory;
  #bytes;
  #longs;
  #used = 0; // bytes that hold messages
  #count = 0; // messages in them
  // By index in the slab: the Buffers, and where each one starts and its size. Asking a Buffer for these takes longer.
  /** @type {Buffer[]} */ #buffers = [];
  /** @type {number[]} */ #starts = [];
  /** @type {number[]} */ #sizes = [];

  /** @param {number} bytes size of the memory. It never grows, no matter what the peer sends */
  constructor(bytes) {
    this.#memory = newMemory(bytes);
    this.#bytes = new Uint8Array(this.#memory);
    this.#longs = new BigInt64Array(this.#memory);
  }

  /** The caller no longer uses any earlier message. */
  clear() {
    this.#used = 0;
    this.#count = 0;
  }

  /**
   * Copy the payload of the frame that the reader's peek() found. A message that does not fit gets its own memory.
   * @param {InstanceType<typeof import('./ring-reader.js').RingReader>} reader
   * @param {number} from offset of the payload in sourceBytes
   * @param {number} size of the payload
   * @returns {Buffer}
   */
  copy(reader, from, size) {
    const start = this.#used;
    const padded = (size + 7) & ~7;
    // byteLength is 0 after the memory has been transferred (ArrayBuffer.prototype.transfer).
    if (start + padded >= this.#longs.length * 8) return copyToOwn(reader, from, size, 0);
    if (size <= LOOP_COPY_BYTES) {
      reader.copyLongs(from, padded, this.#longs, start);
    } else {
      turn.copies(size);
      this.#bytes.set(reader.sourceBytes.subarray(from, from + size), start);
    }
    const index = this.#count;
    this.#used = start + padded;
    this.#count = index + 1;
    if (index < this.#buffers.length && this.#starts[index] === start && this.#sizes[index] === size)
      return this.#buffers[index];
    this.#starts[index] = start;
    this.#sizes[index] = size;
    this.#buffers[index] = new FastBuffer(this.#memory, start, size);
    return this.#buffers[index];
  }
}

module.exports = { ReusedSlab };
