'use strict';
// The channel that users hold: its public calls, with the short paths that a hot conversation takes. Sending and receiving are
// JavaScript on mapped memory; the addon is called only to ring the doorbell of a peer that sleeps.
const { Arrivals } = require('./arrivals.js');
const { receiveBlocking } = require('./blocking.js');
const { Connection } = require('./connection.js');
const { Cursor } = require('./cursor.js');
const { CrossingsError } = require('./errors.js');
const { END, endOrThrow, iterator } = require('./iterators.js');
const { KIND } = require('./layout.js');
const { CLOSED, CORRUPT, OPEN, PEER_CLOSED, PEER_DIED } = require('./life.js');
const lookout = require('./lookout.js');
const { bytesOf, invalidArgument, readMax, readSignal, readTimeout } = require('./options.js');
const { Pacer } = require('./pacer.js');
const { Pump } = require('./pump.js');
const { Requests } = require('./requests.js');
const { toDuplex, toWebStreams } = require('./streams.js');
const turn = require('./turn.js');
const { PENDING } = require('./waiters.js');

const MOST_SINGLE_SENDS = 32;
const ENDED = Symbol('ended'); // instead of a message: the peer has closed and everything was read
const DONE = Promise.resolve();
const NO_BYTES = new Uint8Array(0);

/** @typedef {InstanceType<typeof Cursor>} ReadCursor */

class Channel {
  #connection;
  #reader;
  #arrivals;
  #requests;
  #pump;
  #pacer;
  #options;
  /** @type {Uint8Array} the last message sent: known to be bytes */ #lastBytes = NO_BYTES;
  #looked = false; // did the last #receiveNow() look in vain?
  /** @type {Promise<void> | undefined} publishes what send() held back */ #flush;
  #held = 0; // sends that it will publish
  #singles = 0; // sends to publish at once, because one by one is how they are awaited
  #receivedBefore = 0; // frames received before the last send
  /** @type {Promise<void> | undefined} */ #closing;

