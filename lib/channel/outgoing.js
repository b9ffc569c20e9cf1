'use strict';
// The sending side of a channel: encodes messages, decides when to publish them, and waits for room.
const { isUint8Array } = require('node:util').types;
const { KIND } = require('./layout.js');
const lookout = require('./lookout.js');
const { bytesOf, isPlain, ofFixedLength } = require('./options.js');
const { throwIfAborted } = require('./signals.js');
const turn = require('./turn.js');
const { AGAIN, PENDING, SERVED } = require('./waiters.js');

const MAX_SINGLE_SENDS = 32;
const FREE_CHUNKS = 16; // of a stream in a turn, whatever is left of its time: a program may write them and exit, so that no other turn comes
const FREE_BYTES = 64 * 1024; // of these chunks
const FREE_AT_EXIT = 1000; // in listeners of 'exit'; not more, for a program that writes as long as write() returns true
const DONE = Promise.resolve();
const NO_BYTES = new Uint8Array(0);

class Outgoing {
  #connection;
  #pump;
  #pacer;
  #encode;
  /** @type {Uint8Array} the last Uint8Array sent, which needs no second check */ #lastBytes = NO_BYTES;
  /** @type {Promise<void> | undefined} pending while sends are held back; publishes them */ #flush;
  #held = 0; // number of sends that #flush will publish
  #singles = 0; // remaining sends to publish at once, because the user awaits each one
  #turn = 0; // when #isFree() was called last; -1: as the process exits
  #free = 0; // chunks
  #freeBytes = 0;
  #receivedBefore = 0; // frames received in total when a send was last published at once

  /**
   * @param {InstanceType<typeof import('./connection.js').Connection>} connection
   * @param {InstanceType<typeof import('./pump.js').Pump>} pump
   * @param {InstanceType<typeof import('./pacer.js').Pacer>} pacer
   * @param {((value: any) => Uint8Array | string) | undefined} encode
   */
  constructor(connection, pump, pacer, encode) {
    this.#connection = connection;
    this.#pump = pump;
    this.#pacer = pacer;
    this.#encode = encode;
  }

