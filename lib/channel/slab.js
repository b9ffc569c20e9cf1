'use strict';
// The memory that received messages are copied to. Small messages share a slab, which costs far less than memory of their
// own; each still belongs to its receiver, and no two overlap.

const SLAB_BYTES = 64 * 1024;
const LARGEST_IN_SLAB = 1024;

/** @type {new (memory: ArrayBuffer, offset: number, length: number) => Buffer} */
const FastBuffer = findFastBuffer();

/**
 * Buffer's own constructor for a part of an ArrayBuffer: it takes a third of the time of Buffer.from(). Node gives it out as
 * Buffer's species. Where a runtime does not, Buffer.from() does the same.
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

class Slab {
  #memory = new ArrayBuffer(0);
  #longs = new BigInt64Array(0);
  #used = SLAB_BYTES + 1; // no room: the first copy allocates

  /**
   * A copy of the payload of the frame that the reader's peek() found.
   * @param {InstanceType<typeof import('./ring-reader.js').RingReader>} reader
   * @param {number} from offset of the first byte
   * @param {number} size
   * @param {number} skip bytes at its start that the copy leaves out
   * @returns {Buffer}
   */
  copy(reader, from, size, skip) {
    if (size > LARGEST_IN_SLAB || (from & 7) !== 0) {
      const own = Buffer.allocUnsafeSlow(size - skip);
      own.set(reader.peerBytes.subarray(from + skip, from + size));
      return own;
    }
    const padded = (size + 7) & ~7;
    let start = this.#used;
    if (start + padded > SLAB_BYTES) {
      this.#memory = /** @type {ArrayBuffer} */ (Buffer.allocUnsafeSlow(SLAB_BYTES).buffer); // not zeroed: it will be overwritten
      this.#longs = new BigInt64Array(this.#memory);
      start = 0;
    }
    this.#used = start + padded;
    reader.copyLongs(from, padded, this.#longs, start);
    return new FastBuffer(this.#memory, start + skip, size - skip);
  }
}

module.exports = { Slab };
