'use strict';
// The doorbell of a channel over shared memory: the handshake's socket. One byte wakes the peer, and the socket's end shows that
// the peer has gone.
const { CrossingsError } = require('./errors.js');
const { native } = require('./native.js');
const turn = require('./turn.js');

/**
 * What a Connection needs besides the memory of the two rings.
 * @typedef {object} Bell
 * @property {string | null} cannotBlock why no thread can wait for it, as a sentence; null if one can
 * @property {(onRing: () => void) => void} watch calls when the peer rings or has gone
 * @property {(yes: boolean) => void} keepAlive does watching keep the process alive? At first it does not
 * @property {() => boolean} ring wakes the peer; false if the peer may sleep on, because a system call failed
 * @property {() => boolean} isConnected takes the rings that have arrived. Throws ERR_PEER_CORRUPT if the peer broke the protocol
 * @property {() => void} [sendAtExit] sends what was put off for the next turn
 * @property {boolean} isSlow do system calls for the peer take long?
 * @property {number} tookMs the last one took so long
 * @property {(maySend: () => boolean) => boolean} [sendHeld] likewise, for a thread that is blocked; returns whether the kernel may take more
 * @property {() => void} [polled] a loop of try calls has found nothing for long
 * @property {(timeoutMs: number) => boolean} wait blocks this thread until the peer rings; true if it did
 * @property {() => void} stopWatching
 * @property {() => Promise<void> | undefined} close pending as long as something is on its way to the peer
 * @property {(region: import('./native.js').NativeRegion) => void} release
 */

/** @implements {Bell} */
class Doorbell {
  #fd;
  #times;
  /** @type {import('./native.js').Poller | undefined} */ #poller;
  #onRing = () => {};
  unreferenced = true; // see resumeNext() in turn.js
  cannotBlock = null;

  /** @param {number} fd a connected socket @param {InstanceType<typeof turn.CallTimes>} [times] of the calls on it */
  constructor(fd, times = new turn.CallTimes(native.threadMs)) {
    this.#fd = fd;
    this.#times = times;
  }

  get isSlow() {
    return this.#times.isSlow;
  }

  get tookMs() {
    return this.#times.tookMs;
  }

  /** @param {() => void} onRing */
  watch(onRing) {
    this.#onRing = onRing;
    this.#poller = new native.Poller(this.#fd, () => this.#rang());
  }

  #rang() {
    if (!this.isSlow && turn.mayAnswer()) return this.#onRing();
    this.#poller?.suspend();
    turn.resumeNext(this);
  }

  /** Called in a later turn: answer what had to wait. */
  resume() {
    if (this.#poller === undefined) return; // closed meanwhile
    this.#poller.resume();
    this.#onRing();
  }

  /** @param {boolean} yes */
  keepAlive(yes) {
    this.unreferenced = !yes;
    if (!yes) return this.#poller?.unref();
    this.#poller?.ref();
    turn.reference(this);
  }

  ring() {
    return this.#times.time(() => native.ring(this.#fd), true);
  }

  isConnected() {
    try {
      return this.#times.time(() => native.drain(this.#fd));
    } catch (error) {
      const { code, message } = /** @type {any} */ (error);
      throw code === 'ERR_PEER_CORRUPT' ? new CrossingsError(code, `${message}.`) : error;
    }
  }

  /** @param {number} timeoutMs */
  wait(timeoutMs) {
    return native.waitReadable(this.#fd, timeoutMs);
  }

  stopWatching() {
    this.#poller?.close();
    this.#poller = undefined;
  }

  close() {
    this.stopWatching();
    this.#times.time(() => native.closeFd(this.#fd));
    return undefined;
  }

  /** @param {import('./native.js').NativeRegion} region */
  release(region) {
    native.releaseRegion(region.handle, region.buffer);
  }
}

module.exports = { Doorbell };
