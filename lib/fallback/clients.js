'use strict';
// listen(): the clients of a server over sockets. The server itself is that of lib/channel/.
const { createServer } = require('node:net');
const { resolve } = require('node:path');
const { callUnreferenced, now, setImmediate } = require('../channel/clock.js');
const { CrossingsError } = require('../channel/errors.js');
const { MAX_HANDSHAKES, serve } = require('../channel/server.js');
const { isAborted, throwIfAborted } = require('../channel/signals.js');
const { listenAt } = require('./files.js');
const { startHandshake } = require('./handshake.js');
const { MAX_FILE_BYTES, isWindows, readEndpoint } = require('./paths.js');
const { HELLO_BYTES } = require('./wire.js');

const NOTHING = Buffer.alloc(0);
const MAX_WAITING = 512; // clients that are connected and were not taken yet
const PATIENCE_MS = 500; // for a client's hello, while others wait
const RETRY_MS = 10; // between attempts to take a client

/** @typedef {import('../channel/handshake.js').Options} Options */
/** @typedef {import('../channel/handshake.js').Handshake} Handshake */

/**
 * @typedef {object} Client
 * @property {import('node:net').Socket} socket
 * @property {Buffer} early what has arrived from it
 * @property {() => void} leave it does not wait any more
 */
/** @typedef {import('../channel/listener.js').Clients<Client>} Clients */

/** @implements {Clients} */
class SocketClients {
  #server;
  #removeFile = () => {};
  /** @type {Set<Client>} that are connected, the oldest first */ #waiting = new Set();
  /** @type {Set<Client>} those of them whose hello has arrived */ #ready = new Set();
  #isPaused = true;
  #isTaking = false; // soon
  /** @type {Set<Handshake>} */ #begun = new Set(); // the oldest first
  #onClients = () => {};
  /** @type {(error: unknown) => void} */ #onRefused = () => {};
  isReleased = (/** @type {{isReleased: boolean}} */ handle) => handle.isReleased;
  isFree = this.isReleased;

  constructor() {
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#arrived(socket));
  }

  /** @param {string} path @param {boolean} others may other users connect? */
  async listen(path, others) {
    this.#removeFile = await listenAt(this.#server, path, others);
    this.#server.on('error', () => {}); // one client could not be accepted
  }

  /**
   * Node accepts every client, also while the server takes none (Bun accepts all of them in one turn). The hello of one that waits is
   * read: if there are too many, the oldest that has said nothing is dropped, and one whose hello is there comes first.
   * @param {import('node:net').Socket} socket
   */
  #arrived(socket) {
    socket.on('error', () => {}); // 'close' follows
    socket.unref();
    const client = { socket, early: NOTHING, leave: () => this.#left(client, read) };
    const read = (/** @type {Buffer} */ bytes) => {
      client.early = Buffer.concat([client.early, bytes]);
      if (client.early.length < HELLO_BYTES) return;
      socket.pause();
      this.#ready.add(client);
      this.#take();
    };
    if (this.#waiting.size >= MAX_WAITING) this.#drop(client);
    if (socket.destroyed) return;
    this.#waiting.add(client);
    socket.on('data', read).once('close', client.leave).resume();
    this.#take();
  }

  /** @param {Client} client @param {(bytes: Buffer) => void} read */
  #left(client, read) {
    this.#waiting.delete(client);
    this.#ready.delete(client);
    client.socket.off('data', read).off('close', client.leave).pause();
  }

  /** Drop a client that waits, or the new one if all others have said hello. @param {Client} newest */
  #drop(newest) {
    let victim = newest;
    for (const client of this.#waiting) {
      if (this.#ready.has(client)) continue;
      victim = client;
      break;
    }
    victim.leave();
    victim.socket.destroy();
    this.#onRefused(new CrossingsError('ERR_LIMIT_EXCEEDED', `${MAX_WAITING} clients are waiting to be accepted.`));
  }

  /** Let the server take some clients in each turn. Their hellos are read between the turns, so no honest client looks silent. */
  #take() {
    if (this.#isPaused || this.#isTaking || this.#waiting.size === 0) return;
    this.#isTaking = true;
    const take = () => {
      this.#isTaking = false;
      if (!this.#isPaused) this.#onClients();
      this.#take();
    };
    if (this.#next() === undefined) callUnreferenced(take, RETRY_MS);
    else setImmediate(take);
  }

  /** The client to take now. */
  #next() {
    const [ready] = this.#ready;
    const [oldest] = this.#waiting;
    return ready ?? (this.#isCrowded() ? undefined : oldest);
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
    const client = this.#next();
    client?.leave();
    return client;
  }

  /** @param {Client} client @param {Options} options @param {import('../channel/handshake.js').Checks} checks */
  handshake({ socket, early }, options, checks) {
    const handshake = startHandshake(socket, options, options.timeout, undefined, checks, early);
    const ended = () => this.#begun.delete(handshake);
    this.#begun.add(handshake);
    handshake.channel.then(ended, ended);
    return handshake;
  }

  close() {
    this.#isPaused = true;
    for (const { socket } of this.#waiting) socket.destroy();
    this.#removeFile();
    this.#server.close();
  }
}

/**
 * Listen for clients at the path of a Unix socket, or at a named pipe.
 * @param {string} path
 * @param {Options} options
 * @returns {Promise<InstanceType<typeof import('../channel/server.js').Server>>}
 */
async function listen(path, options) {
  const where = readEndpoint(path);
  throwIfAborted(options.signal);
  const absolute = isWindows ? where : resolve(where);
  const short = isWindows || Buffer.byteLength(absolute) <= MAX_FILE_BYTES ? absolute : where;
  const clients = new SocketClients();
  await clients.listen(short, options.allowOtherUsers);
  const server = serve(short, clients, options);
  if (options.signal && isAborted(options.signal)) await server.close();
  return server;
}

module.exports = { listen };