  /** The bytes of a message. Without encode, a Uint8Array sent repeatedly is checked once. */
  bytesOf(/** @type {any} */ message) {
    if (message === this.#lastBytes) return /** @type {Uint8Array} */ (message);
    if (this.#encode !== undefined) return bytesOf(this.#encode(message));
    if (!isUint8Array(message) || !isPlain(message)) return bytesOf(message);
    const bytes = ofFixedLength(message);
    if (bytes === message) this.#lastBytes = message; // it stays of fixed length
    return bytes;
  }

  /** The channel is closed, and the program may keep it. */
  forget() {
    this.#lastBytes = NO_BYTES;
  }

  /** Send without waiting for room. @param {any} message @returns {boolean} */
  trySend(message) {
    const connection = this.#connection;
    if (!connection.isOpen) connection.throwError();
    const bytes = this.bytesOf(message);
    if (this.#pump.senders.size > 0 || !connection.write(bytes, KIND.MESSAGE, 0)) {
      this.#pump.looked();
      return false;
    }
    if (connection.corked === 0) connection.publish();
    return true;
  }

  /**
   * Send a message, waiting for room if necessary.
   * @param {Uint8Array} bytes
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<void>}
   */
  send(bytes, signal) {
    throwIfAborted(signal);
    if (!this.writeSoon(bytes, KIND.MESSAGE, 0)) return this.#waitForRoom(bytes, signal, undefined);
    const published = this.#written();
    return turn.takeUnlessEnding() ? published : this.#pump.nextTurn();
  }

  /**
   * The same for a stream. Most of the time there is nothing to wait for, and Node calls the write's callback before any reaction of a
   * promise, which would publish what send() holds back. So the message is published at once.
   * @type {import('./streams.js').Send}
   */
  sendChunk(bytes, signal, written) {
    throwIfAborted(signal);
    if (!this.writeSoon(bytes, KIND.MESSAGE, 0)) return this.#waitForRoom(bytes, signal, written);
    written?.();
    if (this.#connection.corked === 0) this.#connection.publish();
    return turn.takeUnlessEnding() || this.#isFree(bytes.length) ? undefined : this.#pump.nextTurn();
  }

  /** May a stream send one more chunk in this turn, whose time is spent? @param {number} size of the last one, bytes */
  #isFree(size) {
    const { isExiting } = this.#connection;
    const number = isExiting ? -1 : turn.turnNumber();
    if (number !== this.#turn) {
      this.#free = isExiting ? FREE_AT_EXIT : FREE_CHUNKS;
      this.#freeBytes = isExiting ? Number.POSITIVE_INFINITY : FREE_BYTES;
    }
    this.#turn = number;
    this.#freeBytes -= size;
    return this.#free-- > 0 && this.#freeBytes > 0;
  }

  /**
   * Wait until a message would fit.
   * @param {number} sizeBytes
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<void>}
   */
  waitForRoom(sizeBytes, signal) {
    throwIfAborted(signal);
    const attempt = () => (this.#connection.hasRoom(sizeBytes) ? undefined : PENDING);
    // Not behind sends that wait: the attempt loads the peer's read position, and the lookout waits until that changes.
    const isFirst = this.#pump.senders.size === 0;
    if ((isFirst || sizeBytes > this.#connection.maxMessageBytes) && attempt() !== PENDING)
      return turn.takeUnlessEnding() ? DONE : this.#pump.nextTurn();
    return this.#wait(attempt, signal);
  }

  /**
   * Send a request, a response or a refusal, waiting for room if necessary.
   * @type {import('./requests.js').SendNumbered}
   */
  sendNumbered = (bytes, kind, number, done) => {
    let isWritten = false;
    try {
      isWritten = this.writeSoon(bytes, kind, number);
    } catch (error) {
      done(error);
      return undefined;
    }
    if (isWritten) {
      done(); // first: a hook of async_hooks may read what the peer sends as soon as it sees this frame
      try {
        this.#written();
        turn.take();
      } catch {
        // The stack is full, but the frame is in the ring, and is published with the next one.
      }
      return undefined;
    }
    const cancel = this.#pump.senders.addCall(this.#attemptOf(bytes, kind, number, done), done);
    this.#pump.begin(false);
    return () => {
      if (cancel()) this.#pump.run();
    };
  };

  /**
   * Write a frame now. If the ring is full, poll for room first if the pacer allows it. Returns false if there is no room.
   * @param {Uint8Array} bytes @param {number} kind @param {number} number
   */
  writeSoon(bytes, kind, number) {
    const connection = this.#connection;
    if (this.#pump.senders.size > 0) return false;
    if (connection.write(bytes, kind, number)) return true;
    if (!this.#pacer.mayLook || !lookout.isEmpty()) return false;
    return this.#pacer.look(connection.writer) && connection.write(bytes, kind, number);
  }

  /**
   * An attempt to write a frame that waits for room.
   * @param {Uint8Array} bytes @param {number} kind @param {number} number
   * @param {(() => void) | undefined} written called as soon as the frame is in the ring
   */
  #attemptOf(bytes, kind, number, written) {
    return () => {
      if (turn.copies(bytes.length)) return AGAIN; // write() would begin a turn, and send it twice
      if (!this.#connection.write(bytes, kind, number)) return PENDING;
      written?.();
      return undefined;
    };
  }

  /** @param {Uint8Array} bytes @param {AbortSignal | undefined} signal @param {(() => void) | undefined} written @returns {Promise<void>} */
  #waitForRoom(bytes, signal, written) {
    return this.#wait(this.#attemptOf(bytes, KIND.MESSAGE, 0, written), signal);
  }

  /** @param {() => unknown} attempt @param {AbortSignal | undefined} signal @returns {Promise<void>} */
  #wait(attempt, signal) {
    const { senders } = this.#pump;
    const sent = senders.add(attempt, signal, () => this.#pump.run());
    const waiter = senders.newest;
    senders.newest = null;
    try {
      this.#pump.begin(false);
    } catch (error) {
      if (waiter !== null && waiter.attempt !== SERVED) {
        waiter.attempt = waiter.resolve = waiter.reject = SERVED; // it sends nothing later, and nobody has its promise
        throw error;
      }
    }
    return sent;
  }

  /**
   * Decide when to publish a frame that was just written. If anything was received since a send was last published at once,
   * publish now, because the peer is probably waiting for an answer. Otherwise, hold the frame until the end of the tick,
   * unless a recent tick held only a single send.
   * @returns {Promise<void>} fulfilled when the frame is published, unless the channel is corked
   */
  #written() {
    const connection = this.#connection;
    if (connection.corked === 0) {
      const received = connection.reader.messages;
      if (received === this.#receivedBefore && this.#singles === 0 && !connection.isExiting) {
        this.#held++;
        this.#flush ??= DONE.then(() => this.#flushHeld());
        return this.#flush;
      }
      if (received === this.#receivedBefore && this.#singles > 0) this.#singles--;
      this.#receivedBefore = received;
      connection.publish();
    }
    return DONE;
  }

  #flushHeld() {
    this.#flush = undefined;
    this.#singles = this.#held === 1 ? MAX_SINGLE_SENDS : 0;
    this.#held = 0;
    this.#connection.flush();
  }
}

module.exports = { Outgoing };
