'use strict';
// Compares runs for the lab's page. The statistics of large runs take seconds, so they are computed in a thread of their own, one
// comparison at a time, while the server goes on serving.
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { HttpError } = require('./http-error.js');

const WORKER = join(__dirname, 'comparison-worker.js');
const MOST_WAITING = 16;

/** @typedef {import('../lib/bench/runner.js').Run} Run */
/** @typedef {import('../lib/bench/compare/runs.js').Comparison} Comparison */

/** @param {Run} a @param {Run} b @param {AbortSignal} disconnected @returns {Promise<Comparison | null>} null: aborted */
function compareInWorker(a, b, disconnected) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: { a, b } });
    const stop = () => worker.terminate();
    disconnected.addEventListener('abort', stop);
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', () => {
      disconnected.removeEventListener('abort', stop);
      resolve(null); // unless there was a message
    });
  });
}

class Comparisons {
  #waiting = 0;
  /** @type {Promise<unknown>} */ #last = Promise.resolve();

  /**
   * @param {Run} a the baseline
   * @param {Run} b the candidate
   * @param {AbortSignal} disconnected aborted when the client disconnects
   * @returns {Promise<Comparison | null>} null: the client has disconnected
   */
  async compare(a, b, disconnected) {
    if (this.#waiting >= MOST_WAITING)
      throw new HttpError(503, 'ERR_BUSY', `${MOST_WAITING} comparisons are waiting. Try again later.`);
    this.#waiting++;
    const turn = this.#last.then(() => (disconnected.aborted ? null : compareInWorker(a, b, disconnected)));
    this.#last = turn.catch(() => {}); // this call's caller gets the error
    try {
      return await turn;
    } finally {
      this.#waiting--;
    }
  }
}

module.exports = { Comparisons };
