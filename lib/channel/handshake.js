'use strict';
// The handshake over a connected socket: each side creates its region, sends it, and maps the peer's. It does not block
// the event loop. A timeout, an AbortSignal or refuse() can end it.
const { clearTimeout, now, setTimeout } = require('./clock.js');
const { EMFILE, ENFILE } = require('node:os').constants.errno;
const { Channel } = require('./channel.js');
const { Doorbell } = require('./doorbell.js');
const { CrossingsError } = require('./errors.js');
const { native } = require('./native.js');
const { createRegion, receiveRegion } = require('./regions.js');
const { onAbort, throwIfAborted } = require('./signals.js');
const turn = require('./turn.js');

/** @typedef {ReturnType<typeof import('./options.js').readOptions>} Options */
/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */
/** @typedef {import('./native.js').NativeRegion} Region */
/** @typedef {import('./usage.js').Memory} Memory */

/**
 * What a server does besides the protocol. admit() and open() throw to refuse the peer.
 * @typedef {object} Checks
 * @property {(uid: number) => void} admit called before anything is sent
 * @property {(uid: number) => boolean} mayReceive false: not now
 * @property {(uid: number, mine: Memory, peer: Memory) => void} open called when the peer's region has been received
 * @property {(handshake: Handshake) => boolean} makeRoom called when there are no descriptors for this handshake; returns true if it has released some
 *
 * @typedef {object} Handshake
 * @property {Promise<AChannel>} channel
 * @property {number} uid of the peer; -1 if it is not known
 * @property {number} pid of the peer
 * @property {number} startedAt now()
 * @property {boolean} hasToWait the peer's hello is not received yet, because mayReceive() refuses it
 * @property {boolean} isLooking look() is active. It may drop other handshakes, which look once more; they must leave this one alone
 * @property {() => void} look receives the peer's hello if it is there
 * @property {(error: unknown) => void} refuse ends the handshake, unless it has ended
 * @property {(yes: boolean) => void} keepAlive does it keep the process alive? It does at first.
 */

const RETRY_MS = 5;

/** setTimeout() for any time; Infinity sets no timer. @param {() => void} call @param {number} ms */
function timer(call, ms) {
  return Number.isFinite(ms) ? setTimeout(call, Math.min(ms, 2 ** 31 - 1)) : undefined;
}

/** Refuse another user unless the options allow it. @param {{uid: number, pid: number}} peer @param {Options} options */
function authorize({ uid, pid }, options) {
  if (uid === process.geteuid?.() || options.allowOtherUsers) return;
  throw new CrossingsError(
    'ERR_NOT_AUTHORIZED',
    `Peer not authorized: process ${pid} runs as user ${uid}, not ${process.geteuid?.()}. Set the option allowOtherUsers to accept it.`,
  );
}

/**
 * Start the handshake over a connected socket. Closes the descriptor on failure, unless it is in use elsewhere.
 * @param {number} fd
 * @param {Options} options
 * @param {number} timeoutMs
 * @param {AbortSignal} [signal]
 * @param {Checks} [checks]
 * @param {boolean} [claims] is this the end of a socket pair that other processes may have inherited as well?
 * @returns {Handshake}
 */
