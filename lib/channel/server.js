'use strict';
// listen(): accepts clients at a Unix socket path and creates a channel for each one.
const { callUnreferenced, now } = require('./clock.js');
const { resolve } = require('node:path');
const { CrossingsError } = require('./errors.js');
const { END, endOrThrow, iterator } = require('./iterators.js');
const { Listener } = require('./listener.js');
const { native } = require('./native.js');
const { MAX_PATH_BYTES, readPath, readSignal } = require('./options.js');
const { pause } = require('./pause.js');
const { Queue } = require('./queue.js');
const { checkRegions } = require('./regions.js');
const { isAborted, onAbort, throwIfAborted } = require('./signals.js');
const turn = require('./turn.js');
const { Usage } = require('./usage.js');

const MAX_HANDSHAKES = 128; // at the same time
const MAX_UNACCEPTED = 128; // open channels that accept() has not returned yet
const ACCEPTS_PER_TURN = 32; // clients accepted before timers and I/O run
const ACCEPTS_MS = 0.5; // a turn that has no time left accepts for so long: one client at a time would not keep up with a flood of them
const PAUSE_MS = 100; // before retrying a failed accept
const SILENT_MS = 100; // after which a silent client may lose its descriptor to one that is not accepted yet
const LOCK_RETRY_MS = 2; // between attempts to listen while another process holds the folder's lock
const LOCK_MS = 1000; // how long to try: the lock is held for microseconds, unless somebody abuses it

/** @typedef {ReturnType<typeof import('./options.js').readOptions>} Options */
/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */
/** @typedef {import('./handshake.js').Handshake} Handshake */

/** The servers whose socket files are removed when the process exits. @type {Set<Server>} */
const listening = new Set();

const closedError = () => new CrossingsError('ERR_CLOSED', 'The server is closed.');

/** Listens at a path and creates a channel for each client. */
class Server {
  #clients;
  #options;
  #closed = false;
  /** @type {AChannel[]} */ #ready = [];
  /** @type {InstanceType<typeof Queue<{resolve: (channel: unknown) => void, reject: (error: unknown) => void}>>} */
  #accepting = new Queue();
  #stopListening = () => {}; // to the option `signal`
  /** @type {Set<Handshake>} */ #handshakes = new Set(); // the oldest first
  #acceptsIn = -1; // the turn in which clients were last accepted, and what that took in it
  #acceptsMs = 0;
  #usage;
  #checks;
  #refusals = 0;
  /** @type {unknown} */ #lastRefusal = null;
  #unreferenced = false;

