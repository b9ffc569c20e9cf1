'use strict';
// The public functions that make channels. Each checks its options and calls the transport that they name: shared memory, or sockets
// for platforms without a build of the addon. Neither ever replaces the other automatically.
const sharedMemory = {
  ...require('./channel/channel-pair.js'),
  ...require('./channel/connect.js'),
  ...require('./channel/server.js'),
};
const { CrossingsError } = require('./channel/errors.js');
const { unavailable } = require('./channel/native.js');
const { readOptions } = require('./channel/options.js');
const { nextTurn } = require('./channel/turn.js');
const socket = require('./fallback/index.js');

/** @typedef {import('./channel/options.js').ChannelOptions} ChannelOptions */

/** Why this process has no shared memory, as a sentence; null if it has. */
const unsupportedReason =
  unavailable === null
    ? null
    : `${unavailable} To develop on this machine, set the option transport: 'socket' at both ends. It provides the same channels over sockets, but more slowly.`;

/** @param {ReturnType<typeof readOptions>} options */
function transportOf({ transport }) {
  if (transport === 'socket') return socket;
  if (unsupportedReason !== null) throw new CrossingsError('ERR_UNSUPPORTED', unsupportedReason);
  return sharedMemory;
}

/**
 * Another process decides how soon this ends, and may make it fail each time. A program that does it again and again would starve its
 * event loop, so its promise is settled in a later turn.
 * @template T @param {() => Promise<T>} work @returns {Promise<T>}
 */
async function settleLater(work) {
  try {
    return await work();
  } finally {
    await nextTurn();
  }
}

/**
 * Listen for clients at a path.
 * @param {string} path
 * @param {ChannelOptions} [given] options of every channel
 */
async function listen(path, given) {
  const options = readOptions(given);
  return settleLater(() => transportOf(options).listen(path, options));
}

/**
 * Connect to a server. Retries until the server is listening, so the two processes can start in either order.
 * @param {string} path
 * @param {ChannelOptions} [given]
 */
async function connect(path, given) {
  const options = readOptions(given);
  return settleLater(() => transportOf(options).connect(path, options));
}

/**
 * Create a channel whose other end is passed to a child process or a worker thread.
 * @param {ChannelOptions} [given] options of this end
 */
function channelPair(given) {
  const options = readOptions(given);
  return transportOf(options).channelPair(options);
}

/**
 * Open a channel on an end that channelPair() made.
 * @param {number} fd a descriptor that this process inherited, or a ticket of port.take()
 * @param {ChannelOptions} [given]
 */
async function openChannel(fd, given) {
  const options = readOptions(given);
  return settleLater(() => transportOf(options).openChannel(fd, options));
}

module.exports = { channelPair, connect, listen, openChannel, unsupportedReason };
