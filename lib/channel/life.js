'use strict';
// The states of a channel, and the error that calls get in each state.
const { CrossingsError } = require('./errors.js');

/** The states. A channel may skip states, but it only ever moves to a higher one. */
const OPEN = 0;
const PEER_CLOSED = 1; // what the peer sent can still be read; then receive() returns null
const PEER_DIED = 2; // what the peer sent can still be read; then receive() throws ERR_PEER_DIED
const CORRUPT = 3; // the peer's memory cannot be trusted; nothing more is read
const CLOSED = 4; // close() was called on this side

/** What channel.state returns for each state, and what channel.closed is fulfilled with. */
const STATE_NAMES = /** @type {const} */ (['open', 'peer-closed', 'peer-died', 'peer-corrupt', 'closed']);

/** @param {number} state any but OPEN */
function errorOf(state) {
  switch (state) {
    case PEER_CLOSED:
      return new CrossingsError('ERR_CLOSED', 'The peer closed the channel.');
    case PEER_DIED:
      return new CrossingsError('ERR_PEER_DIED', 'The peer exited without closing the channel.');
    case CORRUPT:
      return new CrossingsError('ERR_PEER_CORRUPT', 'Corrupt peer: the channel has been shut down.');
    default:
      return new CrossingsError('ERR_CLOSED', 'The channel is closed.');
  }
}

/** Does a send fail with this error because the channel has ended? @param {unknown} error */
const isEnd = (error) =>
  error instanceof CrossingsError && ['ERR_CLOSED', 'ERR_PEER_DIED', 'ERR_PEER_CORRUPT'].includes(error.code);

module.exports = { OPEN, PEER_CLOSED, PEER_DIED, CORRUPT, CLOSED, STATE_NAMES, errorOf, isEnd };
