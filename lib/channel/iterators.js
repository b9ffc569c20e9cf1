'use strict';
// Async iterators over a channel's messages, one at a time or in batches.
const { CrossingsError } = require('./errors.js');

const END = Object.freeze({ value: undefined, done: /** @type {const} */ (true) });

/** @typedef {Set<(end: typeof END) => void>} Ends end the calls of next() that wait */

/**
 * An async iterator that leaves the channel open when the loop exits early. A next() that still waits then ends, too: it must not
 * take a message that nobody gets.
 * @param {(ends: Ends) => Promise<IteratorResult<any, undefined>>} next
 * @returns {AsyncIterableIterator<any>}
 */
function iterator(next) {
  /** @type {Ends} */
  const ends = new Set();
  return {
    next: () => next(ends),
    async return() {
      for (const end of ends) end(END);
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
