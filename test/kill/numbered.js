'use strict';
// Numbered messages: the JavaScript half of numbered.h. The bytes of a message follow from its seed and its number. Sizes go
// from 16 to 40,015 bytes, so that messages cross the end of the smallest ring in every way.
const HEADER = 16; // bytes: seed, number, size, check
const LARGEST = 40016;
const OFFSETS = 16384;
const LAST_SEED = 0x6c617374; // of the messages by which a peer says that it will close

/** @param {number} x */
function hash(x) {
  let h = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

const bodies = Buffer.alloc(OFFSETS + LARGEST);
for (let i = 0; i < bodies.length; i++) bodies[i] = hash(i);

/** @param {number} seed @param {number} number @returns {Buffer} */
function numbered(seed, number) {
  const key = hash(seed ^ hash(number));
  const most = key % 32 === 0 ? 40000 : key % 32 < 4 ? 4000 : 200;
  const size = HEADER + ((key >>> 5) % most);
  const bytes = Buffer.allocUnsafe(size);
  [seed, number, size, hash(key + size)].forEach((word, at) => {
    bytes.writeUInt32LE(word >>> 0, 4 * at);
  });
  bodies.copy(bytes, HEADER, hash(key) % OFFSETS, (hash(key) % OFFSETS) + size - HEADER);
  return bytes;
}

/** Checks that messages arrive complete, once and in order; then, perhaps, the messages that say that the peer closes. */
class Sequence {
  #seed;
  count = 0;
  lastWords = 0;
  /** @type {string | null} the first fault */
  fault = null;

  /** @param {number} seed */
  constructor(seed) {
    this.#seed = seed;
  }

  /** @param {Uint8Array} bytes */
  take(bytes) {
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const isLast = this.lastWords > 0 || (message.length >= HEADER && message.readUInt32LE(0) === LAST_SEED);
    const expected = isLast ? numbered(LAST_SEED, this.lastWords) : numbered(this.#seed, this.count);
    const found = message.length < HEADER ? '' : ` that starts with ${message.subarray(0, HEADER).toString('hex')}`;
    if (!message.equals(expected))
      this.fault ??= `message ${this.count}: expected ${expected.length} bytes, got ${message.length}${found}`;
    if (isLast) this.lastWords++;
    else if (!this.fault) this.count++;
  }
}

module.exports = { numbered, Sequence, LAST_SEED, LARGEST, hash };
