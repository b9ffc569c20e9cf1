'use strict';
// connect(): connects to a server over a socket, and retries until it is listening.
const { stat } = require('node:fs/promises');
const { now } = require('../channel/clock.js');
const { pause } = require('../channel/connect.js');
const { CrossingsError } = require('../channel/errors.js');
const { throwIfAborted } = require('../channel/signals.js');
const { startHandshake } = require('./handshake.js');
const { isWindows, readEndpoint } = require('./paths.js');
const { tryConnecting } = require('./sockets.js');

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
    const socket = await tryConnecting(where);
    const left = deadline - now();
    if (typeof socket !== 'string') {
      await authorize(socket, where, options);
      return startHandshake(socket, options, Math.max(left, 1), signal).channel;
    }
    if (left <= 0)
      throw new CrossingsError('ERR_TIMEOUT', `No server is listening at ${where} (waited ${timeout} ms).`);
    await pause(Math.min(RETRY_MS, left), signal);
  }
}

/**
 * Refuse a server of another user, unless the options allow it. Node does not tell who is at the other end of a socket, but the
 * file belongs to whoever made it.
 * @param {import('node:net').Socket} socket
 * @param {string} path
 * @param {{allowOtherUsers: boolean}} options
 */
async function authorize(socket, path, { allowOtherUsers }) {
  if (allowOtherUsers || isWindows) return;
  const file = await stat(path).catch(() => undefined); // the server may have removed it by now
  if (file === undefined || file.uid === process.geteuid?.()) return;
  socket.destroy();
  throw new CrossingsError(
    'ERR_NOT_AUTHORIZED',
    `Peer not authorized: ${path} belongs to user ${file.uid}, not ${process.geteuid?.()}. Set the option allowOtherUsers to accept it.`,
  );
}

module.exports = { connect };
