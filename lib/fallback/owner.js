'use strict';
// Connects only to servers of this user. Where the kernel cannot be asked who is at the other end of a socket, its file tells: it
// belongs to the user that made it. Somebody who can write to the folder may put another file there between two looks at it.
const { statSync } = require('node:fs');
const { CrossingsError } = require('../channel/errors.js');
const { isWindows } = require('./paths.js');
const { peerOf, tryConnecting } = require('./sockets.js');

/**
 * The user that a socket's file belongs to; null if there is none. At once, as the kernel connects: Node's threads may be busy for as long
 * as the program likes.
 * @param {string} path
 */
function ownerOf(path) {
  try {
    return statSync(path).uid;
  } catch {
    return null;
  }
}

/**
 * Connect once, to a server that the handshake will check, or whose file belongs to this user, unless the options allow others. The owner
 * is looked up before and after connecting: our own server may have removed its file by then, but a file that was not there before may
 * have been a stranger's.
 * @param {string} path
 * @param {{allowOtherUsers: boolean}} options
 * @returns {ReturnType<typeof tryConnecting>}
 */
async function tryConnectingToOwn(path, { allowOtherUsers }) {
  if (allowOtherUsers || isWindows) return tryConnecting(path);
  const before = ownerOf(path);
  const socket = await tryConnecting(path);
  if (typeof socket === 'string') return socket;
  if (peerOf(socket) !== null) return socket; // startHandshake() refuses another user
  const own = process.geteuid?.();
  const after = ownerOf(path);
  if (before === own && (after === own || after === null)) return socket;
  socket.destroy();
  const stranger = [before, after].find((uid) => uid !== null && uid !== own);
  if (stranger === undefined) return 'no listener'; // whose it was is not known
  throw new CrossingsError(
    'ERR_NOT_AUTHORIZED',
    `Peer not authorized: ${path} belongs to user ${stranger}, not ${own}. Set the option allowOtherUsers to accept it.`,
  );
}

module.exports = { tryConnectingToOwn };
