'use strict';
// Requests and responses. Each request has a number, and its response carries the same number.
const { CrossingsError } = require('./errors.js');
const { KIND } = require('./layout.js');

const MAX_REASON_LENGTH = 1000; // characters of a handler's error message that are sent to the requester

/**
 * @typedef {(payload: Uint8Array, kind: number, number: number, signal: AbortSignal | undefined, failed: (error: unknown) => void) => void} SendFrame
 * @typedef {{resolve: (response: Buffer) => void, reject: (error: unknown) => void}} Outstanding
 */

class Requests {
  #send;
  #next = 1;
  /** @type {Map<number, Outstanding>} by number */ #outstanding = new Map();
  /** @type {((request: Buffer) => Uint8Array | Promise<Uint8Array>) | null} */ handler = null;

  /** @param {SendFrame} send */
  constructor(send) {
    this.#send = send;
  }

  /** Number of requests sent from this side that have no response yet. */
  get outstanding() {
    return this.#outstanding.size;
  }

  /** Must the ring be read even if no receive is pending? */
  get areExpected() {
    return this.#outstanding.size > 0 || this.handler !== null;
  }

  /**
   * Send a request.
   * @param {Uint8Array} payload
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @param {() => void} settled called if the request is aborted, times out, or cannot be sent
   * @returns {Promise<Buffer>}
   */
  ask(payload, signal, timeoutMs, settled) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const number = this.#next;
    this.#next = (this.#next + 1) | 0 || 1;
    return new Promise((resolve, reject) => {
      const limited = signal !== undefined || Number.isFinite(timeoutMs);
      const outstanding = limited
        ? this.#limit(number, { resolve, reject }, signal, timeoutMs, settled)
        : { resolve, reject };
      this.#outstanding.set(number, outstanding);
      this.#send(payload, KIND.REQUEST, number, signal, (error) => {
        if (this.#outstanding.delete(number)) outstanding.reject(error);
        settled();
      });
    });
  }

  /**
   * Make a request end when its signal is aborted or its timeout expires.
   * @param {number} number
   * @param {Outstanding} outstanding
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @param {() => void} settled
   * @returns {Outstanding}
   */
  #limit(number, { resolve, reject }, signal, timeoutMs, settled) {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    /** @param {unknown} error */
    const giveUp = (error) => {
      this.#outstanding.delete(number);
      end();
      reject(error);
      settled();
    };
    const abort = () => giveUp(signal?.reason);
    const late = () => giveUp(new CrossingsError('ERR_TIMEOUT', `No response within ${timeoutMs} ms.`));
    signal?.addEventListener('abort', abort, { once: true });
    // A timer whose time exceeds 2^31 - 1 ms would fire at once.
    const timer = Number.isFinite(timeoutMs) ? setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1)) : undefined;
    return {
      resolve: (response) => {
        end();
        resolve(response);
      },
      reject: (error) => {
        end();
        reject(error);
      },
    };
  }

  /**
   * Dispatch a request, a response or a refusal.
   * @param {number} kind
   * @param {number} number
   * @param {Buffer} payload not shared with any other receiver
   */
  take(kind, number, payload) {
    if (kind === KIND.REQUEST) {
      this.#respond(number, payload);
      return;
    }
    const outstanding = this.#outstanding.get(number);
    if (outstanding === undefined) return; // the request was aborted or has timed out
    this.#outstanding.delete(number);
    if (kind === KIND.RESPONSE) outstanding.resolve(payload);
    else outstanding.reject(new CrossingsError('ERR_REQUEST_FAILED', payload.toString('utf8')));
  }

  /** @param {number} number @param {Buffer} payload */
  #respond(number, payload) {
    try {
      if (this.handler === null) throw new CrossingsError('ERR_REQUEST_FAILED', 'The peer has no request handler.');
      const response = this.handler(payload);
      if (response instanceof Promise) {
        response.then(
          (bytes) => this.#sendResponse(number, bytes),
          (error) => this.#refuse(number, error),
        );
      } else {
        this.#sendResponse(number, response);
      }
    } catch (error) {
      this.#refuse(number, error);
    }
  }

  /** @param {number} number @param {Uint8Array} bytes */
  #sendResponse(number, bytes) {
    this.#send(bytes, KIND.RESPONSE, number, undefined, (error) => this.#refuse(number, error));
  }

  /** @param {number} number @param {unknown} error */
  #refuse(number, error) {
    const reason = Buffer.from(reasonOf(error).slice(0, MAX_REASON_LENGTH));
    // Sending fails only if the channel has ended. The requester is gone then, so that error is ignored.
    this.#send(reason, KIND.REFUSAL, number, undefined, rethrowOthers);
  }

  /** Reject every outstanding request. @param {unknown} error */
  failAll(error) {
    const all = [...this.#outstanding.values()];
    this.#outstanding.clear();
    for (const { reject } of all) reject(error);
  }
}

/** @param {unknown} error */
function rethrowOthers(error) {
  if (!(error instanceof CrossingsError)) throw error;
}

/** The message of any value that a handler threw. @param {any} error */
function reasonOf(error) {
  try {
    return String(error?.message ?? error);
  } catch {
    return 'The handler threw a value that cannot be converted to a string.'; // for example, an object without a prototype
  }
}

module.exports = { Requests };
