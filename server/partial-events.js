'use strict';
// Limits what a run in progress sends: an experiment may have new figures a thousand times a second, and its file may be large.
// The latest file is sent when the one before has had its time, without the samples, which no page draws.

const MIN_INTERVAL_MS = 500;
const BYTES_PER_SECOND = 256 << 10; // to each client
const MAX_EVENT_BYTES = 256 << 10; // a larger file is not sent until the run has ended

/** @param {string} key @param {unknown} value */
const withoutSamples = (key, value) => (key === 'samples' && Array.isArray(value) ? undefined : value);

class PartialEvents {
  /** @type {object | null} */ #waiting = null;
  /** @type {NodeJS.Timeout | null} until the next may be sent */ #timer = null;
  #send;

  /** @param {(text: string) => void} send receives a file as JSON */
  constructor(send) {
    this.#send = send;
  }

  /** @param {object} file of the run as of now */
  offer(file) {
    this.#waiting = file;
    if (!this.#timer) this.#flush();
  }

  #flush() {
    this.#timer = null;
    if (!this.#waiting) return;
    const text = JSON.stringify(this.#waiting, withoutSamples);
    this.#waiting = null;
    if (text.length <= MAX_EVENT_BYTES) this.#send(text);
    const pauseMs = Math.max(MIN_INTERVAL_MS, (1000 * text.length) / BYTES_PER_SECOND);
    this.#timer = setTimeout(() => this.#flush(), pauseMs);
  }

  /** Sends nothing more. */
  end() {
    clearTimeout(this.#timer ?? undefined);
    this.#waiting = null;
  }
}

module.exports = { PartialEvents, MAX_EVENT_BYTES, MIN_INTERVAL_MS };
