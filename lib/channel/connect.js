'use strict';
// connect(): reaches a server by the path of its socket, and waits for it if it is not there yet.
const { CrossingsError } = require('./errors.js');
const { handshake } = require('./handshake.js');
const { native } = require('./native.js');
const { readOptions, readPath } = require('./options.js');

const RETRY_MS = 10; // between two attempts to connect

/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

/** A pause that a signal can end. @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(waiting);
      reject(signal?.reason);
    };
    const waiting = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Connect to a server, waiting for it if it is not there yet: start order does not matter.
 * @param {string} path of its socket
 * @param {import('./options.js').ChannelOptions} [given]
 * @returns {Promise<AChannel>}
 */
async function connect(path, given) {
  const where = readPath(path);
  const options = readOptions(given);
  const { signal, timeout } = options;
  const deadline = performance.now() + timeout;
  for (;;) {
    signal?.throwIfAborted();
    const fd = native.connect(where);
    const left = deadline - performance.now();
    if (fd >= 0) return handshake(fd, options, Math.max(left, 1), signal);
    if (left <= 0)
      throw new CrossingsError('ERR_TIMEOUT', `No server is listening at ${where} (waited ${timeout} ms).`);
    await pause(Math.min(RETRY_MS, left), signal);
  }
}

module.exports = { connect };
