'use strict';
// Requests and their responses: each request has a number, and its response carries the same one.
const { CrossingsError } = require('./errors.js');
const { KIND } = require('./layout.js');

const LONGEST_REASON = 1000; // characters of an error message that are sent back to the requester

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

  /** How many requests of ours have no response yet. */
  get outstanding() {
    return this.#outstanding.size;
  }

  /** Must the ring be read even if nobody receives messages? */
  get areExpected() {
    return this.#outstanding.size > 0 || this.handler !== null;
  }

  /**
   * Send a request.
   * @param {Uint8Array} payload
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @param {() => void} settled called if the request ends without a response
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
   * A request that ends when its signal says so, or its time is up.
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
    // A longer time than a timer can take would make it fire at once.
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
   * Deliver a request or a response.
   * @param {number} kind
   * @param {number} number
   * @param {Buffer} payload owned by the receiver
   */
  take(kind, number, payload) {
    if (kind === KIND.REQUEST) {
      this.#respond(number, payload);
      return;
    }
    const outstanding = this.#outstanding.get(number);
    if (outstanding === undefined) return; // the request was aborted, or timed out
    this.#outstanding.delete(number);
    if (kind === KIND.RESPONSE) outstanding.resolve(payload);
    else outstanding.reject(new CrossingsError('ERR_REQUEST_FAILED', payload.toString('utf8')));
  }

  /** @param {number} number @param {Buffer} payload */
  #respond(number, payload) {
    try {
      if (this.handler === null) throw new CrossingsError('ERR_REQUEST_FAILED', 'The peer handles no requests.');
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
    const reason = Buffer.from(reasonOf(error).slice(0, LONGEST_REASON));
    // Fails only if the channel has ended: then there is no requester left to hear of it.
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

/** Why a handler failed, whatever it threw. @param {any} error */
function reasonOf(error) {
  try {
    return String(error?.message ?? error);
  } catch {
    return 'The handler threw a value that has no text.'; // such as an object without a prototype
  }
}

module.exports = { Requests };
