'use strict';
// The listening socket of a server over shared memory: accepts the clients and starts their handshakes.
const { startHandshake } = require('./handshake.js');
const { native } = require('./native.js');

/**
 * What a Server needs of its socket. A client is whatever accept() returns.
 * @template C
 * @typedef {object} Clients
 * @property {(onClients: () => void, onRefused: (error: unknown) => void) => void} watch calls as long as clients are waiting. Keeps the process alive at first
 * @property {() => void} pause
 * @property {() => void} resume
 * @property {() => void} ref
 * @property {() => void} unref
 * @property {() => C | undefined} accept undefined if no client is waiting
 * @property {(client: C, options: import('./handshake.js').Options, checks: import('./handshake.js').Checks) => import('./handshake.js').Handshake} handshake
 * @property {(handle: any) => boolean} isReleased has the channel of this region been closed?
 * @property {(handle: any) => boolean} isFree has its memory been freed?
 * @property {() => void} close removes the socket's file
 */

/** @implements {Clients<number>} */
class Listener {
  #fd;
  /** @type {import('./native.js').Poller | undefined} */ #poller;
  isReleased = native.isReleased;
  isFree = native.isFree;

  /** @param {number} fd a listening socket */
  constructor(fd) {
    this.#fd = fd;
  }

  /** @param {() => void} onClients */
  watch(onClients) {
    this.#poller = new native.Poller(this.#fd, onClients);
    this.#poller.ref();
  }

  pause() {
    this.#poller?.pause();
  }

  resume() {
    this.#poller?.resume();
  }

  ref() {
    this.#poller?.ref();
  }

  unref() {
    this.#poller?.unref();
  }

  accept() {
    const fd = native.accept(this.#fd);
    return fd < 0 ? undefined : fd;
  }

  /**
   * @param {number} fd of a client
   * @param {import('./handshake.js').Options} options
   * @param {import('./handshake.js').Checks} checks
   */
  handshake(fd, options, checks) {
    native.useFd(fd); // openChannel() must not take it
    return startHandshake(fd, options, options.timeout, undefined, checks);
  }

  close() {
    this.#poller?.close(); // before the descriptor: the event loop of a worker continues after its 'exit' event
    native.unlisten(this.#fd);
  }
}

module.exports = { Listener };
