'use strict';
// Answers that take longer to compute than to send. Each is kept as the bytes that are sent, so that asking for it again costs almost
// nothing. So is a refusal that depends on nothing but the file.
const { setImmediate: nextTurn } = require('node:timers/promises');
const { CostlyWork } = require('./costly-work.js');
const { HttpError } = require('./http-error.js');

const MAX_KEPT_BYTES = 32 << 20; // of one Answers, together; those that were asked for the longest ago are dropped first
const REFUSAL_BYTES = 1024; // what one is counted as

/** @typedef {InstanceType<typeof HttpError>} Refusal */

/** @param {Buffer | Refusal} answer */
const sizeOf = (answer) => (answer instanceof HttpError ? REFUSAL_BYTES : answer.length);

/** An answer that is being made, for all who have asked for it. */
class Coming {
  #stopping = new AbortController();
  #waiting = 0;
  /** @type {Promise<Buffer | null>} */ answer = Promise.resolve(null);

  /** Aborted when nobody waits any more. */
  get signal() {
    return this.#stopping.signal;
  }

  /** @param {AbortSignal} [disconnected] */
  join(disconnected) {
    this.#waiting++;
    const leave = () => {
      if (--this.#waiting === 0) this.#stopping.abort();
    };
    if (disconnected?.aborted) leave();
    else disconnected?.addEventListener('abort', leave, { once: true });
  }
}

/** Answers by keys. A key must say all that its answer depends on, such as the stamp of a file. */
class Answers {
  #work;
  /** @type {Map<string, Buffer | Refusal>} that was asked for the longest ago comes first */ #kept = new Map();
  #bytes = 0;
  /** @type {Map<string, Coming>} */ #coming = new Map();
  /** Fulfilled in the last turn of the event loop that was promised to a client. @type {Promise<unknown>} */ #lastTurn =
    Promise.resolve();

  /** @param {InstanceType<typeof CostlyWork>} [work] where later() takes its turn */
  constructor(work = new CostlyWork()) {
    this.#work = work;
  }

  /** @param {string} key */
  #find(key) {
    const answer = this.#kept.get(key);
    if (answer === undefined) return null;
    this.#kept.delete(key);
    this.#kept.set(key, answer);
    if (answer instanceof HttpError) throw answer;
    return answer;
  }

  /** @template {Buffer | Refusal} T @param {string} key @param {T} answer */
  #keep(key, answer) {
    const former = this.#kept.get(key); // if two have made it: all who had asked for the first one have disconnected
    this.#bytes -= former === undefined ? 0 : sizeOf(former);
    this.#kept.set(key, answer);
    this.#bytes += sizeOf(answer);
    for (const [oldest, old] of this.#kept) {
      if (this.#bytes <= MAX_KEPT_BYTES) break;
      this.#kept.delete(oldest);
      this.#bytes -= sizeOf(old);
    }
    return answer;
  }

  /** The answer, computed at once if it is not kept. @param {string} key @param {() => string} compute */
  now(key, compute) {
    return this.#find(key) ?? this.#keep(key, Buffer.from(compute()));
  }

  /** The answer; if it is not kept, computed when it is its turn, once for all who wait for it. @param {string} key @param {() => string} compute */
  async later(key, compute) {
    return /** @type {Buffer} */ (await this.shared(key, () => this.#work.run(compute)));
  }

  /**
   * The answer; if it is not kept, made once for all who wait for it.
   * @param {string} key
   * @param {(signal: AbortSignal) => Promise<string | null>} make null: the signal was aborted, because all of them have disconnected
   * @param {AbortSignal} [disconnected] aborted when this client disconnects
   * @returns {Promise<Buffer | null>}
   */
  async shared(key, make, disconnected) {
    const found = this.#find(key);
    if (found) return found;
    let coming = this.#coming.get(key);
    if (coming === undefined || coming.signal.aborted) {
      coming = new Coming();
      this.#coming.set(key, coming);
      coming.answer = this.#make(key, make, coming);
    }
    coming.join(disconnected);
    try {
      return await coming.answer;
    } finally {
      await this.#ownTurn();
    }
  }

  /** Hundreds of clients may have waited for the same answer. Sending megabytes to all of them in one turn would take seconds. */
  #ownTurn() {
    this.#lastTurn = this.#lastTurn.then(() => nextTurn());
    return this.#lastTurn;
  }

  /** @param {string} key @param {(signal: AbortSignal) => Promise<string | null>} make @param {Coming} coming */
  async #make(key, make, coming) {
    try {
      const text = await make(coming.signal);
      return text === null ? null : this.now(key, () => text);
    } catch (error) {
      if (error instanceof HttpError && error.status === 400) this.#keep(key, error);
      throw error;
    } finally {
      if (this.#coming.get(key) === coming) this.#coming.delete(key);
    }
  }
}

const REMEMBERED_MS = 5000;

/**
 * Reading and rendering the texts takes longer than sending them, so the answers are kept for some seconds: not longer, so that
 * an author sees a change.
 * @param {(name: string) => object} describe throws for an unknown name
 */
function remember(describe) {
  /** @type {Map<string, {text: string, at: number}>} */
  const kept = new Map();
  return (/** @type {string} */ name) => {
    const found = kept.get(name);
    if (found && performance.now() - found.at < REMEMBERED_MS) return found.text;
    const text = JSON.stringify(describe(name));
    kept.set(name, { text, at: performance.now() });
    return text;
  };
}

module.exports = { Answers, MAX_KEPT_BYTES, REFUSAL_BYTES, remember };
