'use strict';
// The doorbell of a channel over shared memory: the handshake's socket. One byte wakes the peer, and the socket's end shows that
// the peer has gone.
const { CrossingsError } = require('./errors.js');
const { native } = require('./native.js');

/**
 * What a Connection needs besides the memory of the two rings.
 * @typedef {object} Bell
 * @property {string | null} cannotBlock why no thread can wait for it, as a sentence; null if one can
 * @property {(onRing: () => void) => void} watch calls when the peer rings or has gone
 * @property {(yes: boolean) => void} keepAlive does watching keep the process alive? At first it does not
 * @property {() => boolean} ring wakes the peer; false if the peer may sleep on, because a system call failed
 * @property {() => boolean} isConnected takes the rings that have arrived. Throws ERR_PEER_CORRUPT if the peer broke the protocol
 * @property {() => void} [polled] a loop of try calls has found nothing for long
 * @property {(timeoutMs: number) => boolean} wait blocks this thread until the peer rings; true if it did
 * @property {() => void} stopWatching
 * @property {() => Promise<void> | undefined} close pending as long as something is on its way to the peer
 * @property {(region: import('./native.js').NativeRegion) => void} release
 */

/** @implements {Bell} */
class Doorbell {
  #fd;
  /** @type {import('./native.js').Poller | undefined} */ #poller;
  cannotBlock = null;

  /** @param {number} fd a connected socket */
  constructor(fd) {
    this.#fd = fd;
  }

  /** @param {() => void} onRing */
  watch(onRing) {
    this.#poller = new native.Poller(this.#fd, onRing);
  }

  /** @param {boolean} yes */
  keepAlive(yes) {
    if (yes) this.#poller?.ref();
    else this.#poller?.unref();
  }

  ring() {
    return native.ring(this.#fd);
  }

  isConnected() {
    try {
      return native.drain(this.#fd);
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
  }

  close() {
    this.#poller?.close();
    native.closeFd(this.#fd);
    return undefined;
  }

  /** @param {import('./native.js').NativeRegion} region */
  release(region) {
    native.releaseRegion(region.handle, region.buffer);
  }
}

module.exports = { Doorbell };
