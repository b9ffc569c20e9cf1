'use strict';
// A queue of requests or responses that were read from the ring and have not been dispatched yet.

/** @typedef {import('./requests.js').NumberedFrame} NumberedFrame */

const CHUNK = 1024; // frames whose places are given back together

class Frames {
  /** @type {(NumberedFrame | undefined)[]} */ #list = [];
  #next = 0; // index of the first one

  get size() {
    return this.#list.length - this.#next;
  }

  /** @param {NumberedFrame} frame */
  add(frame) {
    if (this.size > 0) return void this.#list.push(frame);
    this.#list = [frame]; // push() would make room for 17
    this.#next = 0;
  }

  /** The queue must not be empty. */
  take() {
    const frame = /** @type {NumberedFrame} */ (this.#list[this.#next]);
    this.#list[this.#next++] = undefined; // so that the array does not keep its payload
    return frame;
  }

  /** @param {NumberedFrame} frame the last that was taken */
  putBack(frame) {
    this.#list[--this.#next] = frame;
  }

  /** Give back the places of those that were taken. Not after each: during a receiveSync(), as many may be set aside as requests are pending. */
  trim() {
    const used = this.#next;
    if (used < CHUNK || used < this.#list.length / 2) return;
    this.#list = this.#list.slice(used);
    this.#next = 0;
  }

  clear() {
    this.#list = [];
    this.#next = 0;
  }
}

module.exports = { Frames };
