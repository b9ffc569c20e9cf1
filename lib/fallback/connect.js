'use strict';
// connect(): connects to a server over a socket, and retries until it is listening.
const { now } = require('../channel/clock.js');
const { timeLeft } = require('../channel/connect.js');
const { CrossingsError } = require('../channel/errors.js');
const { pause } = require('../channel/pause.js');
const { throwIfAborted } = require('../channel/signals.js');
const { startHandshake } = require('./handshake.js');
const { tryConnectingToOwn } = require('./owner.js');
const { readEndpoint } = require('./paths.js');

const RETRY_MS = 10; // between attempts to connect

/** @typedef {InstanceType<typeof import('../channel/channel.js').Channel>} AChannel */

/**
 * Connect to a server. Retries until it is listening, so the two processes can start in either order.
 * @param {string} path
 * @param {import('../channel/handshake.js').Options} options
 * @returns {Promise<AChannel>}
 */
async function connect(path, options) {
  const where = readEndpoint(path);
  const { signal, timeout } = options;
  const deadline = now() + timeout;
  for (;;) {
    throwIfAborted(signal);
    const socket = await tryConnectingToOwn(where, options);
    const left = deadline - now();
    if (typeof socket !== 'string') return startHandshake(socket, options, timeLeft(left, timeout), signal).channel;
    if (left <= 0)
      throw new CrossingsError('ERR_TIMEOUT', `No server is listening at ${where} (waited ${timeout} ms).`);
    await pause(Math.min(RETRY_MS, left), signal);
  }
}

module.exports = { connect };
