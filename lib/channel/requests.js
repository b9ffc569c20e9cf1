'use strict';
// Requests and answers over a channel's messages: each request has a number, and its answer bears the same.
const { CrossingsError } = require('./errors.js');
const { KIND } = require('./layout.js');

/**
 * @typedef {(payload: Uint8Array, kind: number, number: number, signal?: AbortSignal) => Promise<void>} SendFrame
 * @typedef {{resolve: (answer: Buffer) => void, reject: (error: unknown) => void}} Asked
 */

class Requests {
  #send;
  #next = 1;
  /** @type {Map<number, Asked>} */ #asked = new Map();
  /** @type {((request: Buffer) => Promise<Uint8Array>) | null} */ handler = null;

  /** @param {SendFrame} send */
  constructor(send) {
    this.#send = send;
  }

  /** How many answers are awaited. */
  get asked() {
    return this.#asked.size;
  }

  /** Are the peer's requests answered here? */
  get serves() {
    return this.handler !== null;
  }

  /** Must the ring be read although nobody receives messages? */
  get waiting() {
    return this.#asked.size > 0 || this.handler !== null;
  }

  /**
   * @param {Uint8Array} payload
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @param {() => void} settled called when it is over, however
   * @returns {Promise<Buffer>}
   */
  ask(payload, signal, timeoutMs, settled) {
    const number = this.#next;
    this.#next = (this.#next + 1) | 0 || 1;
    return new Promise((resolve, reject) => {
      /** @type {NodeJS.Timeout | undefined} */
      let timer;
      const over = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.#asked.delete(number);
        settled();
      };
      /** @param {unknown} error */
      const fail = (error) => {
        over();
        reject(error);
      };
      const abort = () => fail(signal?.reason);
      if (signal?.aborted) return reject(signal.reason);
      this.#asked.set(number, {
        resolve: (answer) => {
          over();
          resolve(answer);
        },
        reject: fail,
      });
      signal?.addEventListener('abort', abort, { once: true });
      if (Number.isFinite(timeoutMs)) {
        const late = () => fail(new CrossingsError('ERR_TIMEOUT', `No answer came within ${timeoutMs} ms.`));
        timer = setTimeout(late, timeoutMs);
      }
      this.#send(payload, KIND.REQUEST, number, signal).catch(fail);
    });
  }

  /**
   * A numbered frame has come.
   * @param {number} kind
   * @param {number} number
   * @param {Buffer} payload the receiver's own
   */
  take(kind, number, payload) {
    if (kind === KIND.REQUEST) {
      this.#answer(number, payload);
      return;
    }
    // An answer that nobody awaits any more was aborted or came too late.
    const asked = this.#asked.get(number);
    if (kind === KIND.ANSWER) asked?.resolve(payload);
    else asked?.reject(new CrossingsError('ERR_REQUEST_FAILED', payload.toString('utf8')));
  }

  /** @param {number} number @param {Buffer} payload */
  async #answer(number, payload) {
    try {
      if (!this.handler) throw new Error('The peer answers no requests.');
      await this.#send(await this.handler(payload), KIND.ANSWER, number);
    } catch (error) {
      const reason = Buffer.from(String(/** @type {any} */ (error)?.message ?? error).slice(0, 1000));
      await this.#send(reason, KIND.REFUSAL, number).catch(() => {}); // the peer has gone: nobody asks any more
    }
  }

  /** @param {unknown} error */
  failAll(error) {
    for (const { reject } of [...this.#asked.values()]) reject(error);
  }
}

module.exports = { Requests };
