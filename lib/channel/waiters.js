'use strict';
// A queue of calls that wait for the same condition, in the order in which they were made.

/**
 * One waiting call. `attempt` returns PENDING until it has a value.
 * @typedef {object} Waiter
 * @property {() => unknown} attempt
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {() => void} cleanUp
 */

/** Returned by an attempt that has to keep waiting. */
const PENDING = Symbol('pending');

class Waiters {
  /** @type {Set<Waiter>} in insertion order; removal takes constant time */ #queue = new Set();

  get size() {
    return this.#queue.size;
  }

  /**
   * Adds a waiting call to the queue.
   * @param {() => unknown} attempt
   * @param {AbortSignal | undefined} signal
   * @param {() => void} left called after the signal has removed the call from the queue
   * @returns {Promise<any>}
   */
  add(attempt, signal, left) {
    return new Promise((resolve, reject) => {
      /** @type {Waiter} */
      const waiter = { attempt, resolve, reject, cleanUp: nothing };
      this.#queue.add(waiter);
      if (signal === undefined) return;
      const abort = () => {
        this.#queue.delete(waiter);
        reject(signal.reason);
        left();
      };
      waiter.cleanUp = () => signal.removeEventListener('abort', abort);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  /**
   * Attempts the calls in order until one has to keep waiting.
   * @param {() => boolean} mayServe called before each attempt; false stops the loop
   */
  serve(mayServe) {
    for (const waiter of this.#queue) {
      if (!mayServe()) return;
      try {
        const value = waiter.attempt();
        if (value === PENDING) return;
        waiter.resolve(value);
      } catch (error) {
        waiter.reject(error);
      }
      this.#queue.delete(waiter);
      waiter.cleanUp();
    }
  }

  /** @param {unknown} error */
  rejectAll(error) {
    for (const waiter of this.#queue) {
      this.#queue.delete(waiter);
      waiter.cleanUp();
      waiter.reject(error);
    }
  }
}

function nothing() {}

module.exports = { Waiters, PENDING };
