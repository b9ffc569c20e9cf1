'use strict';
// listen(): the clients of a server over sockets. The server itself is that of lib/channel/.
const { createServer } = require('node:net');
const { resolve } = require('node:path');
const { now, setImmediate, setTimeout } = require('../channel/clock.js');
const { CrossingsError } = require('../channel/errors.js');
const { MAX_HANDSHAKES, Server } = require('../channel/server.js');
const { isAborted, throwIfAborted } = require('../channel/signals.js');
const { listenAt } = require('./files.js');
const { startHandshake } = require('./handshake.js');
const { MAX_FILE_BYTES, isWindows, readEndpoint } = require('./paths.js');

const MAX_WAITING = 512; // clients that are connected and were not taken yet; Node accepts as many in one turn

const PATIENCE_MS = 500; // for a client's hello, while others wait
const RETRY_MS = 10; // between attempts to take a client

/** @typedef {import('../channel/handshake.js').Options} Options */
/** @typedef {import('../channel/handshake.js').Handshake} Handshake */

/** @typedef {import('../channel/listener.js').Clients<import('node:net').Socket>} Clients */

/** @implements {Clients} */
class SocketClients {
  #server;
  #removeFile = () => {};
  /** @type {import('node:net').Socket[]} */ #waiting = [];
  #isPaused = true;
  #isTaking = false; // soon
  /** @type {Set<Handshake>} */ #begun = new Set(); // the oldest first
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
    // Node accepts every client, also while the server takes none, and all in one turn.
    if (this.#waiting.length >= MAX_WAITING) {
      socket.destroy();
      const reason = `${MAX_WAITING} clients are waiting to be accepted.`;
      return this.#onRefused(new CrossingsError('ERR_LIMIT_EXCEEDED', reason));
    }
    this.#waiting.push(socket);
    this.#take();
  }

  /** Let the server take some clients in each turn. Their hellos are read between the turns, so no honest client looks silent. */
  #take() {
    if (this.#isPaused || this.#isTaking || this.#waiting.length === 0) return;
    this.#isTaking = true;
    const take = () => {
      this.#isTaking = false;
      if (!this.#isPaused) this.#onClients();
      this.#take();
    };
    if (this.#isCrowded()) setTimeout(take, RETRY_MS).unref();
    else setImmediate(take);
  }

  /** Would the server drop a client that may not have had the time to send its hello? */
  #isCrowded() {
    const [oldest] = this.#begun;
    return this.#begun.size >= MAX_HANDSHAKES && now() - /** @type {Handshake} */ (oldest).startedAt < PATIENCE_MS;
  }

  /** @param {() => void} onClients @param {(error: unknown) => void} onRefused */
  watch(onClients, onRefused) {
    this.#onClients = onClients;
    this.#onRefused = onRefused;
    this.resume();
  }

  pause() {
    this.#isPaused = true;
  }

  resume() {
    this.#isPaused = false;
    this.#take();
  }

  ref() {
    this.#server.ref();
  }

  unref() {
    this.#server.unref();
  }

  accept() {
    return this.#isCrowded() ? undefined : this.#waiting.shift();
  }

  /** @param {import('node:net').Socket} socket @param {Options} options @param {AbortSignal} signal @param {import('../channel/handshake.js').Checks} checks */
  handshake(socket, options, signal, checks) {
    const handshake = startHandshake(socket, options, options.timeout, signal, checks);
    const ended = () => this.#begun.delete(handshake);
    this.#begun.add(handshake);
    handshake.channel.then(ended, ended);
    return handshake;
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
