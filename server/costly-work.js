'use strict';
// Work of milliseconds for a request, such as reading a run file: one piece at a time. After each piece, as much time belongs to the
// other requests, so that they get half of the time, however much of such work a client asks for.
const { setTimeout: sleep } = require('node:timers/promises');
const { HttpError } = require('./http-error.js');

const MOST_REST_MS = 500; // a process that was stopped meanwhile has not worked for so long
const MOST_WAITING = 32; // one more is refused; a browser asks for six at a time

class CostlyWork {
  #waiting = 0;
  /** @type {Promise<unknown>} */ #last = Promise.resolve();

  /**
   * @template T
   * @param {() => T} work
   * @returns {Promise<T>}
   */
  async run(work) {
    if (this.#waiting >= MOST_WAITING)
      throw new HttpError(503, 'ERR_BUSY', `${MOST_WAITING} requests for large answers are waiting. Try again later.`);
    this.#waiting++;
    let tookMs = 0;
    const done = this.#last.then(() => {
      const begunAt = performance.now();
      try {
        return work();
      } finally {
        tookMs = performance.now() - begunAt;
      }
    });
    const rest = () => sleep(Math.min(tookMs, MOST_REST_MS), undefined, { ref: false }); // what waits ends with the lab
    this.#last = done.then(rest, rest); // this call's caller gets the error
    try {
      return await done;
    } finally {
      this.#waiting--;
    }
  }
}

module.exports = { CostlyWork, MOST_WAITING };
