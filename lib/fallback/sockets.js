'use strict';
// Connects to a socket's path once, and translates what the system answers.
const { connect } = require('node:net');
const { CrossingsError } = require('../channel/errors.js');
const { native, unavailable } = require('../channel/native.js');
const { isNode } = require('../channel/runtime.js');

// There is no server, or only the file of one, or it has just closed.
const NO_LISTENER = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET'];
const BUSY = ['EAGAIN', 'EBUSY']; // the queue of a server is full, or all instances of a pipe are in use

/** @param {NodeJS.ErrnoException} error of a call to the system @param {string} what it was to do */
function systemError(error, what) {
  return Object.assign(
    new CrossingsError('ERR_SYSTEM', `Cannot ${what}: ${error.message.replace(/\.$/, '')}.`),
    error.errno === undefined ? {} : { errno: error.errno },
  );
}

/** The socket at the path is of another type. @param {string} path */
function mixedTransports(path) {
  return new CrossingsError(
    'ERR_PROTOCOL',
    `The server at ${path} may use shared memory, but this side uses transport: 'socket'. Set the same transport at both ends.`,
  );
}

/**
 * Let the kernel refuse descriptors that a peer sends along, where it can and the addon is there to ask for it. Node reads a socket in a
 * way that closes them on the thread of the event loop, and that can take as long as the peer likes.
 * @param {any} socket or a server, to whose clients it then applies
 */
function refuseDescriptors(socket) {
  const fd = socket._handle?.fd; // no public property tells it
  if (unavailable === null && fd >= 0) native.refuseDescriptors(fd);
}

/**
 * Who is at the other end of a connected socket: the process that connected, or that called listen(), and its user at that moment. Null if
 * the kernel cannot be asked: without the addon, of a closed socket, and in other runtimes, which may keep another number in that place.
 * @param {any} socket
 * @returns {{uid: number, pid: number} | null}
 */
function peerOf(socket) {
  const fd = socket._handle?.fd;
  if (unavailable !== null || !isNode || !(fd >= 0)) return null;
  try {
    return native.peerOf(fd);
  } catch {
    return null;
  }
}

/** Deno throws at once where the program has no permission. @param {string} path */
function connecting(path) {
  try {
    return connect({ path });
  } catch (error) {
    throw systemError(/** @type {NodeJS.ErrnoException} */ (error), `connect to ${path}`);
  }
}

/**
 * Connect once.
 * @param {string} path
 * @returns {Promise<import('node:net').Socket | 'no listener' | 'busy'>}
 */
function tryConnecting(path) {
  return new Promise((resolve, reject) => {
    const socket = connecting(path);
    refuseDescriptors(socket);
    const fail = (/** @type {NodeJS.ErrnoException} */ error) => {
      const code = String(error.code);
      if (NO_LISTENER.includes(code)) resolve('no listener');
      else if (BUSY.includes(code)) resolve('busy');
      else reject(code === 'EPROTOTYPE' ? mixedTransports(path) : systemError(error, `connect to ${path}`));
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail).on('error', () => {}); // 'close' follows
      resolve(socket);
    });
  });
}

module.exports = { peerOf, refuseDescriptors, systemError, tryConnecting };
