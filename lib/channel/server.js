'use strict';
// listen(): accepts clients at the path of a Unix socket and gives a channel for each.
const { setMaxListeners } = require('node:events');
const { CrossingsError } = require('./errors.js');
const { handshake } = require('./handshake.js');
const { native } = require('./native.js');
const { readOptions, readPath, readSignal } = require('./options.js');

const MOST_HANDSHAKES = 64; // in progress at a time; later clients wait in the kernel's queue
const MOST_UNACCEPTED = 128; // channels that accept() has not returned yet
const PAUSE_MS = 100; // after an accept that failed

/** @typedef {ReturnType<typeof import('./options.js').readOptions>} Options */
/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

/** Listens at a path; gives a channel for each client. */
class Server {
  #fd;
  #options;
  #poller;
  /** @type {AChannel[]} */ #ready = [];
  /** @type {{resolve: (channel: AChannel) => void, reject: (error: unknown) => void}[]} */ #accepting = [];
  #stop = new AbortController();
  #shaking = 0;
  #refusals = 0;
  /** @type {unknown} */ #lastRefusal = null;
  #unreferenced = false;

  /** @param {string} path @param {number} fd @param {Options} options */
  constructor(path, fd, options) {
    setMaxListeners(0, this.#stop.signal); // every handshake under way listens
    /** Where this server listens. */
    this.path = path;
    this.#fd = fd;
    this.#options = options;
    this.#poller = new native.Poller(fd, () => this.#greet());
    this.#poller.ref();
  }

  /** Has close() been called? */
  get closed() {
    return this.#fd < 0;
  }

  /** Clients that were turned away, and why the last one was. */
  get refusals() {
    return { count: this.#refusals, last: this.#lastRefusal };
  }

  get #hasPlace() {
    return this.#shaking < MOST_HANDSHAKES && this.#ready.length < MOST_UNACCEPTED;
  }

  /** Shake hands with the clients that have come; each on its own, so that a silent one holds nobody up. */
  #greet() {
    while (this.#fd >= 0 && this.#hasPlace) {
      let fd = -1;
      try {
        fd = native.accept(this.#fd);
      } catch (error) {
        // Out of descriptors, say. They are still there, and would be told of again and again: look later.
        this.#refuse(error);
        this.#poller.pause();
        setTimeout(() => this.#greet(), PAUSE_MS).unref();
        return;
      }
      if (fd < 0) {
        this.#poller.resume();
        return;
      }
      this.#shaking++;
      handshake(fd, this.#options, this.#options.timeout, this.#stop.signal)
        .then(
          (channel) => this.#hand(channel),
          (error) => this.#refuse(error),
        )
        .finally(() => {
          this.#shaking--;
          this.#greet();
        });
    }
    if (this.#fd >= 0) this.#poller.pause(); // the others wait in the kernel's queue
  }

  /** @param {unknown} error */
  #refuse(error) {
    this.#refusals++;
    this.#lastRefusal = error;
  }

  /** @param {AChannel} channel */
  #hand(channel) {
    if (this.#fd < 0) {
      channel.close();
      return;
    }
    const waiter = this.#accepting.shift();
    if (waiter) waiter.resolve(channel);
    else this.#ready.push(channel);
  }

  /**
   * The next client's channel.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<AChannel>}
   */
  async accept(options) {
    const signal = readSignal(options);
    signal?.throwIfAborted();
    if (this.#fd < 0) throw new CrossingsError('ERR_CLOSED', 'This server is closed.');
    const ready = this.#ready.shift();
    if (ready) {
      this.#greet();
      return ready;
    }
    return new Promise((resolve, reject) => {
      const over = () => signal?.removeEventListener('abort', abort);
      const waiter = {
        resolve: (/** @type {AChannel} */ channel) => {
          over();
          resolve(channel);
        },
        reject: (/** @type {unknown} */ error) => {
          over();
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

  /** Iterates over clients until the server is closed. @returns {AsyncGenerator<AChannel, void, void>} */
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

  /** While it listens, the process stays alive (the default). */
  ref() {
    if (this.#unreferenced && !this.closed) this.#poller.ref();
    this.#unreferenced = false;
    return this;
  }

  /** The process may end although this server listens. */
  unref() {
    if (!this.closed) this.#poller.unref();
    this.#unreferenced = true;
    return this;
  }

  /** Stop listening and remove the socket file. Channels that were accepted stay open; others are closed. */
  async close() {
    if (this.#fd < 0) return;
    this.#poller.close();
    native.unlisten(this.path, this.#fd);
    this.#fd = -1;
    const error = new CrossingsError('ERR_CLOSED', 'This server is closed.');
    this.#stop.abort(error);
    for (const waiter of this.#accepting.splice(0)) waiter.reject(error);
    await Promise.all(this.#ready.splice(0).map((channel) => channel.close()));
    process.removeListener('exit', this.#removeFile);
  }

  #removeFile = () => {
    if (this.#fd >= 0) native.unlisten(this.path, this.#fd);
    this.#fd = -1;
  };

  /** The socket file goes with the process, if that ends by itself. @returns {this} */
  tidyOnExit() {
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
 * Listen for clients at a path. Its socket file is for this user only; one on which nobody answers any more is taken over.
 * @param {string} path
 * @param {import('./options.js').ChannelOptions} [given] of every channel
 * @returns {Promise<Server>}
 */
async function listen(path, given) {
  const where = readPath(path);
  const options = readOptions(given);
  options.signal?.throwIfAborted();
  const server = new Server(where, native.listen(where, options.allowOtherUsers), options).tidyOnExit();
  options.signal?.addEventListener('abort', () => server.close(), { once: true });
  return server;
}

module.exports = { listen, Server };
