'use strict';
// Answers that take longer to compute than to send. Each is kept as the bytes that are sent, so that asking for it again costs almost
// nothing.
const { CostlyWork } = require('./costly-work.js');

const MAX_KEPT_BYTES = 32 << 20; // of one Answers, together; those that were asked for the longest ago are dropped first

/** Answers by keys. A key must say all that its answer depends on, such as the stamp of a file. */
class Answers {
  #work;
  /** @type {Map<string, Buffer>} that was asked for the longest ago comes first */ #kept = new Map();
  #bytes = 0;
  /** @type {Map<string, Promise<Buffer>>} */ #coming = new Map();

  /** @param {InstanceType<typeof CostlyWork>} [work] where later() takes its turn */
  constructor(work = new CostlyWork()) {
    this.#work = work;
  }

  /** @param {string} key */
  #find(key) {
    const bytes = this.#kept.get(key);
    if (!bytes) return null;
    this.#kept.delete(key);
    this.#kept.set(key, bytes);
    return bytes;
  }

  /** The answer, computed at once if it is not kept. @param {string} key @param {() => string} compute */
  now(key, compute) {
    const found = this.#find(key);
    if (found) return found;
    const bytes = Buffer.from(compute());
    this.#kept.set(key, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of this.#kept) {
      if (this.#bytes <= MAX_KEPT_BYTES) break;
      this.#kept.delete(oldest);
      this.#bytes -= length;
    }
    return bytes;
  }

  /** The answer; if it is not kept, computed when it is its turn, once for all who wait for it. @param {string} key @param {() => string} compute */
  async later(key, compute) {
    const found = this.#find(key) ?? this.#coming.get(key);
    if (found) return found;
    const coming = this.#work.run(() => this.now(key, compute));
    this.#coming.set(key, coming);
    try {
      return await coming;
    } finally {
      this.#coming.delete(key);
    }
  }
}

const REMEMBERED_MS = 5000;

/**
 * Reading and rendering the texts takes longer than sending them, so the answers are kept for some seconds: not longer, so that
 * an author sees a change.
 * @param {(name: string) => object} describe throws for an unknown name
 */
function remember(describe) {
  /** @type {Map<string, {text: string, at: number}>} */
  const kept = new Map();
  return (/** @type {string} */ name) => {
    const found = kept.get(name);
    if (found && performance.now() - found.at < REMEMBERED_MS) return found.text;
    const text = JSON.stringify(describe(name));
    kept.set(name, { text, at: performance.now() });
    return text;
  };
}

module.exports = { Answers, MAX_KEPT_BYTES, remember };
