'use strict';
// listen(): accepts clients at a Unix socket path and creates a channel for each one.
const { setMaxListeners } = require('node:events');
const { CrossingsError } = require('./errors.js');
const { handshake } = require('./handshake.js');
const { native } = require('./native.js');
const { readOptions, readPath, readSignal } = require('./options.js');

const MAX_HANDSHAKES = 64; // simultaneous handshakes; further clients wait in the kernel's queue
const MAX_UNACCEPTED = 128; // open channels that accept() has not returned yet
const PAUSE_MS = 100; // before retrying a failed accept

/** @typedef {ReturnType<typeof import('./options.js').readOptions>} Options */
/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

/** Listens at a path and creates a channel for each client. */
class Server {
  #fd;
  #options;
  #poller;
  /** @type {AChannel[]} */ #ready = [];
  /** @type {{resolve: (channel: AChannel) => void, reject: (error: unknown) => void}[]} */ #accepting = [];
  #stop = new AbortController();
  #handshakes = 0;
  #refusals = 0;
  /** @type {unknown} */ #lastRefusal = null;
  #unreferenced = false;

  /** @param {string} path @param {number} fd @param {Options} options */
  constructor(path, fd, options) {
    setMaxListeners(0, this.#stop.signal); // each handshake in progress adds a listener
    /** The path of the socket. */
    this.path = path;
    this.#fd = fd;
    this.#options = options;
    this.#poller = new native.Poller(fd, () => this.#acceptClients());
    this.#poller.ref();
  }

  /** Has close() been called? */
  get closed() {
    return this.#fd < 0;
  }

  /** The number of failed accepts and handshakes, and the last error. */
  get refusals() {
    return { count: this.#refusals, last: this.#lastRefusal };
  }

  get #mayAccept() {
    return this.#handshakes < MAX_HANDSHAKES && this.#ready.length < MAX_UNACCEPTED;
  }

  /** Accept all waiting clients. Their handshakes run concurrently, so an unresponsive client does not delay the others. */
  #acceptClients() {
    while (this.#fd >= 0 && this.#mayAccept) {
      let fd = -1;
      try {
        fd = native.accept(this.#fd);
      } catch (error) {
        // For example, out of descriptors. The clients are still waiting and the poller would report them again immediately, so
        // pause before retrying.
        this.#refuse(error);
        this.#poller.pause();
        setTimeout(() => this.#acceptClients(), PAUSE_MS).unref();
        return;
      }
      if (fd < 0) {
        this.#poller.resume();
        return;
      }
      this.#handshakes++;
      handshake(fd, this.#options, this.#options.timeout, this.#stop.signal)
        .then(
          (channel) => this.#deliver(channel),
          (error) => this.#refuse(error),
        )
        .finally(() => {
          this.#handshakes--;
          this.#acceptClients();
        });
    }
    if (this.#fd >= 0) this.#poller.pause(); // further clients wait in the kernel's queue
  }

  /** @param {unknown} error */
  #refuse(error) {
    this.#refusals++;
    this.#lastRefusal = error;
  }

  /** @param {AChannel} channel */
  #deliver(channel) {
    if (this.#fd < 0) {
      channel.close();
      return;
    }
    const waiter = this.#accepting.shift();
    if (waiter) waiter.resolve(channel);
    else this.#ready.push(channel);
  }

  /**
   * Wait for the next client and return its channel.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<AChannel>}
   */
  async accept(options) {
    const signal = readSignal(options);
    signal?.throwIfAborted();
    if (this.#fd < 0) throw new CrossingsError('ERR_CLOSED', 'The server is closed.');
    const ready = this.#ready.shift();
    if (ready) {
      this.#acceptClients();
      return ready;
    }
    return new Promise((resolve, reject) => {
      const removeListener = () => signal?.removeEventListener('abort', abort);
      const waiter = {
        resolve: (/** @type {AChannel} */ channel) => {
          removeListener();
          resolve(channel);
        },
        reject: (/** @type {unknown} */ error) => {
          removeListener();
          reject(error);
        },
      };
      const abort = () => {
        this.#accepting.splice(this.#accepting.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#accepting.push(waiter);
    });
  }

  /** Iterates over the channels of new clients until the server is closed. @returns {AsyncGenerator<AChannel, void, void>} */
  async *[Symbol.asyncIterator]() {
    while (this.#fd >= 0) {
      try {
        yield await this.accept();
      } catch (error) {
        if (/** @type {any} */ (error)?.code === 'ERR_CLOSED' && this.closed) return;
        throw error;
      }
    }
  }

  /** Listening keeps the process alive (the default). */
  ref() {
    if (this.#unreferenced && !this.closed) this.#poller.ref();
    this.#unreferenced = false;
    return this;
  }

  /** Listening does not keep the process alive. */
  unref() {
    if (!this.closed) this.#poller.unref();
    this.#unreferenced = true;
    return this;
  }

  /** Stop listening and remove the socket file. Channels that accept() has returned stay open; all others are closed. */
  async close() {
    if (this.#fd < 0) return;
    this.#poller.close();
    native.unlisten(this.path, this.#fd);
    this.#fd = -1;
    const error = new CrossingsError('ERR_CLOSED', 'The server is closed.');
    this.#stop.abort(error);
    for (const waiter of this.#accepting.splice(0)) waiter.reject(error);
    await Promise.all(this.#ready.splice(0).map((channel) => channel.close()));
    process.removeListener('exit', this.#removeFile);
  }

  #removeFile = () => {
    if (this.#fd >= 0) native.unlisten(this.path, this.#fd);
    this.#fd = -1;
  };

  /** Remove the socket file when the process exits normally. @returns {this} */
  removeFileOnExit() {
    process.on('exit', this.#removeFile);
    return this;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.close();
  }
}

/**
 * Listen for clients at a path. Only the same user can connect, unless allowOtherUsers is set. A
 * socket file left behind by a dead server is replaced.
 * @param {string} path
 * @param {import('./options.js').ChannelOptions} [given] options of every channel
 * @returns {Promise<Server>}
 */
async function listen(path, given) {
  const where = readPath(path);
  const options = readOptions(given);
  options.signal?.throwIfAborted();
  const server = new Server(where, native.listen(where, options.allowOtherUsers), options).removeFileOnExit();
  options.signal?.addEventListener('abort', () => server.close(), { once: true });
  return server;
}

module.exports = { listen, Server };
