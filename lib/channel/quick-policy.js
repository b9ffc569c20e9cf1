'use strict';
// Decides when a request may poll for its response at once, and counts the one that does. Polling is fastest for a caller that
// awaits each response. For one that sends many requests in one tick, it would be slow: each request would wait for the response
// to the one before. A request that was alone from beginning to end suggests the former.

const MAX_QUICK = 16; // this many requests may poll before one has to be alone again

class QuickPolicy {
  #window;
  #left = 0;
  #wasAlone = false; // no other request was awaited when the last one was sent
  #number = 0; // of the request that polls now, and the size of its payload; -1: there is none
  #size = -1;
  // Its response was set aside: a hook of async_hooks has used the channel meanwhile, or a vm timeout ended the polling.
  /** @type {import('./requests.js').NumberedFrame | undefined} */ #answer;

  /** @param {InstanceType<typeof import('./request-window.js').RequestWindow>} window */
  constructor(window) {
    this.#window = window;
  }

  /** A request was sent that does not poll, or whose polling has ended. @param {boolean} isAlone no other is awaited */
  sent(isAlone) {
    this.#wasAlone = isAlone;
    if (!isAlone) this.#left = 0;
  }

  /** The response to such a request has arrived. */
  answered() {
    if (this.#wasAlone) this.#left = MAX_QUICK;
  }

  /** May a request with a payload of `size` bytes poll? Nothing else must be awaited. @param {number} size */
  admits(size) {
    return this.#left > 0 && this.#size < 0 && this.#window.admits(size);
  }

  /** A request that polls is about to be sent. @param {number} number @param {number} size of its payload */
  begin(number, size) {
    this.#left--;
    this.#window.enter(size);
    this.#size = size;
    this.#number = number;
    this.#answer = undefined;
  }

  /** It was not sent, or its response was taken, or it goes on as an ordinary request. */
  end() {
    if (this.#size < 0) return;
    if (!this.#answer) this.#window.leave(this.#size);
    this.#size = -1;
  }

  /** Is this the number of the request that polls? @param {number} number */
  is(number) {
    return this.#size >= 0 && number === this.#number;
  }

  /** Does the request with this number poll, and has no response yet? @param {number} number */
  awaits(number) {
    return this.is(number) && !this.#answer;
  }

  /** The response to the request that polls is set aside. @param {import('./requests.js').NumberedFrame} answer */
  answeredAside(answer) {
    this.#window.leave(this.#size);
    this.#answer = answer;
  }

  /** Its response, if it was set aside. */
  get answer() {
    return this.#answer;
  }
}

module.exports = { QuickPolicy };
