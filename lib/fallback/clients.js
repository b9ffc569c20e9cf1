'use strict';
// listen(): the clients of a server over sockets. The server itself is that of lib/channel/.
const { createServer } = require('node:net');
const { resolve } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { Server } = require('../channel/server.js');
const { isAborted, throwIfAborted } = require('../channel/signals.js');
const { listenAt } = require('./files.js');
const { startHandshake } = require('./handshake.js');
const { MAX_FILE_BYTES, isWindows, readEndpoint } = require('./paths.js');

const MAX_WAITING = 128; // clients that are connected while the server takes none

/** @typedef {import('../channel/handshake.js').Options} Options */

/** @typedef {import('../channel/listener.js').Clients<import('node:net').Socket>} Clients */

/** @implements {Clients} */
class SocketClients {
  #server;
  #removeFile = () => {};
  /** @type {import('node:net').Socket[]} */ #waiting = [];
  #isPaused = false;
  #onClients = () => {};
  /** @type {(error: unknown) => void} */ #onRefused = () => {};
  isReleased = (/** @type {{isReleased: boolean}} */ handle) => handle.isReleased;

  constructor() {
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#arrived(socket));
  }

  /** @param {string} path @param {boolean} others may other users connect? */
  async listen(path, others) {
    this.#removeFile = await listenAt(this.#server, path, others);
    this.#server.on('error', () => {}); // one client could not be accepted
  }

  /** @param {import('node:net').Socket} socket */
  #arrived(socket) {
    socket.on('error', () => {}); // 'close' follows
    socket.unref();
    // Node accepts every client, also while the server takes none.
    if (this.#waiting.length >= MAX_WAITING) {
      socket.destroy();
      const reason = `${MAX_WAITING} clients are waiting to be accepted.`;
      return this.#onRefused(new CrossingsError('ERR_LIMIT_EXCEEDED', reason));
    }
    this.#waiting.push(socket);
    if (!this.#isPaused) this.#onClients();
  }

  /** @param {() => void} onClients @param {(error: unknown) => void} onRefused */
  watch(onClients, onRefused) {
    this.#onClients = onClients;
    this.#onRefused = onRefused;
    if (this.#waiting.length > 0) setImmediate(() => this.resume());
  }

  pause() {
    this.#isPaused = true;
  }

  resume() {
    this.#isPaused = false;
    if (this.#waiting.length > 0) this.#onClients();
  }

  ref() {
    this.#server.ref();
  }

  unref() {
    this.#server.unref();
  }

  accept() {
    return this.#waiting.shift();
  }

  /** @param {import('node:net').Socket} socket @param {Options} options @param {AbortSignal} signal @param {import('../channel/handshake.js').Checks} checks */
  handshake(socket, options, signal, checks) {
    return startHandshake(socket, options, options.timeout, signal, checks);
  }

  close() {
    this.#isPaused = true;
    for (const socket of this.#waiting.splice(0)) socket.destroy();
    this.#removeFile();
    this.#server.close();
  }
}

/**
 * Listen for clients at the path of a Unix socket, or at a named pipe.
 * @param {string} path
 * @param {Options} options
 * @returns {Promise<InstanceType<typeof Server>>}
 */
async function listen(path, options) {
  const where = readEndpoint(path);
  throwIfAborted(options.signal);
  const absolute = isWindows ? where : resolve(where);
  const short = isWindows || Buffer.byteLength(absolute) <= MAX_FILE_BYTES ? absolute : where;
  const clients = new SocketClients();
  await clients.listen(short, options.allowOtherUsers);
  const server = new Server(short, clients, options);
  if (options.signal && isAborted(options.signal)) await server.close();
  return server;
}

module.exports = { listen };
