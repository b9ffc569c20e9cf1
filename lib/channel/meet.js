'use strict';
// How two processes meet: listening, connecting, shaking hands. Nothing here blocks the event loop, and every wait has a
// limit and a signal.
const { setMaxListeners } = require('node:events');
const { CrossingsError } = require('./errors.js');
const { native } = require('./native.js');
const { Channel } = require('./channel.js');
const { readOptions, readPath, readSignal, refuse, shown } = require('./options.js');

const RETRY_MS = 10; // between attempts to connect while nobody listens yet
const MOST_HANDSHAKES = 64; // under way at a time; later clients wait in the kernel's queue
const MOST_WAITING = 128; // channels that nobody has accepted yet
const PAUSE_MS = 100; // after an accept that failed

/** @typedef {ReturnType<typeof readOptions>} Options */
/** @typedef {InstanceType<typeof Channel>} AChannel */

/** setTimeout for any number of milliseconds, Infinity included. @param {() => void} call @param {number} ms */
function timer(call, ms) {
  return Number.isFinite(ms) ? setTimeout(call, Math.min(ms, 2 ** 31 - 1)) : undefined;
}

/**
 * Shake hands over a connected socket. The descriptor is closed when that fails.
 * @param {number} fd
 * @param {Options} options
 * @param {number} timeoutMs
 * @param {AbortSignal} [signal]
 * @returns {Promise<AChannel>}
 */
function shakeHands(fd, options, timeoutMs, signal) {
  /** @type {import('./native.js').NativeRegion | undefined} */
  let mine;
  /** @type {import('./native.js').Poller | undefined} */
  let poller;
  /** @type {NodeJS.Timeout | undefined} */
  let late;
  /** @type {(() => void) | undefined} */
  let abort;
  /** @type {Promise<AChannel>} */
  const meeting = new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const { uid, pid } = native.peerOf(fd);
    if (uid !== process.geteuid?.() && !options.allowOtherUsers) {
      throw new CrossingsError(
        'ERR_NOT_AUTHORIZED',
        `The peer, process ${pid}, belongs to user ${uid}, not to ours; the option allowOtherUsers would let it in.`,
      );
    }
    const own = native.createRegion(options.capacity, options.wait === 'spin', options.sharedBuffers);
    mine = own;
    native.sendHello(fd, own.handle); // an empty socket takes a hello at once
    const look = () => {
      try {
        const peer = native.receiveHello(fd, options.sharedBuffers);
        if (!peer) return;
        poller?.close();
        poller = undefined;
        resolve(new Channel({ fd, mine: own, peer, uid, pid }, options));
      } catch (error) {
        reject(error);
      }
    };
    poller = new native.Poller(fd, look);
    poller.ref();
    late = timer(
      () => reject(new CrossingsError('ERR_TIMEOUT', `The peer did not shake hands within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    look();
  });
  return meeting
    .catch((error) => {
      poller?.close();
      if (mine) native.releaseRegion(mine.handle, mine.buffer);
      native.closeFd(fd);
      throw error;
    })
    .finally(() => {
      clearTimeout(late);
      if (abort) signal?.removeEventListener('abort', abort);
    });
}

/** A pause that a signal ends. @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(waiting);
      reject(signal?.reason);
    };
    const waiting = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Connect to a listener, waiting for it to appear: start order does not matter.
 * @param {string} path of its socket
 * @param {import('./options.js').ChannelOptions} [given]
 * @returns {Promise<AChannel>}
 */
async function connect(path, given) {
  const where = readPath(path);
  const options = readOptions(given);
  const { signal, timeout } = options;
  const deadline = performance.now() + timeout;
  for (;;) {
    signal?.throwIfAborted();
    const fd = native.connect(where);
    const left = deadline - performance.now();
    if (fd >= 0) return shakeHands(fd, options, Math.max(left, 1), signal);
    if (left <= 0) throw new CrossingsError('ERR_TIMEOUT', `Nobody has listened at ${where} for ${timeout} ms.`);
    await pause(Math.min(RETRY_MS, left), signal);
  }
}

/**
 * Make a channel of a descriptor that channelPair() made, inherited by this process or handed to this worker.
 * @param {number} fd it belongs to the channel from then on
 * @param {import('./options.js').ChannelOptions} [given]
 * @returns {Promise<AChannel>}
 */
async function openChannel(fd, given) {
  const options = readOptions(given);
  if (!Number.isInteger(fd) || fd < 0 || !native.isOurKind(fd)) {
    refuse(`openChannel takes a descriptor that channelPair() made, not ${shown(fd)}.`);
  }
  native.holdFd(fd);
  return shakeHands(fd, options, options.timeout, options.signal);
}

/** The end of a channelPair() that is handed to another process or thread. */
class Port {
  #fd;

  /** @param {number} fd */
  constructor(fd) {
    this.#fd = fd;
  }

  /** The descriptor: for a child's stdio, or to send to a worker, which hands it to openChannel(). */
  get fd() {
    if (this.#fd < 0) throw new CrossingsError('ERR_CLOSED', 'This end has been handed over or closed.');
    return this.#fd;
  }

  /** Give the descriptor away, to a worker of this process, which then owns it. */
  take() {
    const { fd } = this;
    native.giveAway(fd);
    this.#fd = -1;
    return fd;
  }

  /** Close this process's copy: once a child has been started with it. */
  close() {
    if (this.#fd >= 0) native.closeFd(this.#fd);
    this.#fd = -1;
  }
}

/**
 * A channel whose other end is handed to a child process or a worker thread.
 * @param {import('./options.js').ChannelOptions} [given] of this end
 * @returns {{channel: Promise<AChannel>, port: Port}} channel: fulfilled when the other end has been opened
 */
function channelPair(given) {
  const options = readOptions(given);
  const [mine, other] = native.socketPair();
  const channel = shakeHands(mine, options, options.timeout, options.signal);
  channel.catch(() => {}); // whoever awaits it is told; nobody need
  return { channel, port: new Port(other) };
}

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
    return this.#shaking < MOST_HANDSHAKES && this.#ready.length < MOST_WAITING;
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
      shakeHands(fd, this.#options, this.#options.timeout, this.#stop.signal)
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

module.exports = { listen, connect, channelPair, openChannel, Server, Port };
