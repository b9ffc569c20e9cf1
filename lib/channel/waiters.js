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
 * @property {InstanceType<typeof Group> | null} group that it belongs to
 * @property {import('./queue.js').Entry<any> | null} place in the group
 */

/** Calls that can be ended together. @extends {Queue<import('./queue.js').Entry<Waiter>>} */
class Group extends Queue {
  /**
   * What the next of them throws, before it takes a message. ofMessage: it is about one that was taken.
   * @type {{error: unknown, ofMessage: boolean} | undefined}
   */
  failure;

  throwFailure() {
    if (this.failure === undefined) return;
    const { error } = this.failure;
    this.failure = undefined;
    throw error;
  }

  /** Likewise, if there is no next one: nobody else would learn of the message. Of the channel's end, each later call does. */
  throwLastFailure() {
    if (this.failure?.ofMessage) this.throwFailure();
  }
}

const DONE = Promise.resolve();

/** Returned by an attempt that has to keep waiting. */
const PENDING = Symbol('pending');

/** Returned by an attempt that has done nothing yet, but hooks of async_hooks may have served this call meanwhile, or ended it. */
const AGAIN = Symbol('again');

/** The attempt of a call that has been served, or has failed. It takes no message, and sends none. */
const SERVED = () => undefined;

class Waiters {
  /** @type {InstanceType<typeof Queue<Waiter>>} */ #queue = new Queue();
  /** @type {Waiter | null} */ #served = null; // its attempt is running, unless a vm timeout has ended it
  /**
   * The call that was added last. Its caller sets it to null, and its attempt to SERVED if what follows fails because the stack is full. To call a
   * function here would fail, too.
   * @type {Waiter | null}
   */
  newest = null;

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
      const waiter = { attempt, resolve, reject, cleanUp: nothing, group: null, place: null };
      this.newest = waiter;
      const entry = this.#queue.add(waiter);
      if (signal === undefined) return;
      const abort = (/** @type {unknown} */ reason) => {
        if (!this.#queue.delete(entry)) return;
        waiter.reject(reason);
        left();
      };
      try {
        waiter.cleanUp = onAbort(signal, (reason) => {
          // If decode() has aborted it, its attempt has taken a message: then it leaves the queue with that.
          if (this.#served === waiter) DONE.then(() => abort(reason));
          else abort(reason);
        });
      } catch (error) {
        waiter.attempt = SERVED;
        throw error;
      }
    });
  }

  /**
   * Adds a waiting call that endGroup() can end. It makes no closure: one for each call halved the throughput of batches().
   * @param {InstanceType<typeof Group>} group
   * @param {() => unknown} attempt
   * @returns {Promise<any>}
   */
  addTo(group, attempt) {
    return new Promise((resolve, reject) => {
      /** @type {Waiter} */
      const waiter = { attempt: SERVED, resolve, reject, cleanUp: nothing, group, place: null };
      this.newest = waiter;
      waiter.place = group.add(this.#queue.add(waiter));
      waiter.attempt = attempt; // last: the calls before it fail if the stack is full
    });
  }

  /** Ends the calls of a group with a value. @param {InstanceType<typeof Group>} group @param {unknown} value */
  endGroup(group, value) {
    for (let { first } = group; first !== null; first = group.first) {
      const waiter = first.value.value;
      group.delete(first);
      if (this.#served !== waiter && this.#queue.delete(first.value)) waiter.resolve(value); // otherwise it has taken a message
    }
  }

  /**
   * Adds a call that needs neither a promise nor a signal: a peer can make this side wait with thousands of responses.
   * @param {() => unknown} attempt
   * @param {(error: unknown) => void} fail called if the attempt throws, or by rejectAll()
   * @returns {() => boolean} takes it out of the queue; false if it is not there any more
   */
  addCall(attempt, fail) {
    const entry = this.#queue.add({
      attempt,
      resolve: nothing,
      reject: fail,
      cleanUp: nothing,
      group: null,
      place: null,
    });
    return () => this.#queue.delete(entry);
  }

  /**
   * Attempts the calls in order until one has to keep waiting.
   * @param {() => boolean} mayServe called before each attempt; false stops the loop
   */
  serve(mayServe) {
    let isAgain = false;
    while (this.#queue.size > 0 && (isAgain || mayServe())) {
      const entry = this.#queue.first; // only now: mayServe() may call hooks of async_hooks, too
      if (entry === null) return;
      isAgain = false;
      const waiter = entry.value;
      this.#served = waiter;
      try {
        waiter.group?.throwFailure();
        const value = waiter.attempt();
        if (value === PENDING) return;
        isAgain = value === AGAIN;
        if (isAgain) continue;
        waiter.attempt = SERVED; // first: what follows fails if the stack is full
        waiter.resolve(value);
      } catch (error) {
        waiter.attempt = SERVED;
        if (entry.isIn) waiter.reject(error); // otherwise the attempt has ended the channel, and rejectAll() has rejected it
      } finally {
        this.#served = null;
      }
      this.#remove(entry);
    }
  }

  /** @param {import('./queue.js').Entry<Waiter>} entry */
  #remove(entry) {
    const { group, place, cleanUp } = entry.value;
    this.#queue.delete(entry);
    if (group !== null && place !== null) group.delete(place);
    cleanUp();
  }

  /** @param {unknown} error */
  rejectAll(error) {
    for (let entry = this.#queue.first; entry !== null; entry = this.#queue.first) {
      entry.value.attempt = SERVED;
      entry.value.reject(error); // first: what follows fails if the stack is full
      this.#remove(entry);
    }
  }
}

function nothing() {}

module.exports = { Group, Waiters, AGAIN, PENDING, SERVED };
