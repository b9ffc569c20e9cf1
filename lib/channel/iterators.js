'use strict';
// for await over a channel's messages, one by one or in batches.
const { CrossingsError } = require('./errors.js');

/**
 * What an iterator needs of its channel.
 * @typedef {object} Source
 * @property {() => boolean} isClosed was close() called on this side?
 * @property {() => Promise<{end: boolean, value: any}>} next the next message, or the end
 */

const END = Object.freeze({ value: undefined, done: /** @type {const} */ (true) });

/**
 * An async iterator that leaves the channel open when the loop is left.
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
 * The end of a loop that runs while the channel is closed on this side: it ends quietly.
 * @param {unknown} error
 * @param {boolean} closedHere
 */
function endOrThrow(error, closedHere) {
  if (closedHere && error instanceof CrossingsError && error.code === 'ERR_CLOSED') return END;
  throw error;
}

module.exports = { iterator, endOrThrow, END };