  /**
   * Use listen(), connect(), channelPair() or openChannel().
   * @param {import('./connection.js').Ends} ends
   * @param {ReturnType<typeof import('./options.js').readOptions>} options
   */
  constructor(ends, options) {
    this.#options = options;
    this.#connection = new Connection(
      ends,
      () => this.#onDoorbell(),
      (error) => this.#onEnd(error),
    );
    this.#reader = this.#connection.reader;
    this.#pacer = new Pacer(options);
    this.#requests = new Requests((payload, kind, number, signal) => this.#sendFrame(payload, kind, number, signal));
    this.#arrivals = new Arrivals(this.#connection, () => this.#pump.runSoon());
    this.#pump = new Pump(this.#connection, this.#arrivals, this.#requests, this.#pacer);
    /** The process at the other end, as the kernel knew it when the socket was connected. */
    this.peer = Object.freeze({ uid: ends.uid, pid: ends.pid });
  }

  /** The largest message that send() takes, bytes. */
  get maxMessageBytes() {
    return this.#connection.maxMessageBytes;
  }

  /** Has close() been called? */
  get closed() {
    return this.#connection.state === CLOSED;
  }

  // ---- Sending ----

  /**
   * Send without waiting.
   * @param {import('../index.js').Message} message
   * @returns {boolean} false if there is no room now, or other sends wait for it already
   */
  trySend(message) {
    const connection = this.#connection;
    if (connection.state !== OPEN) connection.throwError();
    const bytes = this.#bytesOf(message);
    if (this.#pump.senders.size > 0 || !connection.write(bytes, KIND.MESSAGE, 0)) return false;
    if (connection.corked === 0) connection.publish();
    return true;
  }

  /** The bytes of a message. A Uint8Array that is sent repeatedly is checked once. */
  #bytesOf(/** @type {any} */ message) {
    if (message === this.#lastBytes) return /** @type {Uint8Array} */ (message);
    if (this.#options.encode !== undefined || !(message instanceof Uint8Array)) return this.#encoded(message);
    this.#lastBytes = message;
    return message;
  }

  /** @param {unknown} message */
  #encoded(message) {
    const { encode } = this.#options;
    return bytesOf(encode ? encode(message) : message);
  }

  /**
   * Send, waiting for room. Messages go out in the order of the calls, and those of one tick are published together. The
   * bytes must not change until the promise is fulfilled.
   * @param {import('../index.js').Message} message
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<void>}
   */
  send(message, options) {
    try {
      if (this.#connection.state !== OPEN) this.#connection.throwError();
      const signal = options === undefined ? undefined : readSignal(options);
      return this.#sendFrame(this.#bytesOf(message), KIND.MESSAGE, 0, signal) ?? DONE;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} kind
   * @param {number} number
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<void> | undefined} undefined: sent
   */
  #sendFrame(bytes, kind, number, signal) {
    signal?.throwIfAborted();
    const connection = this.#connection;
    const { senders } = this.#pump;
    if (senders.size === 0) {
      if (connection.write(bytes, kind, number)) return this.#written();
      if (this.#mayLook() && this.#pacer.look(connection.writer) && connection.write(bytes, kind, number))
        return this.#written();
    }
    const attempt = () => (connection.write(bytes, kind, number) ? undefined : PENDING);
    const sent = senders.add(attempt, signal, () => this.#pump.run());
    this.#pump.begin(false);
    return sent;
  }

  /**
   * A frame was written: publish it now, or with the others of this tick? A message that answers one goes at once, because
   * the peer waits for it. Others are held until the end of the tick, unless that turned out to bring them one by one.
   * @returns {Promise<void> | undefined}
   */
  #written() {
    const connection = this.#connection;
    if (connection.corked === 0) {
      const received = this.#reader.messages;
      if (received === this.#receivedBefore && this.#singles === 0) {
        this.#held++;
        this.#flush ??= DONE.then(() => this.#flushHeld());
        return turn.take() ? this.#flush : turn.nextTurn();
      }
      if (received === this.#receivedBefore) this.#singles--;
      this.#receivedBefore = received;
      connection.publish();
    }
    return turn.take() ? undefined : turn.nextTurn();
  }

  #flushHeld() {
    this.#flush = undefined;
    this.#singles = this.#held === 1 ? MOST_SINGLE_SENDS : 0;
    this.#held = 0;
    this.#connection.flush();
  }

  /** Hold messages back until uncork() was called as often as cork(). They are then published together. */
  cork() {
    if (this.#connection.state === CLOSED) this.#connection.throwError();
    this.#connection.corked++;
  }

  uncork() {
    const connection = this.#connection;
    if (connection.state === CLOSED) connection.throwError();
    if (connection.corked === 0) return;
    connection.corked--;
    connection.flush();
  }

  // ---- Receiving without waiting ----

  /**
   * The next message, in memory of its own, or null if nothing is there now.
   * @returns {any} a Buffer, or what the option decode makes of it
   */
  tryReceive() {
    const bytes = this.#arrivals.take();
    return bytes === null ? this.#nothing(null) : this.#decoded(bytes);
  }

  /** @param {Buffer} bytes */
  #decoded(bytes) {
    const { decode } = this.#options;
    return decode === undefined ? bytes : decode(bytes);
  }

  /**
   * Nothing is there to read. Throws if nothing ever will be, because the peer died.
   * @template T @param {T} result @returns {T}
   */
  #nothing(result) {
    if (this.#connection.state === PEER_DIED && !this.#reader.isReady()) this.#connection.throwError();
    return result;
  }

  /**
   * Copy the next message into a buffer of the caller's. Allocates nothing. The option decode does not apply.
   * @param {Uint8Array} target
   * @param {number} [offset]
   * @returns {number} the message's size in bytes; -1 if nothing is there now
   */
  tryReceiveInto(target, offset = 0) {
    if (this.#arrivals.hasInbox) return this.#inboxInto(target, offset);
    const reader = this.#reader;
    const connection = this.#connection;
    // A caller that polls should get the message without delay: the usual cases are kept short.
    let size = connection.state < CORRUPT ? reader.peekMessage() : -2;
    if (size === -1 && connection.state === OPEN && !reader.mustRing) return -1;
    if (size < 0) {
      size = this.#arrivals.peek();
      if (size < 0) return this.#nothing(-1);
    }
    if (
      (target !== reader.target && !(target instanceof Uint8Array)) || // the target of the last call was checked then
      !(Number.isInteger(offset) && offset >= 0 && offset + size <= target.length)
    ) {
      throwBadTarget(target, offset, size);
    }
    reader.copy(reader.payloadOffset(), size, target, offset);
    reader.consume(size);
    if (reader.mustRing) connection.ringForRoom();
    return size;
  }

  /** @param {Uint8Array} target @param {number} offset */
  #inboxInto(target, offset) {
    const size = this.#arrivals.peekInbox().length;
    if (!(target instanceof Uint8Array) || !(Number.isInteger(offset) && offset >= 0 && offset + size <= target.length))
      throwBadTarget(target, offset, size);
    target.set(this.#arrivals.takeFromInbox(), offset);
    return size;
  }

  /**
   * Read the next message in place, without copying it.
   * @param {(message: ReadCursor) => void} read called at once, with a cursor that is valid until it returns
   * @returns {boolean} false if nothing is there now
   */
  tryRead(read) {
    if (typeof read !== 'function') invalidArgument('read', 'a function', read);
    if (this.#arrivals.hasInbox) {
      const message = this.#arrivals.takeFromInbox();
      readWith(new Cursor(message, 0, message.length), read);
      return true;
    }
    const size = this.#arrivals.peek();
    if (size < 0) return this.#nothing(false);
    const reader = this.#reader;
    const { position } = reader;
    try {
      readWith(new Cursor(reader.peerBytes, reader.payloadOffset(), size), read);
    } finally {
      // The function may have closed the channel, or received the message itself.
      if (this.#connection.isReadable && reader.position === position) this.#arrivals.consume(size);
    }
    return true;
  }

  // ---- Receiving, waiting ----

  /** The next message; PENDING if it has not come yet; ENDED if none will come. */
  #attempt() {
    const bytes = this.#arrivals.take();
    if (bytes !== null) return this.#decoded(bytes);
    if (this.#connection.state === OPEN) return PENDING;
    this.#nothing(null);
    return this.#connection.state === PEER_CLOSED && !this.#reader.isReady() ? ENDED : PENDING;
  }

  /** Like #attempt(), but looks for a while first, if looking has paid. */
  #receiveNow() {
    this.#looked = false;
    if (this.#pump.receivers.size > 0 || !turn.take()) return PENDING;
    const message = this.#attempt();
    if (message !== PENDING || this.#connection.state !== OPEN || !this.#mayLook()) return message;
    this.#connection.flush();
    this.#looked = !this.#pacer.look(this.#reader);
    return this.#looked ? PENDING : this.#attempt();
  }

  /** May a wait look synchronously? Not if that would hold up another channel of this thread. */
  #mayLook() {
    return this.#pacer.mayLook && lookout.isEmpty();
  }

  /**
   * Wait for a message that #receiveNow() did not find.
   * @param {AbortSignal | undefined} signal
   * @param {(message: unknown) => unknown} wrap makes the promise's value of a message, or of ENDED
   * @returns {Promise<any>}
   */
  #waitForMessage(signal, wrap) {
    if (!this.#connection.isReadable) this.#connection.throwError();
    const attempt = () => {
      const message = this.#attempt();
      return message === PENDING ? PENDING : wrap(message);
    };
    const received = this.#pump.receivers.add(attempt, signal, () => this.#pump.run());
    this.#pump.begin(this.#looked);
    return received;
  }

  /**
   * Wait for a message.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<any>} null: the peer closed and everything was read
   */
  receive(options) {
    try {
      const signal = options === undefined ? undefined : readSignal(options);
      signal?.throwIfAborted();
      const message = this.#receiveNow();
      if (message !== PENDING) return Promise.resolve(orNull(message));
      return this.#waitForMessage(signal, orNull);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Wait for a message and block this thread meanwhile: for workers and scripts.
   * @param {{timeout?: number}} [options] milliseconds
   * @returns {any} null: the peer closed and everything was read
   */
  receiveSync(options) {
    const timeoutMs = readTimeout(options);
    if (this.#pump.receivers.size > 0)
      throw new CrossingsError(
        'ERR_INVALID_ARGUMENT',
        'receiveSync() cannot run while a receive() is pending. Await that first.',
      );
    const message = receiveBlocking(
      { connection: this.#connection, pump: this.#pump, attempt: () => this.#attempt() },
      this.#options,
      timeoutMs,
    );
    return orNull(message);
  }

  /** Iterates over messages until the peer closes. Leaving the loop leaves the channel open. */
  [Symbol.asyncIterator]() {
    return iterator(() => this.#next(toResult));
  }

  /**
   * Iterates over arrays of messages: each holds all that are there, at least one and at most `max`.
   * @param {{max?: number}} [options] default 1024
   */
  batches(options) {
    const max = readMax(options);
    /** @type {unknown} */
    let failure; // of decode(), in the midst of a batch: the messages before it are delivered first
    const toBatch = (/** @type {unknown} */ first) => {
      if (first === ENDED) return END;
      const batch = [first];
      failure = this.#fill(batch, max);
      return { value: batch, done: false };
    };
    return iterator(() => {
      if (failure === undefined) return this.#next(toBatch);
      const rejected = Promise.reject(failure);
      failure = undefined;
      return rejected;
    });
  }

  /** Adds the messages that are there to a batch. @param {unknown[]} batch @param {number} max @returns {unknown} an error */
  #fill(batch, max) {
    const { decode } = this.#options;
    const arrivals = this.#arrivals;
    let leftBytes = this.#connection.peer.capacity; // a fast peer sends while we read: a batch has an end
    try {
      while (batch.length < max && leftBytes > 0) {
        const bytes = arrivals.take();
        if (bytes === null) break;
        leftBytes -= bytes.length;
        batch.push(decode === undefined ? bytes : decode(bytes));
      }
    } catch (error) {
      return error;
    } finally {
      turn.recheck();
    }
    return undefined;
  }

  /**
   * @param {(message: unknown) => any} wrap
   * @returns {Promise<IteratorResult<any, undefined>>}
   */
  #next(wrap) {
    try {
      if (this.closed) return Promise.resolve(END);
      const message = this.#receiveNow();
      if (message !== PENDING) return Promise.resolve(wrap(message));
      return this.#waitForMessage(undefined, wrap).catch((error) => endOrThrow(error, this.closed));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  // ---- Requests ----

  /**
   * Send a request and wait for the response. Responses may come in any order.
   * @param {import('../index.js').Message} message
   * @param {{signal?: AbortSignal, timeout?: number}} [options] timeout in milliseconds
   * @returns {Promise<any>}
   */
  request(message, options) {
    try {
      if (this.#connection.state !== OPEN) this.#connection.throwError();
      const signal = readSignal(options);
      const timeoutMs = readTimeout(options);
      const response = this.#requests.ask(this.#encoded(message), signal, timeoutMs, () => this.#pump.run());
      this.#pump.begin(false);
      const { decode } = this.#options;
      return decode === undefined ? response : response.then(decode);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Respond to the peer's requests.
   * @param {((message: any) => any) | null} handler returns the response, or a promise of it; what it throws becomes the
   *   requester's ERR_REQUEST_FAILED. null: handle no more.
   */
  onRequest(handler) {
    if (!this.#connection.isReadable) this.#connection.throwError();
    if (handler !== null && typeof handler !== 'function') invalidArgument('handler', 'a function or null', handler);
    this.#requests.handler =
      handler &&
      ((request) => {
        const response = handler(this.#decoded(request));
        return typeof response?.then === 'function'
          ? Promise.resolve(response).then((value) => this.#encoded(value))
          : this.#encoded(response);
      });
    this.#pump.begin(false);
  }

  // ---- Streams ----

  /**
   * This channel as a Node stream. In object mode each chunk is a message, as receive() returns it. In byte mode message
   * boundaries mean nothing, and a chunk larger than the largest message is split.
   * @param {{objectMode?: boolean}} [options]
   * @returns {import('node:stream').Duplex}
   */
  toDuplex(options) {
    return toDuplex(/** @type {any} */ (this), options);
  }

  /**
   * This channel as web streams of messages.
   * @returns {{readable: ReadableStream, writable: WritableStream}}
   */
  toWebStreams() {
    return toWebStreams(/** @type {any} */ (this));
  }

  // ---- Life ----

  /** A call that waits on this channel keeps the process alive (the default). */
  ref() {
    this.#pump.unreferenced = false;
    if (this.#connection.isOpen) this.#pump.run();
    return this;
  }

  /** A call that waits on this channel does not keep the process alive. */
  unref() {
    this.#pump.unreferenced = true;
    if (this.#connection.isOpen) this.#pump.run();
    return this;
  }

  /** What has happened on this channel so far, and what it has learned about waiting. */
  stats() {
    const { writer, doorbellsRung, doorbellsAnswered } = this.#connection;
    return {
      messagesSent: writer.messages,
      messagesReceived: this.#reader.messages,
      bytesSent: writer.payloadBytes,
      bytesReceived: this.#reader.payloadBytes,
      doorbellsRung,
      doorbellsAnswered,
      sleeps: this.#pump.sleeps,
      fullTurns: writer.fullTurns,
      emptyTurns: this.#reader.emptyTurns,
      ...this.#pacer.summary(),
    };
  }

  #onDoorbell() {
    // What the peer left is read first; receivers then learn of the end.
    this.#connection.answerDoorbell();
    this.#pump.wake();
  }

  /** @param {unknown} error */
  #onEnd(error) {
    this.#requests.failAll(error);
    this.#requests.handler = null;
    this.#pump.receivers.rejectAll(error);
    this.#pump.senders.rejectAll(error);
  }

  /**
   * Close this side. What was sent can still be read by the peer, which then finds the end. Calls that wait here are
   * rejected with ERR_CLOSED, and so is every later call.
   * @returns {Promise<void>}
   */
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    this.#connection.close();
    this.#arrivals.clear();
    this.#pump.run(); // nobody waits any more
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.close();
  }
}

/** @param {unknown} message */
const orNull = (message) => (message === ENDED ? null : message);

/** @param {unknown} message */
const toResult = (message) => (message === ENDED ? END : { value: message, done: false });

/** @param {ReadCursor} cursor @param {(message: ReadCursor) => void} read */
function readWith(cursor, read) {
  try {
    read(cursor);
  } finally {
    cursor.leave();
  }
}

/** The message stays unread. @param {unknown} target @param {unknown} offset @param {number} size @returns {never} */
function throwBadTarget(target, offset, size) {
  if (!(target instanceof Uint8Array)) return invalidArgument('target', 'a Uint8Array', target);
  if (!Number.isInteger(offset) || Number(offset) < 0) invalidArgument('offset', 'a non-negative integer', offset);
  throw new CrossingsError(
    'ERR_MESSAGE_TOO_LARGE',
    `target is too small: the message has ${size} bytes, and ${Math.max(0, target.length - Number(offset))} are free. The message stays unread.`,
  );
}

module.exports = { Channel };
