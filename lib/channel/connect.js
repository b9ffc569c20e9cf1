'use strict';
// connect(): connects to a server by its socket path, and retries until the server is listening.
const { EPROTOTYPE } = require('node:os').constants.errno;
const { now } = require('./clock.js');
const { CrossingsError } = require('./errors.js');
const { handshake } = require('./handshake.js');
const { native } = require('./native.js');
const { readPath } = require('./options.js');
const { pause } = require('./pause.js');
const { throwIfAborted } = require('./signals.js');

const RETRY_MS = 10; // between attempts to connect
const LEAST_MS = 100; // for a handshake

/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

/** @param {string} path @returns {number} a descriptor, or -1 if no server is listening */
function connectOnce(path) {
  try {
    return native.connect(path);
  } catch (error) {
    if (/** @type {any} */ (error).errno !== EPROTOTYPE) throw error;
    throw new CrossingsError(
      'ERR_PROTOCOL',
      `The server at ${path} may use transport: 'socket', but this side uses shared memory. Set the same transport at both ends.`,
    );
  }
}

/** For the handshake: some time in any case, because this process may not have returned to the event loop for long. @param {number} left @param {number} timeout */
const timeLeft = (left, timeout) => Math.max(left, Math.min(timeout, LEAST_MS));

/**
 * Connect to a server. Retries until the server is listening, so the two processes can start in either order.
 * @param {string} path of the server's socket
 * @param {import('./handshake.js').Options} options
 * @returns {Promise<AChannel>}
 */
async function connect(path, options) {
  const where = readPath(path);
  const { signal, timeout } = options;
  const deadline = now() + timeout;
  for (;;) {
    throwIfAborted(signal);
    const fd = connectOnce(where);
    const left = deadline - now();
    if (fd >= 0) {
      native.useFd(fd); // openChannel() must not take it
      return handshake(fd, options, timeLeft(left, timeout), signal);
    }
    if (left <= 0)
      throw new CrossingsError('ERR_TIMEOUT', `No server is listening at ${where} (waited ${timeout} ms).`);
    await pause(Math.min(RETRY_MS, left), signal);
  }
}

module.exports = { connect, timeLeft };
