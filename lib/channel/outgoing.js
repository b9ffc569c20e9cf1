'use strict';
// The sending side of a channel: what becomes bytes, when it is published, and who waits for room.
const { KIND } = require('./layout.js');
const lookout = require('./lookout.js');
const { bytesOf } = require('./options.js');
const turn = require('./turn.js');
const { PENDING } = require('./waiters.js');

const MOST_SINGLE_SENDS = 32;
const DONE = Promise.resolve();
const NO_BYTES = new Uint8Array(0);

class Outgoing {
  #connection;
  #pump;
  #pacer;
  #encode;
  /** @type {Uint8Array} the last message sent: known to be bytes */ #lastBytes = NO_BYTES;
  /** @type {Promise<void> | undefined} publishes what send() held back */ #flush;
  #held = 0; // sends that it will publish
  #singles = 0; // sends to publish at once, because the user awaits them one by one
  #receivedBefore = 0; // frames received before the last send

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

  /** The bytes of a message. A Uint8Array that is sent repeatedly is checked once. */
  bytesOf(/** @type {any} */ message) {
    if (message === this.#lastBytes) return /** @type {Uint8Array} */ (message);
    if (this.#encode !== undefined) return bytesOf(this.#encode(message));
    if (!(message instanceof Uint8Array)) return bytesOf(message);
    this.#lastBytes = message;
    return message;
  }

  /** Send without waiting. @param {any} message @returns {boolean} */
  trySend(message) {
    const connection = this.#connection;
    if (!connection.isOpen) connection.throwError();
    const bytes = this.bytesOf(message);
    if (this.#pump.senders.size > 0 || !connection.write(bytes, KIND.MESSAGE, 0)) return false;
    if (connection.corked === 0) connection.publish();
    return true;
  }

  /**
   * Send a message, waiting for room.
   * @param {Uint8Array} bytes
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<void>}
   */
  send(bytes, signal) {
    signal?.throwIfAborted();
    if (this.#writeSoon(bytes, KIND.MESSAGE, 0)) return this.#written();
    return this.#waitForRoom(bytes, KIND.MESSAGE, 0, signal);
  }

  /**
   * Send a frame that carries a request's number, waiting for room.
   * @param {Uint8Array} bytes
   * @param {number} kind
   * @param {number} number
   * @param {AbortSignal | undefined} signal
   * @param {(error: unknown) => void} failed
   */
  sendNumbered(bytes, kind, number, signal, failed) {
    try {
      signal?.throwIfAborted();
      if (this.#writeSoon(bytes, kind, number)) this.#written();
      else this.#waitForRoom(bytes, kind, number, signal).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /**
   * Write a frame now, or after a look if the ring is full and looking has paid.
   * @param {Uint8Array} bytes @param {number} kind @param {number} number
   */
  #writeSoon(bytes, kind, number) {
    const connection = this.#connection;
    if (this.#pump.senders.size > 0) return false;
    if (connection.write(bytes, kind, number)) return true;
    if (!this.#pacer.mayLook || !lookout.isEmpty()) return false;
    return this.#pacer.look(connection.writer) && connection.write(bytes, kind, number);
  }

  /**
   * @param {Uint8Array} bytes @param {number} kind @param {number} number @param {AbortSignal | undefined} signal
   * @returns {Promise<void>}
   */
  #waitForRoom(bytes, kind, number, signal) {
    const attempt = () => (this.#connection.write(bytes, kind, number) ? undefined : PENDING);
    const sent = this.#pump.senders.add(attempt, signal, () => this.#pump.run());
    this.#pump.begin(false);
    return sent;
  }

  /**
   * A frame was written. Publish it now, or with the others of this tick? A message that follows a received one goes at
   * once, because the peer waits for it. Others are held until the end of the tick, unless the last tick brought only one.
   */
  #written() {
    const connection = this.#connection;
    if (connection.corked === 0) {
      const received = connection.reader.messages;
      if (received === this.#receivedBefore && this.#singles === 0) {
        this.#held++;
        this.#flush ??= DONE.then(() => this.#flushHeld());
        return turn.take() ? this.#flush : turn.nextTurn();
      }
      if (received === this.#receivedBefore) this.#singles--;
      this.#receivedBefore = received;
      connection.publish();
    }
    return turn.take() ? DONE : turn.nextTurn();
  }

  #flushHeld() {
    this.#flush = undefined;
    this.#singles = this.#held === 1 ? MOST_SINGLE_SENDS : 0;
    this.#held = 0;
    this.#connection.flush();
  }
}

module.exports = { Outgoing };
