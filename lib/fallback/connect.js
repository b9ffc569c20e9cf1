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
    const owner = await ownerOf(where);
    const socket = await tryConnecting(where);
    const left = deadline - now();
    if (typeof socket !== 'string') {
      await authorize(socket, where, options, owner);
      return startHandshake(socket, options, Math.max(left, 1), signal).channel;
    }
    if (left <= 0)
      throw new CrossingsError('ERR_TIMEOUT', `No server is listening at ${where} (waited ${timeout} ms).`);
    await pause(Math.min(RETRY_MS, left), signal);
  }
}

/** The user that a socket file belongs to; null if there is none. @param {string} path */
async function ownerOf(path) {
  if (isWindows) return null;
  const file = await stat(path).catch(() => null);
  return file === null ? null : file.uid;
}

/**
 * Refuse a server of another user, unless the options allow it. Node does not report who is at the other end of a socket, but the
 * file belongs to the user that made it. It is looked at before and after connecting: our own server may have removed it by now, but
 * a file that was never seen may have been a stranger's.
 * @param {import('node:net').Socket} socket
 * @param {string} path
 * @param {{allowOtherUsers: boolean}} options
 * @param {number | null} before the file's owner before connecting
 */
async function authorize(socket, path, { allowOtherUsers }, before) {
  if (allowOtherUsers || isWindows) return;
  const own = process.geteuid?.();
  const after = await ownerOf(path);
  if (before === own && (after === own || after === null)) return;
  if (before === null && after === own) return;
  const stranger = [before, after].find((uid) => uid !== null && uid !== own);
  socket.destroy();
  throw new CrossingsError(
    'ERR_NOT_AUTHORIZED',
    `Peer not authorized: ${path} ${stranger === undefined ? 'was removed before its owner was known' : `belongs to user ${stranger}, not ${own}`}. Set the option allowOtherUsers to accept it.`,
  );
}

module.exports = { connect };
