'use strict';
// What a run of the stress test does, drawn from one seed: every process draws the same plans, and knows what each message of
// each channel must be.
const MAX_SIZE = 1 << 20;
const NUMBERED_BYTES = 16; // messages of at least this size carry their channel, direction and number, and a checksum of these

/** Mixes numbers into one of 32 bits. @param {...number} parts */
function hash(...parts) {
  let h = 0x9e3779b9;
  for (const part of parts) {
    h = Math.imul(h ^ part, 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return h >>> 0;
}

/** A seeded generator of random numbers. */
class Random {
  #state;

  /** @param {...number} seed */
  constructor(...seed) {
    this.#state = hash(...seed);
  }

  /** From 0 to below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    return hash(this.#state) / 2 ** 32;
  }

  /** A whole number from 0 to below `limit`. @param {number} limit */
  below(limit) {
    return Math.floor(this.next() * limit);
  }

  /** @template T @param {T[]} choices @returns {T} */
  pick(choices) {
    return choices[this.below(choices.length)];
  }

  /** @param {number} probability */
  chance(probability) {
    return this.next() < probability;
  }
}

/** Bytes in which every message differs from every other: message bodies are parts of it. */
const bodies = Buffer.alloc(2 * MAX_SIZE);
{
  const words = new Uint32Array(bodies.buffer, bodies.byteOffset, bodies.length / 4);
  for (let i = 0; i < words.length; i++) words[i] = hash(i);
}

const DIRECTION = Object.freeze({ fromLeft: 0, fromRight: 1 });
const STREAM = Object.freeze({ messages: 0, requests: 2, responses: 4 });

/** The messages that one end sends, or its requests, or its responses: number n is the same in every process. */
class Numbered {
  #key;
  #most;
  #least;
  #seed;

  /**
   * @param {number} seed of the channel
   * @param {number} stream STREAM.… + DIRECTION.…
   * @param {number} most largest size in bytes
   * @param {number} least smallest size in bytes
   */
  constructor(seed, stream, most, least) {
    this.#seed = seed;
    this.#key = hash(seed, stream);
    this.#most = Math.min(most, MAX_SIZE);
    this.#least = least;
  }

  /** May number n be aborted? Only these may be missing at the receiver. @param {number} n */
  isAbortable(n) {
    return hash(this.#key, n, 1) % 8 === 0;
  }

  /** @param {number} n */
  #size(n) {
    const h = hash(this.#key, n, 2);
    const least = this.isAbortable(n) ? NUMBERED_BYTES : this.#least; // a missing one must not look like the next
    const range = h % 100;
    const limit = range < 80 ? 200 : range < 95 ? 5000 : range < 99 ? 65537 : this.#most + 1;
    if (h % 1000 === 999) return this.#most;
    return Math.max(least, Math.min(this.#most, hash(h) % limit));
  }

  /** @param {number} n */
  bytes(n) {
    const size = this.#size(n);
    const from = hash(this.#key, n, 3) % MAX_SIZE;
    const bytes = Buffer.from(bodies.subarray(from, from + size));
    if (size >= NUMBERED_BYTES) {
      bytes.writeUInt32LE(this.#seed >>> 0, 0);
      bytes.writeUInt32LE(this.#key, 4);
      bytes.writeUInt32LE(n, 8);
      bytes.writeUInt32LE(hash(this.#seed, this.#key, n), 12);
    }
    return bytes;
  }

  /** @param {Uint8Array} bytes @param {number} n */
  matches(bytes, n) {
    const size = this.#size(n);
    if (bytes.length !== size) return false;
    return Buffer.compare(this.bytes(n), bytes) === 0;
  }

  /** The number that these bytes carry, which only a message of some size does. @param {Uint8Array} bytes */
  numberOf(bytes) {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return view.readUInt32LE(8);
  }

  /** What a message says of itself, for the report of a failure. @param {Uint8Array} bytes */
  describe(bytes) {
    if (bytes.length < NUMBERED_BYTES) return `${bytes.length} bytes`;
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const [seed, key, n, sum] = [0, 4, 8, 12].map((at) => view.readUInt32LE(at));
    if (sum !== hash(seed, key, n)) return `${bytes.length} bytes, torn`;
    const whose =
      seed !== this.#seed ? 'of another channel' : key !== this.#key ? 'of another stream' : 'of this stream';
    return `${bytes.length} bytes, number ${n} ${whose}`;
  }
}

/**
 * @typedef {object} ChannelPlan
 * @property {string} name
 * @property {number} seed
 * @property {'path' | 'descriptor'} via
 * @property {any} left options of the left end
 * @property {any} right options of the right end
 * @property {boolean} conversation do both ends take turns?
 * @property {{by: 'left' | 'right' | 'both' | 'killed', after: number, at: 'end of an operation' | 'any moment'}} end
 */

/**
 * @typedef {object} GroupPlan
 * @property {number} seed
 * @property {number} group its number in this run
 * @property {number} rights how many processes the left one talks to
 * @property {number} channels to each of them
 * @property {'left' | 'right' | undefined} killed which side is killed
 * @property {number} messages about how many a closing end sends before it closes
 */

/** @param {GroupPlan} plan @param {number} right @param {number} channel @returns {ChannelPlan} */
function channelPlan({ seed, group, killed, messages }, right, channel) {
  const random = new Random(seed, group, right, channel);
  const options = () => {
    const wait = random.pick(['spin-then-sleep', 'spin-then-sleep', 'spin-then-sleep', 'sleep', 'spin']);
    const capacity = random.pick([65536, 65536, 65536, 1 << 17, 1 << 20]);
    return { capacity, wait, spinMicros: random.pick([50, 50, 0, 500]), sharedBuffers: random.chance(0.8) };
  };
  const conversation = channel % 4 >= 2;
  const dies = killed === 'left' || (killed === 'right' && right === 0);
  return {
    name: `group ${group}, right ${right}, channel ${channel}`,
    seed: hash(seed, group, right, channel),
    via: channel % 2 === 0 ? 'path' : 'descriptor',
    left: options(),
    right: options(),
    conversation,
    end: {
      by: dies ? 'killed' : random.pick(['left', 'right', 'both']),
      after: 1 + random.below((conversation ? 4 : 2) * messages),
      at: random.pick(['end of an operation', 'any moment']),
    },
  };
}

module.exports = { Random, Numbered, DIRECTION, STREAM, channelPlan, hash };
