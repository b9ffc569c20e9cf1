'use strict';
// The promises of an actor, each of which must settle. One that has not settled after 30 ticks of a timer of one second is a
// failure. Ticks are counted, not time, so that a process that gets no processor time is not blamed.
const TICK_MS = 1000;
const MOST_TICKS = 30;

class Promises {
  /** @type {Map<number, {what: string, ticks: number}>} */ #pending = new Map();
  #count = 0;
  #timer;

  /** @param {(what: string) => void} onStuck */
  constructor(onStuck) {
    this.#timer = setInterval(() => {
      for (const entry of this.#pending.values()) {
        if (++entry.ticks > MOST_TICKS) return onStuck(`${entry.what} has not settled after ${MOST_TICKS} s`);
      }
    }, TICK_MS);
    this.#timer.unref(); // only the channels keep the actor alive
  }

  /** @template T @param {Promise<T>} promise @param {string} what */
  track(promise, what) {
    const id = this.#count++;
    this.#pending.set(id, { what, ticks: 0 });
    const settled = () => this.#pending.delete(id);
    promise.then(settled, settled);
    return promise;
  }

  stop() {
    clearInterval(this.#timer);
  }

  toString() {
    return [...this.#pending.values()].map(({ what, ticks }) => `${what} (${ticks} s)`).join(', ') || 'none';
  }
}

module.exports = { Promises };
