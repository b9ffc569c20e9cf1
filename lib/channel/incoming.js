'use strict';
// The receiving side of a channel: returns messages immediately or when they arrive, one at a time or in batches.
const { INBOX_OVERHEAD_BYTES } = require('./arrivals.js');
const { END, endOrThrow, iterator } = require('./iterators.js');
const { CLOSED, OPEN, PEER_CLOSED, PEER_DIED } = require('./life.js');
const lookout = require('./lookout.js');
const { ReusedSlab } = require('./reused-slab.js');
const { throwIfAborted } = require('./signals.js');
const turn = require('./turn.js');
const { Group, PENDING, SERVED } = require('./waiters.js');

const MAX_BATCH_BYTES = 2 ** 20; // copied before other channels, timers and I/O get a turn
const ENDED = Symbol('ended'); // returned instead of a message after the peer has closed and all its messages have been read

/** @typedef {import('./arrivals.js').Memory} Memory */

class Incoming {
  #connection;
  #reader;
  #arrivals;
  #pump;
  #pacer;
  #decode;
  /** Ends an iterator's calls of next() that wait: all of them, before one could get a message. @param {InstanceType<typeof Group>} waiting */
  #end = (waiting) => {
    this.#pump.receivers.endGroup(waiting, END);
    this.#pump.runSoon();
  };
  #size = 0; // of the last message that attempt() took
  #looked = false; // did the last #receiveNow() poll the ring without finding a message?

  /**
   * @param {InstanceType<typeof import('./connection.js').Connection>} connection
   * @param {InstanceType<typeof import('./arrivals.js').Arrivals>} arrivals
   * @param {InstanceType<typeof import('./pump.js').Pump>} pump
   * @param {InstanceType<typeof import('./pacer.js').Pacer>} pacer
   * @param {((bytes: Buffer) => any) | undefined} decode
   */
  constructor(connection, arrivals, pump, pacer, decode) {
    this.#connection = connection;
    this.#reader = connection.reader;
    this.#arrivals = arrivals;
    this.#pump = pump;
    this.#pacer = pacer;
    this.#decode = decode;
  }

  /** Apply the option decode, if there is one. @param {Buffer} bytes */
  decoded(bytes) {
    if (this.#decode === undefined) return bytes;
    turn.recheck(); // after this call, which may throw
    return this.#decode(bytes);
  }

  /**
   * Return `result`, the caller's value for "no message". Throws if the peer has died and left nothing more to read.
   * @template T @param {T} result @returns {T}
   */
  nothing(result) {
    this.#pump.looked(); // hooks of async_hooks may have moved a message to the inbox
    if (this.#connection.state === PEER_DIED && !this.#reader.isReady() && !this.#arrivals.hasInbox)
      this.#connection.throwError();
    return result;
  }

  /**
   * The next message; PENDING if it has not arrived yet; ENDED if the peer has closed and everything was read.
   * @param {Memory} [memory] where to copy it
   */
  attempt(memory) {
    const bytes = this.#arrivals.take(memory);
    if (bytes !== null) {
      this.#size = bytes.length;
      return this.decoded(bytes);
    }
    if (this.#connection.state === OPEN) return PENDING;
    if (this.#connection.state === PEER_DIED && !this.#reader.isReady()) this.#connection.throwError();
    return this.#connection.state === PEER_CLOSED && !this.#reader.isReady() ? ENDED : PENDING;
  }

  /**
   * The next message, as a promise, if it has arrived. Polls for a while if the pacer allows it and no other channel of this thread
   * is polling.
   * @param {(message: unknown) => unknown} wrap see receive()
   * @param {Memory | undefined} memory
   * @returns {Promise<any> | undefined}
   */
  #receiveNow(wrap, memory) {
    this.#looked = false;
    if (this.#pump.receivers.size > 0 || !turn.take()) return undefined;
    const message = this.attempt(memory);
    if (message !== PENDING) return Promise.resolve(wrap(message));
    if (this.#connection.state !== OPEN || !this.#pacer.mayLook || !lookout.isEmpty()) return undefined;
    return this.#look(wrap, memory);
  }

  /**
   * Poll for the next message. The peer may be waiting for the answer, so the promise is made before the message arrives.
   * @param {(message: unknown) => unknown} wrap
   * @param {Memory | undefined} memory
   * @returns {Promise<any> | undefined}
   */
  #look(wrap, memory) {
    this.#connection.flush();
    const expected = memory === undefined ? this.#arrivals.prepare() : null;
    const mayWrap = expected !== null && (wrap === orNull || wrap === toResult);
    const received = mayWrap ? Promise.resolve(wrap(expected)) : undefined;
    if (this.#connection.state !== OPEN) return undefined; // a hook of async_hooks has closed the channel
    this.#looked = !this.#pacer.look(this.#reader);
    const message = this.#looked ? PENDING : this.attempt(memory);
    if (message === PENDING) return undefined;
    return received !== undefined && message === expected ? received : Promise.resolve(wrap(message));
  }

  /**
   * The next message, as a promise.
   * @param {AbortSignal | undefined} signal
   * @param {(message: unknown) => unknown} wrap converts a message, or ENDED, into the promise's value
   * @param {Memory} [memory] where to copy it
   * @param {InstanceType<typeof Group>} [group] of the iterator
   * @returns {Promise<any>}
   */
  receive(signal, wrap, memory, group = undefined) {
    throwIfAborted(signal);
    return this.#receiveNow(wrap, memory) ?? this.#wait(signal, wrap, memory, group);
  }

  /**
   * A separate method: with its closure, receive() would allocate a context in each call.
   * @param {AbortSignal | undefined} signal
   * @param {(message: unknown) => unknown} wrap
   * @param {Memory | undefined} memory
   * @param {InstanceType<typeof Group> | undefined} group
   * @returns {Promise<any>}
   */
  #wait(signal, wrap, memory, group) {
    if (!this.#connection.isReadable) this.#connection.throwError();
    const attempt = () => {
      const later = this.attempt(memory);
      return later === PENDING ? PENDING : wrap(later);
    };
    const { receivers } = this.#pump;
    const received =
      group === undefined ? receivers.add(attempt, signal, () => this.#pump.run()) : receivers.addTo(group, attempt);
    const waiter = receivers.newest;
    receivers.newest = null;
    try {
      this.#pump.begin(this.#looked);
    } catch (error) {
      if (waiter !== null && waiter.attempt !== SERVED) {
        waiter.attempt = waiter.resolve = waiter.reject = SERVED; // it takes no message later, and nobody has its promise
        throw error;
      }
    }
    return received;
  }

  /** The next message or the end, as an iterator's result. Never throws. @param {AbortSignal | undefined} signal */
  async next(signal) {
    return this.receive(signal, toResult);
  }

  /** Iterates over messages until the peer closes. */
  messages() {
    if (this.#isClosedHere()) this.#connection.throwError();
    const arrivals = this.#arrivals;
    const { receivers } = this.#pump;
    const isPlain = this.#decode === undefined;
    return iterator((group) => {
      // Fast path for bursts: a message has already arrived. #next() handles every other case.
      if (isPlain && receivers.size === 0 && turn.take()) {
        try {
          const bytes = arrivals.takeIfReadable();
          if (bytes !== null) return Promise.resolve({ value: bytes, done: false });
        } catch (error) {
          return Promise.reject(error);
        }
      }
      return this.#next(toResult, undefined, group);
    }, this.#end);
  }

  /**
   * Like messages(), but each message takes the place of the one before it. Its promise is the same one each time as well: a
   * loop has read the result before it asks for the next one.
   */
  reusedMessages() {
    if (this.#isClosedHere()) this.#connection.throwError();
    const arrivals = this.#arrivals;
    const { receivers } = this.#pump;
    const isPlain = this.#decode === undefined;
    const memory = this.#newReusedSlab();
    const result = { value: /** @type {unknown} */ (undefined), done: /** @type {const} */ (false) };
    const received = Promise.resolve(result);
    return iterator((group) => {
      memory.clear();
      if (isPlain && receivers.size === 0 && turn.take()) {
        try {
          const bytes = arrivals.takeIfReadable(memory);
          if (bytes !== null) {
            result.value = bytes;
            return received;
          }
        } catch (error) {
          return Promise.reject(error);
        }
      }
      return this.#next(toResult, memory, group);
    }, this.#end);
  }

  /** Memory for messages that are valid until the next ones are asked for. */
  #newReusedSlab() {
    return new ReusedSlab(Math.min(this.#connection.capacity, MAX_BATCH_BYTES));
  }

  /**
   * Iterates over arrays of messages.
   * @param {{max: number, reuse: boolean}} options
   */
  batches({ max, reuse }) {
    if (this.#isClosedHere()) this.#connection.throwError();
    const memory = reuse ? this.#newReusedSlab() : undefined;
    const waiting = new Group();
    const toBatch = (/** @type {unknown} */ first) => {
      if (first === ENDED) return END;
      const batch = [first];
      waiting.failure = this.#fill(batch, max, memory);
      return { value: batch, done: false };
    };
    const next = () => {
      memory?.clear();
      try {
        waiting.throwFailure();
      } catch (error) {
        return Promise.reject(error).catch((reason) => endOrThrow(reason, this.#isClosedHere()));
      }
      return this.#next(toBatch, memory, waiting);
    };
    return iterator(next, this.#end, waiting);
  }

  /** Append the available messages to a batch. @param {unknown[]} batch @param {number} max @param {Memory | undefined} memory */
  #fill(batch, max, memory) {
    const arrivals = this.#arrivals;
    const decode = this.#decode;
    // A fast peer keeps sending while this side reads. The first message counts: there may be a second one that is as large.
    let leftBytes = Math.min(this.#connection.capacity, MAX_BATCH_BYTES) - this.#size;
    let ofMessage = false;
    try {
      if (decode === undefined) leftBytes = arrivals.takeMany(batch, max, leftBytes, memory);
      while (batch.length < max && leftBytes > 0 && (decode === undefined || turn.take())) {
        const before = this.#reader.messages;
        const bytes = arrivals.take(memory);
        if (bytes === null) break;
        // With those that were passed over: requests, and responses that nobody awaits.
        const frames = Math.max(1, this.#reader.messages - before);
        leftBytes -= bytes.length + frames * INBOX_OVERHEAD_BYTES;
        ofMessage = true;
        batch.push(this.decoded(bytes));
        ofMessage = false;
      }
    } catch (error) {
      return { error, ofMessage };
    } finally {
      turn.recheck();
    }
    return undefined;
  }

  /**
   * @param {(message: unknown) => any} wrap
   * @param {Memory | undefined} memory where to copy the message
   * @param {InstanceType<typeof Group>} group
   * @returns {Promise<IteratorResult<any, undefined>>}
   */
  #next(wrap, memory, group) {
    try {
      if (this.#isClosedHere()) return Promise.resolve(END);
      const result = this.receive(undefined, wrap, memory, group);
      // close() can interrupt only a pending receive. A result that is already there needs no catch().
      return this.#pump.receivers.size === 0
        ? result
        : result.catch((error) => endOrThrow(error, this.#isClosedHere()));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #isClosedHere() {
    return this.#connection.state === CLOSED;
  }
}

/** The value of receive(): the message, or null at the end. @param {unknown} message */
const orNull = (message) => (message === ENDED ? null : message);

/** The result of an iterator's next(). @param {unknown} message */
const toResult = (message) => (message === ENDED ? END : { value: message, done: false });

module.exports = { Incoming, orNull };
