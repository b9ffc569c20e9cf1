'use strict';
// A queue of calls that wait for the same condition, in the order in which they were made.
const { Queue } = require('./queue.js');
const { onAbort } = require('./signals.js');

/**
 * One waiting call. `attempt` returns PENDING until it has a value.
 * @typedef {object} Waiter
 * @property {() => unknown} attempt
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {() => void} cleanUp
 */

const DONE = Promise.resolve();

/** Returned by an attempt that has to keep waiting. */
const PENDING = Symbol('pending');

class Waiters {
  /** @type {InstanceType<typeof Queue<Waiter>>} */ #queue = new Queue();
  /** @type {Waiter | null} */ #served = null; // its attempt is running, unless a vm timeout has ended it

  get size() {
    return this.#queue.size;
  }

  /**
   * Adds a waiting call to the queue.
   * @param {() => unknown} attempt
   * @param {AbortSignal | undefined} signal
   * @param {() => void} left called after the signal or `ends` has removed the call from the queue
   * @param {Set<(value: any) => void>} [ends] while the call waits, it has a function that ends the call with a value
   * @returns {Promise<any>}
   */
  add(attempt, signal, left, ends = undefined) {
    return new Promise((resolve, reject) => {
      /** @type {Waiter} */
      const waiter = { attempt, resolve, reject, cleanUp: nothing };
      const entry = this.#queue.add(waiter);
      if (ends !== undefined) {
        const end = (/** @type {any} */ value) => {
          ends.delete(end);
          if (this.#served === waiter || !this.#queue.delete(entry)) return; // its attempt has taken a message
          resolve(value);
          left();
        };
        ends.add(end);
        waiter.cleanUp = () => ends.delete(end);
        return;
      }
      if (signal === undefined) return;
      const abort = (/** @type {unknown} */ reason) => {
        if (!this.#queue.delete(entry)) return;
        reject(reason);
        left();
      };
      waiter.cleanUp = onAbort(signal, (reason) => {
        // If decode() has aborted it, its attempt has taken a message: then it leaves the queue with that.
        if (this.#served === waiter) DONE.then(() => abort(reason));
        else abort(reason);
      });
    });
  }

  /**
   * Adds a call that needs neither a promise nor a signal: a peer can make this side wait with thousands of responses.
   * @param {() => unknown} attempt
   * @param {(error: unknown) => void} fail called if the attempt throws, or by rejectAll()
   * @returns {() => boolean} takes it out of the queue; false if it is not there any more
   */
  addCall(attempt, fail) {
    const entry = this.#queue.add({ attempt, resolve: nothing, reject: fail, cleanUp: nothing });
    return () => this.#queue.delete(entry);
  }

  /**
   * Attempts the calls in order until one has to keep waiting.
   * @param {() => boolean} mayServe called before each attempt; false stops the loop
   */
  serve(mayServe) {
    for (let entry = this.#queue.first; entry !== null; entry = this.#queue.first) {
      if (!mayServe()) return;
      const waiter = entry.value;
      this.#served = waiter;
      try {
        const value = waiter.attempt();
        if (value === PENDING) return;
        waiter.resolve(value);
      } catch (error) {
        if (entry.isIn) waiter.reject(error); // otherwise the attempt has ended the channel, and rejectAll() has rejected it
      } finally {
        this.#served = null;
      }
      this.#queue.delete(entry);
      waiter.cleanUp();
    }
  }

  /** @param {unknown} error */
  rejectAll(error) {
    for (let entry = this.#queue.first; entry !== null; entry = this.#queue.first) {
      this.#queue.delete(entry);
      entry.value.cleanUp();
      entry.value.reject(error);
    }
  }
}

function nothing() {}

module.exports = { Waiters, PENDING };
