'use strict';
// The window for requests: how many may be open, that is, sent and not yet answered. Both sides keep to it. Without a limit, a
// peer could make the other side hold any number of requests and responses. With a limit that only the receiver applied, by
// not reading on, two sides that send each other many requests would block each other forever.

const MAX_OPEN_REQUESTS = 8192;

/**
 * @typedef {object} Capacities of the two rings, bytes
 * @property {number} mine
 * @property {number} peer
 */

/** Limit for the payloads of all open requests of one side, in bytes. A single larger one is allowed. @param {Capacities} capacities */
const maxOpenBytes = ({ mine, peer }) => Math.min(mine, peer);

/** Counts the open requests of this side. */
class RequestWindow {
  #capacity;
  #maxBytes;
  #open = 0;
  #bytes = 0;

  /** @param {Capacities} capacities */
  constructor(capacities) {
    this.#capacity = capacities.mine;
    this.#maxBytes = maxOpenBytes(capacities);
  }

  /** May a request of `size` bytes be sent now? One that is larger than the ring may: sending it fails at once. @param {number} size */
  admits(size) {
    if (this.#open === 0 || size > this.#capacity) return true;
    return this.#open < MAX_OPEN_REQUESTS && this.#bytes + size <= this.#maxBytes;
  }

  /** @param {number} size */
  enter(size) {
    this.#open++;
    this.#bytes += size;
  }

  /** @param {number} size */
  leave(size) {
    this.#open--;
    this.#bytes -= size;
  }
}

module.exports = { RequestWindow, MAX_OPEN_REQUESTS, maxOpenBytes };
