'use strict';
// A queue whose members can also be removed from its middle, in constant time. Not a Set or a Map: V8 keeps the place of a removed
// entry for a while, and each search for the first entry passes over these places, up to three times as many as there are entries.

/** @template T @typedef {{value: T, before: Entry<T> | null, after: Entry<T> | null, isIn: boolean}} Entry */

/** @template T */
class Queue {
  /** @type {Entry<T> | null} */ #first = null;
  /** @type {Entry<T> | null} */ #last = null;
  size = 0;

  /** The entry at the front. @returns {Entry<T> | null} */
  get first() {
    return this.#first;
  }

  /** @param {T} value @returns {Entry<T>} to remove it with */
  add(value) {
    /** @type {Entry<T>} */
    const entry = { value, before: this.#last, after: null, isIn: true };
    if (this.#last === null) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    this.size++;
    return entry;
  }

  /** @param {Entry<T>} entry @returns {boolean} false if it was removed before */
  delete(entry) {
    if (!entry.isIn) return false;
    const { before, after } = entry;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    entry.isIn = false;
    entry.before = entry.after = null; // one that is kept must not keep others
    this.size--;
    return true;
  }
}

module.exports = { Queue };