function startHandshake(fd, options, timeoutMs, signal, checks, claims = false) {
  /** @type {Region | undefined} */
  let mine;
  /** @type {import('./native.js').Poller | undefined} */
  let poller;
  /** @type {NodeJS.Timeout | undefined} */
  let timeout;
  /** @type {NodeJS.Timeout | undefined} */
  let retry;
  let isReferenced = true;
  let inUse = false;
  let ended = false;
  let isLate = false; // its time is over
  const times = new turn.CallTimes(native.threadMs);
  const peer = { uid: -1, pid: -1 };
  /** @type {(channel: AChannel) => void} */
  let resolve;
  /** @type {(error: unknown) => void} */
  let reject;
  const connecting = new Promise((fulfill, fail) => {
    resolve = fulfill;
    reject = fail;
  });
  let stopListening = () => {};

  /** Nothing but the descriptor and the regions may outlive the handshake. */
  function end() {
    ended = true;
    poller?.close();
    clearTimeout(timeout);
    clearTimeout(retry);
    stopListening();
  }

  /** @param {unknown} error */
  function refuse(error) {
    if (ended) return;
    end();
    if (mine) native.releaseRegion(mine.handle, mine.buffer);
    if (inUse) native.disownFd(fd);
    else native.closeFd(fd);
    reject(error);
  }

  /** @param {boolean} yes */
  function keepAlive(yes) {
    if (ended) return;
    if (yes) poller?.ref();
    else poller?.unref();
    isReferenced = yes;
    for (const each of [timeout, retry]) yes ? each?.ref() : each?.unref();
    if (yes) turn.reference(later);
  }

  function onReadable() {
    if (!times.isSlow && turn.mayAnswer()) return answer();
    poller?.suspend();
    turn.resumeNext(later);
  }

  /** Called in a later turn. */
  function resume() {
    if (ended) return;
    if (isLate) return giveUp();
    poller?.resume();
    answer();
  }

  /** What this takes counts: a peer can make the kernel take milliseconds to receive its hello, and to close its socket. @param {() => void} work */
  function counted(work) {
    times.time(work);
  }

  function answer() {
    counted(look);
    if (ended) return;
    // Readable, but nothing to receive now: a process with a copy of this end hides the packet, or the memory of this user's
    // earlier regions is not free yet. Without a pause, this would be called all the time.
    poller?.suspend();
    retry = setTimeout(() => poller?.resume(), RETRY_MS);
    if (!isReferenced) retry.unref();
  }

  function look() {
    if (ended || self.isLooking) return;
    self.isLooking = true;
    try {
      receive();
    } finally {
      self.isLooking = false;
    }
  }

  function receive() {
    /** @type {Region | null} */
    let theirs = null;
    self.hasToWait = checks !== undefined && !checks.mayReceive(peer.uid);
    if (self.hasToWait) return; // the hello stays in the socket, and is looked at again soon
    try {
      theirs = withRoom(() => receiveRegion(fd, options, mine));
      if (!theirs) return;
      mine ??= withRoom(() => createRegion(options));
      if (checks) {
        checks.open(peer.uid, mine, theirs);
        sendHello(mine);
      }
      end();
      resolve(new Channel({ bell: new Doorbell(fd, times), mine, peer: theirs, ...peer }, options));
    } catch (error) {
      if (theirs) native.releaseRegion(theirs.handle, theirs.buffer);
      ended = false;
      refuse(error);
    }
  }

  function timedOut() {
    if (times.isSlow || !turn.mayAnswer()) {
      isLate = true;
      return turn.resumeNext(later);
    }
    giveUp();
  }

  /** Its time is over. Its hello may have arrived while it waited for its turn, or while this process did not return to the event loop. */
  function giveUp() {
    counted(look);
    if (ended) return;
    const error = new CrossingsError('ERR_TIMEOUT', `Handshake timed out after ${options.timeout} ms.`);
    counted(() => refuse(error));
  }

  /** Repeat an attempt that fails for lack of descriptors, as long as the server can release some. @template T @param {() => T} attempt @returns {T} */
  function withRoom(attempt) {
    for (;;) {
      try {
        return attempt();
      } catch (error) {
        const { errno } = /** @type {any} */ (error);
        if ((errno !== EMFILE && errno !== ENFILE) || !checks?.makeRoom(self)) throw error;
      }
    }
  }

  /** Does not block, because the socket's send buffer is empty. @param {Region} region */
  function sendHello(region) {
    native.sendHello(fd, region.handle);
  }

  /** Poll before anything is sent: this fails if the event loop polls the descriptor for something else. */
  function poll() {
    try {
      poller = new native.Poller(fd, onReadable);
    } catch (error) {
      inUse = /** @type {any} */ (error).code === 'ERR_INVALID_ARGUMENT';
      throw error;
    }
    poller.ref();
  }

  /** Two processes that have inherited the same end would share one handshake, and each would read half of it. */
  function claim() {
    if (native.claimEnd(fd)) return;
    native.lendFd(fd); // so that closing it does not end the connection of the process that was first
    throw new CrossingsError(
      'ERR_CLOSED',
      'The port was already opened, by this process or another one. Each child process needs its own channelPair().',
    );
  }

  const later = {
    resume,
    get unreferenced() {
      return !isReferenced;
    },
    get isSlow() {
      return times.isSlow;
    },
    get tookMs() {
      return times.tookMs;
    },
  };
  const self = {
    channel: connecting,
    ...peer,
    startedAt: now(),
    hasToWait: false,
    isLooking: false,
    look,
    refuse,
    keepAlive,
  };
  try {
    throwIfAborted(signal);
    Object.assign(peer, native.peerOf(fd));
    Object.assign(self, peer);
    authorize(peer, options);
    checks?.admit(peer.uid);
    poll();
    if (claims) claim();
    // A server sends its hello only when it has the client's, so a silent client costs it one descriptor and leaves none
    // in flight. The kernel limits how many of a user's descriptors may be in flight at a time.
    if (!checks) {
      mine = withRoom(() => createRegion(options));
      sendHello(mine);
    }
    stopListening = onAbort(signal, refuse);
    timeout = timer(timedOut, timeoutMs);
    look();
  } catch (error) {
    refuse(error);
  }
  return self;
}

/**
 * Perform the handshake over a connected socket. Closes the descriptor on failure.
 * @param {number} fd
 * @param {Options} options
 * @param {number} timeoutMs
 * @param {AbortSignal} [signal]
 * @param {boolean} [claims] see startHandshake()
 * @returns {Promise<AChannel>}
 */
const handshake = (fd, options, timeoutMs, signal, claims) =>
  startHandshake(fd, options, timeoutMs, signal, undefined, claims).channel;

module.exports = { authorize, handshake, startHandshake };