  /** @param {string} path @param {import('./listener.js').Clients<any>} clients @param {Options} options */
  constructor(path, clients, options) {
    /** The absolute path of the socket. */
    this.path = path;
    this.#clients = clients;
    this.#options = options;
    this.#usage = new Usage(options, clients);
    this.#checks = {
      admit: (/** @type {number} */ uid) => this.#usage.check(uid, 1, options.capacity),
      mayReceive: this.#usage.mayReceive.bind(this.#usage),
      open: this.#usage.add.bind(this.#usage),
      makeRoom: (/** @type {Handshake} */ handshake) => this.#makeRoom(0, handshake),
    };
    clients.watch(
      () => this.#acceptClients(),
      (error) => this.#refuse(error),
    );
    if (listening.size === 0) process.on('exit', removeFiles);
    listening.add(this);
    this.#stopListening = onAbort(options.signal, () => this.close());
  }

  /** Has close() been called? */
  get closed() {
    return this.#closed;
  }

  /** The number of failed accepts and handshakes, and the last error. */
  get refusals() {
    return { count: this.#refusals, last: this.#lastRefusal };
  }

  /**
   * Accept waiting clients, up to ACCEPTS_PER_TURN of them; if there are more, in the next turn. Some runtimes would call this again in
   * the same one. Their handshakes run concurrently, so an unresponsive client does not delay the others.
   */
  #acceptClients() {
    if (this.#acceptsIn !== turn.turnNumber()) this.#acceptsMs = 0;
    this.#acceptsIn = turn.turnNumber();
    for (let accepted = 0; accepted < ACCEPTS_PER_TURN && !this.#closed; accepted++) {
      if (!turn.mayAnswer() && this.#acceptsMs > ACCEPTS_MS) return this.#acceptInNextTurn(); // others may use up each turn, so there is some time for this in any case
      if (this.#ready.length >= MAX_UNACCEPTED) return this.#clients.pause(); // further clients wait in the kernel's queue
      const before = now();
      const goesOn = this.#acceptClient();
      const took = now() - before;
      turn.countCalls(took); // a client can make the kernel take milliseconds for its handshake, and for its end
      this.#acceptsMs += took;
      if (!goesOn) return;
    }
    this.#acceptInNextTurn();
  }

  /** Not through turn.resumeNext(): there, the server would wait for each channel that is busy, and this takes microseconds. */
  #acceptInNextTurn() {
    if (this.#closed) return;
    this.#clients.pause();
    if (this.#unreferenced) callUnreferenced(() => this.#resume(), 1);
    else turn.nextTurn().then(() => this.#resume());
  }

  /** @returns {boolean} true if there may be more clients to accept */
  #acceptClient() {
    let client;
    try {
      client = this.#clients.accept();
    } catch (error) {
      if (this.#makeRoom(SILENT_MS)) return true;
      this.#acceptFailed(error);
      return false;
    }
    if (client === undefined) return false;
    this.#begin(client);
    return true;
  }

  /**
   * For example, this process is out of descriptors. The client is still waiting, and the poller would report it again
   * immediately, so pause before retrying.
   * @param {unknown} error
   */
  #acceptFailed(error) {
    this.#refuse(error);
    this.#clients.pause();
    callUnreferenced(() => this.#resume(), PAUSE_MS); // the poller keeps the process alive if it is referenced
  }

  /**
   * Drop a client that has been silent for some time, for the resources that it holds. To accept, it must have been silent
   * for long, because the next client can wait in the kernel's queue. A client that has been accepted cannot wait.
   * @param {number} silentMs
   * @param {Handshake} [spared] is not dropped
   */
  #makeRoom(silentMs, spared) {
    const victim = findVictim(this.#handshakes, spared);
    if (!victim) return false;
    if (now() - victim.startedAt < silentMs) return false;
    this.#drop(victim, spared === undefined);
    return true;
  }

  #resume() {
    if (!this.#closed) this.#clients.resume();
  }

  /** Start the handshake with a client. @param {any} client */
  #begin(client) {
    const victim = this.#handshakes.size >= MAX_HANDSHAKES && findVictim(this.#handshakes);
    if (victim) this.#drop(victim);
    const handshake = this.#clients.handshake(client, this.#options, this.#checks);
    this.#handshakes.add(handshake);
    if (this.#unreferenced) handshake.keepAlive(false);
    handshake.channel
      .finally(() => this.#handshakes.delete(handshake))
      .then(
        (channel) => this.#deliver(channel),
        (error) => this.#refuse(error),
      );
  }

  /**
   * Refuse a client that has said nothing, unless its hello has just arrived. `looks`: for that. Not for the sake of another hello: without
   * descriptors, each client would drop the next one for its own hello, all of them in one turn.
   * @param {Handshake} handshake
   * @param {boolean} [looks]
   */
  #drop(handshake, looks = true) {
    this.#handshakes.delete(handshake);
    if (looks) handshake.look();
    const silentMs = Math.round(now() - handshake.startedAt);
    handshake.refuse(
      new CrossingsError(
        'ERR_TIMEOUT',
        handshake.hasToWait
          ? `Process ${handshake.pid} had to wait for ${silentMs} ms, because what its user's earlier clients left is not freed yet, and other clients are waiting.`
          : `Process ${handshake.pid} sent no hello for ${silentMs} ms, and other clients are waiting.`,
      ),
    );
  }

  /** @param {unknown} error */
  #refuse(error) {
    this.#refusals++;
    this.#lastRefusal = error;
  }

  /** @param {AChannel} channel */
  #deliver(channel) {
    if (this.#closed) {
      channel.close();
      return;
    }
    const { first } = this.#accepting;
    if (first === null) {
      this.#ready.push(channel);
      return;
    }
    this.#accepting.delete(first);
    first.value.resolve(channel);
  }

  /**
   * Wait for the next client and return its channel.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<AChannel>}
   */
  async accept(options) {
    const signal = readSignal(options);
    throwIfAborted(signal);
    return this.#accept(signal);
  }

  /** @param {AbortSignal} [signal] @param {Set<() => void>} [waiting] ends the calls that wait, with END @returns {Promise<any>} */
  async #accept(signal, waiting) {
    if (this.#closed) throw closedError();
    const ready = this.#ready.shift();
    if (ready) {
      this.#resume();
      return ready;
    }
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closedError()); // by a hook of async_hooks, which this promise calls
      const waiter = {
        resolve: (/** @type {unknown} */ channel) => {
          stop();
          resolve(channel);
        },
        reject: (/** @type {unknown} */ error) => {
          stop();
          reject(error);
        },
      };
      const stopListening = onAbort(signal, (reason) => {
        this.#accepting.delete(entry);
        reject(reason);
      });
      const entry = this.#accepting.add(waiter);
      const leave = () => {
        if (this.#accepting.delete(entry)) waiter.resolve(END);
      };
      const stop = () => {
        stopListening();
        waiting?.delete(leave);
      };
      waiting?.add(leave);
    });
  }

  /**
   * Iterates over the channels of new clients until the server is closed. A next() that waits when the loop is left ends, too: it must
   * not take a client that nobody gets.
   * @returns {AsyncIterableIterator<AChannel>}
   */
  [Symbol.asyncIterator]() {
    /** @type {Set<() => void>} */ const waiting = new Set();
    const next = async () => {
      try {
        const channel = this.#closed ? END : await this.#accept(undefined, waiting);
        return channel === END ? END : { value: channel, done: false };
      } catch (error) {
        return endOrThrow(error, this.#closed);
      }
    };
    return iterator(next, () => {
      for (const leave of [...waiting]) leave();
    });
  }

  /** Listening keeps the process alive (the default). */
  ref() {
    if (this.#unreferenced && !this.#closed) this.#clients.ref();
    this.#unreferenced = false;
    for (const handshake of this.#handshakes) handshake.keepAlive(true);
    return this;
  }

  /** Listening does not keep the process alive. */
  unref() {
    if (!this.#closed) this.#clients.unref();
    this.#unreferenced = true;
    for (const handshake of this.#handshakes) handshake.keepAlive(false);
    return this;
  }

  /** Stop listening and remove the socket file. Channels that accept() has returned stay open; all others are closed. */
  async close() {
    if (this.#closed) return;
    this.removeFile();
    const error = closedError();
    this.#stopListening();
    for (const handshake of [...this.#handshakes]) handshake.refuse(error);
    for (let { first } = this.#accepting; first !== null; first = this.#accepting.first) {
      this.#accepting.delete(first);
      first.value.reject(error);
    }
    await Promise.all(this.#ready.splice(0).map((channel) => channel.close()));
  }

  /** Stop listening without closing anything else. Called when the process exits. */
  removeFile() {
    if (!this.#closed) this.#clients.close();
    this.#closed = true;
    if (listening.delete(this) && listening.size === 0) process.off('exit', removeFiles);
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.close();
  }
}

/** Called when the process exits normally. */
function removeFiles() {
  for (const each of listening) each.removeFile();
}

/**
 * The handshake to drop when there are too many: the oldest one of the user that has the most. So no user can keep another
 * out, and silent clients cannot keep out others of their own user.
 * @param {Set<Handshake>} handshakes the oldest first
 * @param {Handshake} [spared] is not dropped
 * @returns {Handshake | undefined} undefined if there is none to drop
 */
function findVictim(handshakes, spared) {
  /** @type {Map<number, Handshake[]>} */
  const byUser = new Map();
  for (const handshake of handshakes) {
    if (handshake === spared || handshake.isLooking) continue;
    const those = byUser.get(handshake.uid);
    if (those) those.push(handshake);
    else byUser.set(handshake.uid, [handshake]);
  }
  /** @type {Handshake[]} */
  let most = [];
  for (const those of byUser.values()) if (those.length > most.length) most = those;
  return most[0];
}

/**
 * Listen, taking turns with other processes that are about to listen in the same folder. The first attempt is immediate. The server is made
 * in the same tick as its file: if the program exits next, it removes the file.
 * @param {string} path
 * @param {Options} options
 */
async function open(path, options) {
  const until = now() + LOCK_MS;
  for (;;) {
    const fd = native.listen(path, options.allowOtherUsers, now() >= until);
    if (fd >= 0) return serve(path, new Listener(fd), options);
    await pause(LOCK_RETRY_MS, options.signal);
  }
}

/**
 * Make the server of a socket that listens. If that fails, the socket does not stay: nobody would accept its clients.
 * @param {string} path @param {import('./listener.js').Clients<any>} clients @param {Options} options
 */
function serve(path, clients, options) {
  try {
    return new Server(path, clients, options);
  } catch (error) {
    clients.close();
    throw error;
  }
}

/**
 * Listen for clients at a path. Only the same user can connect, unless allowOtherUsers is set. A
 * socket file left behind by a dead server is replaced.
 * @param {string} path
 * @param {Options} options of every channel
 * @returns {Promise<Server>}
 */
async function listen(path, options) {
  const where = readPath(path);
  throwIfAborted(options.signal);
  checkRegions(options);
  const absolute = resolve(where);
  const short = Buffer.byteLength(absolute) <= MAX_PATH_BYTES ? absolute : where;
  const server = await open(short, options);
  if (options.signal && isAborted(options.signal)) await server.close();
  return server;
}

module.exports = { MAX_HANDSHAKES, Server, listen, serve };
