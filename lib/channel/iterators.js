'use strict';
// Async iterators over a channel's messages, one at a time or in batches.
const { CrossingsError } = require('./errors.js');
const { Group } = require('./waiters.js');

const END = Object.freeze({ value: undefined, done: /** @type {const} */ (true) });

/**
 * An async iterator that leaves the channel open when the loop exits early. A next() that still waits then ends, too: it must not
 * take a message that nobody gets.
 * @param {(waiting: InstanceType<typeof Group>) => Promise<IteratorResult<any, undefined>>} next
 * @param {(waiting: InstanceType<typeof Group>) => void} end ends those that wait
 * @param {InstanceType<typeof Group>} [waiting] the calls of next() that wait
 * @returns {AsyncIterableIterator<any>}
 */
function iterator(next, end, waiting = new Group()) {
  return {
    next: () => next(waiting),
    async return() {
      end(waiting);
      waiting.throwLastFailure();
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
