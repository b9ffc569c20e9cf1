'use strict';
// The calls that wait for the same thing, in the order in which they were made.

/**
 * One waiting call. `attempt` returns PENDING until it has a value.
 * @typedef {object} Waiter
 * @property {() => unknown} attempt
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {() => void} cleanUp
 */

/** What an attempt returns when its time has not come. */
const PENDING = Symbol('pending');

class Waiters {
  /** @type {Set<Waiter>} in insertion order; any of them can leave at constant cost */ #queue = new Set();

  get size() {
    return this.#queue.size;
  }

  /**
   * Adds a waiting call to the queue.
   * @param {() => unknown} attempt
   * @param {AbortSignal | undefined} signal
   * @param {() => void} left called when the signal has taken the call out of the queue
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
   * Attempts the calls in order until one has to go on waiting.
   * @param {() => boolean} mayServe asked before each attempt
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
