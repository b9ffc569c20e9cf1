'use strict';
// Responds to the peer's requests with the handler of onRequest(), and limits how many requests the peer may have open and how
// many of them the handler works on at a time.
const { isUint8Array } = require('node:util').types;
const { CrossingsError, corruptPeer } = require('./errors.js');
const { KIND } = require('./layout.js');
const { isEnd } = require('./life.js');
const { ofFixedLength } = require('./options.js');
const { Queue } = require('./queue.js');
const { refusalOf } = require('./refusal.js');
const { MAX_OPEN_REQUESTS, maxOpenBytes } = require('./request-window.js');
const turn = require('./turn.js');

class Responder {
  #send;
  #onReady;
  #maxBytes;
  #maxWaitingBytes;
  open = 0; // requests received whose response has not been written to the ring yet
  #openBytes = 0; // their payloads
  #waitingBytes = 0; // responses and refusals that wait for room in the ring
  begun = 0; // responses, so far
  refusals = 0; // that wait for room
  #atWork = 0; // calls of the handler whose promise is pending
  /** @type {InstanceType<typeof Queue<{number: number, payload: Buffer}>>} requests that wait for one of them */ #waiting =
    new Queue();
  #maxAtWork = Number.POSITIVE_INFINITY;
  /** @type {((request: Buffer) => Uint8Array | Promise<Uint8Array>) | null} */ #handler = null;

  /**
   * @param {import('./requests.js').SendNumbered} send
   * @param {import('./request-window.js').Capacities} capacities
   * @param {() => void} onReady called when a request no longer has to wait: call respondToFirst() soon
   */
  constructor(send, capacities, onReady) {
    this.#send = send;
    this.#onReady = onReady;
    this.#maxBytes = maxOpenBytes(capacities);
    this.#maxWaitingBytes = capacities.mine;
  }

  /** Count a request that has arrived. Throws if the peer has more open requests than its side of the window allows. @param {number} size */
  admit(size) {
    this.open++;
    this.#openBytes += size;
    if (this.open > MAX_OPEN_REQUESTS) throw corruptPeer(`more than ${MAX_OPEN_REQUESTS} open requests`);
    if (this.open > 1 && this.#openBytes > this.#maxBytes)
      throw corruptPeer(`more than ${this.#maxBytes} bytes of open requests`);
  }

  get handler() {
    return this.#handler;
  }

  /**
   * @param {((request: Buffer) => Uint8Array | Promise<Uint8Array>) | null} handler
   * @param {number} [maxAtWork] calls of it whose promise is pending; further requests wait
   */
  handle(handler, maxAtWork = Number.POSITIVE_INFINITY) {
    this.#handler = handler;
    this.#maxAtWork = maxAtWork;
    if (this.hasReady) this.#onReady();
  }

  /** The channel has ended: no request gets a response any more. */
  end() {
    this.#handler = null;
    this.#waiting = new Queue();
  }

  /**
   * Must further requests wait? While as many responses wait for room as the ring holds, too: a peer that sends requests and reads no
   * response would make this side hold thousands of responses.
   */
  #isBusy() {
    if (this.#waitingBytes >= this.#maxWaitingBytes) return true;
    return this.#atWork >= this.#maxAtWork && this.#handler !== null;
  }

  /** Is there a request that has waited and no longer has to? */
  get hasReady() {
    return this.#waiting.size > 0 && !this.#isBusy();
  }

  /** @param {number} number @param {Buffer} payload */
  respond(number, payload) {
    if (this.#isBusy() || this.#waiting.size > 0) this.#waiting.add({ number, payload });
    else this.#respondNow(number, payload);
  }

  /** How many requests wait? */
  get waiting() {
    return this.#waiting.size;
  }

  /**
   * Respond to the request that has waited longest, if hasReady. Not done where a handler settles: a handler that settles in a microtask
   * would let the next one begin in the same turn of the event loop, and so on for all of them.
   */
  respondToFirst() {
    const { first } = this.#waiting;
    if (first === null) return;
    this.#waiting.delete(first);
    this.#respondNow(first.value.number, first.value.payload);
  }

  #settled() {
    this.#atWork--;
    if (this.hasReady) this.#onReady();
  }

  /** @param {number} number @param {Buffer} payload */
  #respondNow(number, payload) {
    const { length } = payload;
    this.begun++;
    try {
      if (this.#handler === null) throw new CrossingsError('ERR_REQUEST_FAILED', 'The peer has no request handler.');
      turn.recheck(); // after this call, which may throw
      const response = this.#handler(payload);
      if (isUint8Array(response)) this.#sendResponse(number, length, response);
      else this.#respondLater(number, length, response);
    } catch (error) {
      this.#refuse(number, length, error);
    }
  }

  /**
   * A separate method: with its closures, #respondNow() would allocate a context in each call.
   * @param {number} number @param {number} length of the request @param {Promise<Uint8Array>} response
   */
  #respondLater(number, length, response) {
    this.#atWork++;
    response
      .then(
        (bytes) => this.#sendResponse(number, length, bytes),
        (error) => this.#refuse(number, length, error),
      )
      .finally(() => this.#settled());
  }

  /** @param {number} number @param {number} length of the request @param {Uint8Array} response */
  #sendResponse(number, length, response) {
    const bytes = ofFixedLength(response);
    const size = bytes.length;
    this.#waitingBytes += size;
    this.#send(bytes, KIND.RESPONSE, number, (error) => {
      // After the end, a refusal would fail, too. Thousands of responses may end at once, and each failure costs a stack.
      if (error === undefined || isEnd(error)) return this.#written(length, size);
      this.#waitingBytes -= size;
      this.#refuse(number, length, error);
    });
  }

  /** @param {number} number @param {number} length of the request @param {unknown} error */
  #refuse(number, length, error) {
    const refusal = refusalOf(error);
    this.#waitingBytes += refusal.length;
    this.refusals++;
    this.#send(refusal, KIND.REFUSAL, number, (failure) => {
      this.refusals--;
      this.#written(length, refusal.length);
      // Sending fails only if the channel has ended. The requester is gone then, so that error is ignored.
      if (failure !== undefined && !(failure instanceof CrossingsError)) throw failure;
    });
  }

  /** @param {number} length of the request @param {number} size of its response or refusal */
  #written(length, size) {
    const wasBusy = this.#isBusy();
    this.open--;
    this.#openBytes -= length;
    this.#waitingBytes -= size;
    if (wasBusy && this.hasReady) this.#onReady();
  }
}

module.exports = { Responder };
