'use strict';
// Responds to the peer's requests with the handler of onRequest(), and limits how many requests the peer may have open.
const { CrossingsError, corruptPeer } = require('./errors.js');
const { KIND } = require('./layout.js');
const { MAX_OPEN_REQUESTS, maxOpenBytes } = require('./request-window.js');

const MAX_REASON_LENGTH = 1000; // characters of a handler's error message that are sent to the requester

class Responder {
  #send;
  #maxBytes;
  #open = 0; // requests received whose response has not been written to the ring yet
  #openBytes = 0; // their payloads
  /** @type {((request: Buffer) => Uint8Array | Promise<Uint8Array>) | null} */ handler = null;

  /**
   * @param {import('./requests.js').SendNumbered} send
   * @param {import('./request-window.js').Capacities} capacities
   */
  constructor(send, capacities) {
    this.#send = send;
    this.#maxBytes = maxOpenBytes(capacities);
  }

  /** Count a request that has arrived. Throws if the peer has more open requests than its side of the window allows. @param {number} size */
  admit(size) {
    this.#open++;
    this.#openBytes += size;
    if (this.#open > MAX_OPEN_REQUESTS) throw corruptPeer(`more than ${MAX_OPEN_REQUESTS} open requests`);
    if (this.#open > 1 && this.#openBytes > this.#maxBytes)
      throw corruptPeer(`more than ${this.#maxBytes} bytes of open requests`);
  }

  /** @param {number} number @param {Buffer} payload */
  respond(number, payload) {
    const { length } = payload;
    try {
      if (this.handler === null) throw new CrossingsError('ERR_REQUEST_FAILED', 'The peer has no request handler.');
      const response = this.handler(payload);
      if (response instanceof Promise) {
        response.then(
          (bytes) => this.#sendResponse(number, length, bytes),
          (error) => this.#refuse(number, length, error),
        );
      } else {
        this.#sendResponse(number, length, response);
      }
    } catch (error) {
      this.#refuse(number, length, error);
    }
  }

  /** @param {number} number @param {number} length of the request @param {Uint8Array} bytes */
  #sendResponse(number, length, bytes) {
    this.#send(bytes, KIND.RESPONSE, number, (error) => {
      if (error === undefined) this.#written(length);
      else this.#refuse(number, length, error);
    });
  }

  /** @param {number} number @param {number} length of the request @param {unknown} error */
  #refuse(number, length, error) {
    const reason = Buffer.from(reasonOf(error).slice(0, MAX_REASON_LENGTH));
    this.#send(reason, KIND.REFUSAL, number, (failure) => {
      this.#written(length);
      // Sending fails only if the channel has ended. The requester is gone then, so that error is ignored.
      if (failure !== undefined && !(failure instanceof CrossingsError)) throw failure;
    });
  }

  /** @param {number} length of the request */
  #written(length) {
    this.#open--;
    this.#openBytes -= length;
  }
}

/** The message of any value that a handler threw. @param {any} error */
function reasonOf(error) {
  try {
    return String(error?.message ?? error);
  } catch {
    return 'The handler threw a value that cannot be converted to a string.'; // for example, an object without a prototype
  }
}

module.exports = { Responder, MAX_REASON_LENGTH };
