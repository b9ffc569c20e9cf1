'use strict';
// Async iterators over a channel's messages, one at a time or in batches.
const { CrossingsError } = require('./errors.js');

const END = Object.freeze({ value: undefined, done: /** @type {const} */ (true) });

/**
 * An async iterator that leaves the channel open when the loop exits early.
 * @param {() => Promise<IteratorResult<any, undefined>>} next
 * @returns {AsyncIterableIterator<any>}
 */
function iterator(next) {
  return {
    next,
    return: async () => END,
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
