'use strict';
// Async iterators over a channel's messages, one at a time or in batches.
const { CrossingsError } = require('./errors.js');
const { Queue } = require('./queue.js');

const END = Object.freeze({ value: undefined, done: /** @type {const} */ (true) });

/** @typedef {import('./waiters.js').Group} Group the calls of next() that wait */

/**
 * An async iterator that leaves the channel open when the loop exits early. A next() that still waits then ends, too: it must not
 * take a message that nobody gets.
 * @param {(waiting: Group) => Promise<IteratorResult<any, undefined>>} next
 * @param {(waiting: Group) => void} end ends those that wait
 * @returns {AsyncIterableIterator<any>}
 */
function iterator(next, end) {
  /** @type {Group} */
  const waiting = new Queue();
  return {
    next: () => next(waiting),
    async return() {
      end(waiting);
      return END;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Return END if the error means that close() was called on this side during the loop. Rethrow any other error.
 * @param {unknown} error
 * @param {boolean} closedHere
 */
function endOrThrow(error, closedHere) {
  if (closedHere && error instanceof CrossingsError && error.code === 'ERR_CLOSED') return END;
  throw error;
}

module.exports = { iterator, endOrThrow, END };
