'use strict';
// The public Channel class, including the fast paths of a busy channel. Sending and receiving are plain JavaScript on mapped
// memory. The addon is called only to ring the doorbell of a sleeping peer, or to sleep and wake up here.
const { isUint8Array } = require('node:util').types;
const { Arrivals } = require('./arrivals.js');
const { receiveBlocking } = require('./blocking.js');
const { nextTick } = require('./clock.js');
const { Connection } = require('./connection.js');
const { Cursor } = require('./cursor.js');
const { CrossingsError } = require('./errors.js');
const { Incoming, orNull } = require('./incoming.js');
const { CLOSED, CORRUPT, OPEN, STATE_NAMES } = require('./life.js');
const {
  invalidArgument,
  readBatchOptions,
  readConcurrency,
  readReuse,
  readSize,
  readSignal,
  readTimeout,
} = require('./options.js');
const { Outgoing } = require('./outgoing.js');
const { Pacer } = require('./pacer.js');
const { Pump } = require('./pump.js');
const { QuickRequests } = require('./quick-requests.js');
const { Requests } = require('./requests.js');
const { toDuplex, toWebStreams } = require('./streams.js');

const DONE = Promise.resolve();

/** @typedef {InstanceType<typeof Cursor>} ReadCursor */

const REQUEST_OPTIONS = ['signal', 'timeout'];

class Channel {
  #connection;
  #reader;
  #arrivals;
  #requests;
  #pump;
  #pacer;
  #outgoing;
  #incoming;
  #quickRequests;
  #options;
  /** @type {(state: typeof STATE_NAMES[number]) => void} */ #resolveClosed = () => {};
  /** @type {Promise<void> | undefined} */ #closing;
  /** @type {Set<import('node:stream').Duplex>} */ #streams = new Set();
  /** @type {ReadCursor | null} of the last tryRead() */ #cursor = null;

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
      (state) => this.#resolveClosed(STATE_NAMES[state]),
    );
    this.#reader = this.#connection.reader;
    this.#pacer = new Pacer(options);
    this.#requests = new Requests(
      (payload, kind, number, done) => this.#outgoing.sendNumbered(payload, kind, number, done),
      {
        mine: this.#connection.capacity,
        peer: ends.peer.capacity,
      },
      options.maxRequests,
      () => this.#pump.runSoon(),
    );
    this.#arrivals = new Arrivals(
      this.#connection,
      this.#requests,
      () => this.#pump.dispatchSoon(),
      () => this.#pump.runSoon(),
    );
    this.#pump = new Pump(this.#connection, this.#arrivals, this.#requests, this.#pacer, () => {
      if (this.#requests.responder.handler !== null) this.close();
    });
    this.#outgoing = new Outgoing(this.#connection, this.#pump, this.#pacer, options.encode);
    this.#incoming = new Incoming(this.#connection, this.#arrivals, this.#pump, this.#pacer, options.decode);
    this.#quickRequests = new QuickRequests(
      this.#connection,
      this.#arrivals,
      this.#requests,
      this.#pump,
      this.#outgoing,
      this.#pacer,
    );
    /** The process at the other end, as reported by the kernel when the socket was connected. */
    this.peer = Object.freeze({ uid: ends.uid, pid: ends.pid });
    /**
     * Fulfilled when the channel has ended, with its state. The peer's end is noticed even if no call is pending; what the peer
     * sent before can still be read then.
     * @type {Promise<typeof STATE_NAMES[number]>}
     */
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#connection.watch();
  }

  /** The largest message that send() accepts, in bytes. */
  get maxMessageBytes() {
    return this.#connection.maxMessageBytes;
  }

  /** 'open', 'peer-closed', 'peer-died', 'peer-corrupt', or 'closed' after close() was called on this side. */
  get state() {
    return STATE_NAMES[this.#connection.state];
  }

  /** Does each frame carry a tag that its reader checks? */
  get authenticated() {
    return this.#connection.authenticated;
  }

  // ---- Sending ----

  /**
   * Send without waiting for room.
   * @param {import('../index.d.ts').Message} message
   * @returns {boolean} false if there is no room, or if earlier sends are still waiting for room
   */
  trySend(message) {
    return this.#outgoing.trySend(message);
  }

  /**
   * Send, waiting for room if necessary. Messages are sent in the order of the calls; consecutive sends in one tick are
   * usually published together. Do not change the bytes until the promise is fulfilled.
   * @param {import('../index.d.ts').Message} message
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<void>}
   */
  send(message, options) {
    try {
      if (this.#connection.state !== OPEN) this.#connection.throwError();
      const signal = options === undefined ? undefined : readSignal(options);
      return this.#outgoing.send(this.#outgoing.bytesOf(message), signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** @type {import('./streams.js').Send} */
  #sendChunk(message, signal, written) {
    if (this.#connection.state !== OPEN) this.#connection.throwError();
    return this.#outgoing.sendChunk(this.#outgoing.bytesOf(message), signal, written);
  }

  /**
   * Wait until a message would fit into the ring, without sending one. The room is not reserved: a send that comes first may
   * take it.
   * @param {number} [sizeBytes] of the message (default 0)
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<void>}
   */
  waitForRoom(sizeBytes = 0, options = undefined) {
    try {
      return this.#outgoing.waitForRoom(readSize(sizeBytes), readSignal(options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Hold messages back until uncork() has been called as often as cork(), then publish them together. */
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
   * Receive the next message, or null if none has arrived.
   * @returns {any} a Buffer with its own copy of the message, or what the option decode returns for it
   */
  tryReceive() {
    this.#pump.receiving();
    const bytes = this.#arrivals.take();
    if (bytes !== null) return this.#incoming.decoded(bytes);
    this.#refuseInTryRead('tryReceive()');
    return this.#incoming.nothing(null);
  }

  /**
   * Copy the next message into the caller's buffer. Allocates nothing. The option decode does not apply.
   * @param {Uint8Array} target
   * @param {number} [offset]
   * @returns {number} the message's size in bytes; -1 if no message has arrived
   */
  tryReceiveInto(target, offset = 0) {
    this.#pump.receiving();
    if (this.#arrivals.hasInbox) return this.#inboxInto(target, offset);
    const reader = this.#reader;
    const connection = this.#connection;
    reader.willRead();
    // Fast path for callers that poll: the common cases take as few steps as possible.
    let size = connection.state < CORRUPT ? reader.peekMessage() : -2;
    if (size === -1 && connection.state === OPEN && !reader.mustRing && !reader.suspended) {
      this.#pump.looked();
      return -1;
    }
    if (size < 0) {
      this.#refuseInTryRead('tryReceiveInto()');
      size = this.#arrivals.peek();
      if (size < 0) return this.#arrivals.hasInbox ? this.#inboxInto(target, offset) : this.#incoming.nothing(-1);
    }
    if (
      (target !== reader.target && !isUint8Array(target)) || // the previous call's target has been checked
      !(Number.isInteger(offset) && offset >= 0 && offset + size <= target.length)
    ) {
      throwBadTarget(target, offset, size);
    }
    if (this.#arrivals.hasInbox) return this.#inboxInto(target, offset);
    reader.copy(reader.payloadOffset(), size, target, offset);
    reader.consume(size);
    if (reader.mustRing) connection.ringForRoom();
    return size;
  }

  /** @param {Uint8Array} target @param {number} offset */
  #inboxInto(target, offset) {
    const size = this.#arrivals.peekInbox().length;
    if (!isUint8Array(target) || !(Number.isInteger(offset) && offset >= 0 && offset + size <= target.length))
      throwBadTarget(target, offset, size);
    target.set(this.#arrivals.takeFromInbox(), offset);
    return size;
  }

  /**
   * Read the next message in place, without copying it.
   * @param {(message: ReadCursor) => void} read called synchronously with a cursor that is valid until it returns or closes the channel
   * @returns {boolean} false if no message has arrived
   */
  tryRead(read) {
    if (typeof read !== 'function') invalidArgument('read', 'a function', read);
    const readMessage = (/** @type {Uint8Array} */ bytes, /** @type {number} */ from, /** @type {number} */ size) => {
      this.#cursor?.leave(); // if the stack was full when its callback returned
      this.#cursor = new Cursor(bytes, from, size);
      readWith(this.#cursor, read);
    };
    if (this.#arrivals.hasInbox) {
      if (this.#arrivals.healSoon()) return this.tryRead(read);
      this.#arrivals.readFromInbox(readMessage);
      return true;
    }
    this.#refuseInTryRead('tryRead()');
    this.#pump.receiving();
    const size = this.#arrivals.peek();
    if (this.#arrivals.hasInbox) return this.tryRead(read);
    if (size < 0) return this.#incoming.nothing(false);
    if (this.#arrivals.healSoon()) return this.tryRead(read);
    this.#arrivals.readInPlace(size, readMessage);
    return true;
  }

  /** @param {string} call */
  #refuseInTryRead(call) {
    if (!this.#reader.suspended || this.#connection.state === CLOSED) return;
    throw new CrossingsError(
      'ERR_INVALID_ARGUMENT',
      `${call} cannot run inside the callback of tryRead(): the message that is being read is not consumed yet. Return from the callback first.`,
    );
  }

  // ---- Receiving, waiting ----

  /**
   * Wait for a message.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<any>} null after the peer has closed and all its messages have been read
   */
  receive(options) {
    try {
      return this.#incoming.receive(options === undefined ? undefined : readSignal(options), orNull);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Block this thread until a message arrives. Intended for workers and scripts.
   * @param {{timeout?: number}} [options] milliseconds
   * @returns {any} null after the peer has closed and all its messages have been read
   */
  receiveSync(options) {
    const timeoutMs = readTimeout(options);
    this.#connection.checkMayBlock();
    this.#refuseInTryRead('receiveSync()');
    if (this.#pump.receivers.size > 0)
      throw new CrossingsError(
        'ERR_INVALID_ARGUMENT',
        'receiveSync() cannot run while a receive() is pending. Await the pending receive() first.',
      );
    const message = receiveBlocking(
      {
        connection: this.#connection,
        pump: this.#pump,
        attempt: () => this.#incoming.attempt(),
        hasInbox: () => this.#arrivals.hasInbox,
      },
      this.#options,
      timeoutMs,
    );
    return orNull(message);
  }

  /** Iterates over messages until the peer closes. Leaving the loop leaves the channel open. */
  [Symbol.asyncIterator]() {
    return this.#incoming.messages();
  }

  /**
   * The same.
   * @param {{reuse?: boolean}} [options] reuse: a message is valid only until the next one is asked for, which takes its memory
   */
  messages(options) {
    return readReuse(options) ? this.#incoming.reusedMessages() : this.#incoming.messages();
  }

  /**
   * Iterates over arrays of messages. Each array holds the messages available at that time: at least one, at most `max`.
   * @param {{max?: number, reuse?: boolean}} [options] max: default 1024. reuse: the messages of an array are valid only until
   *   the next array is asked for, because its messages take their memory; several times as fast
   */
  batches(options) {
    return this.#incoming.batches(readBatchOptions(options));
  }

  // ---- Requests ----

  /**
   * Send a request and wait for the response. Responses may come in any order.
   * @param {import('../index.d.ts').Message} message
   * @param {{signal?: AbortSignal, timeout?: number}} [options] timeout in milliseconds
   * @returns {Promise<any>}
   */
  request(message, options) {
    try {
      if (this.#connection.state !== OPEN) this.#connection.throwError();
      const signal = readSignal(options, REQUEST_OPTIONS);
      const timeoutMs = options === undefined ? Number.POSITIVE_INFINITY : readTimeout(options, REQUEST_OPTIONS);
      const response = this.#quickRequests.ask(this.#outgoing.bytesOf(message), signal, timeoutMs);
      const { decode } = this.#options;
      return decode === undefined ? response : response.then(decode);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Respond to the peer's requests.
   * @param {((message: any) => any) | null} handler returns the response, or a promise of it; if it throws or
   *   rejects, the requester gets ERR_REQUEST_FAILED. null removes the handler.
   * @param {{concurrency?: number}} [options] calls of the handler whose promises may be pending; further requests wait
   */
  onRequest(handler, options) {
    const concurrency = readConcurrency(options);
    if (this.#connection.state === CLOSED) this.#connection.throwError();
    if (handler !== null && typeof handler !== 'function') invalidArgument('handler', 'a function or null', handler);
    // A client can be corrupt before accept() returns its channel. A server that sets a handler there must not end because of that.
    if (!this.#connection.isReadable) return;
    const respond =
      handler &&
      ((/** @type {Buffer} */ request) => {
        const response = handler(this.#incoming.decoded(request));
        return !isUint8Array(response) && typeof response?.then === 'function'
          ? Promise.resolve(response).then((value) => this.#outgoing.bytesOf(value))
          : this.#outgoing.bytesOf(response);
      });
    this.#requests.responder.handle(respond, concurrency);
    if (handler === null) this.#pump.run();
    else this.#pump.begin(false);
  }

  // ---- Streams ----

  /**
   * This channel as a Node stream. In object mode each chunk is a message, as receive() returns it. In byte mode,
   * message boundaries have no meaning, and a chunk that exceeds maxMessageBytes is split.
   * @param {{objectMode?: boolean}} [options]
   * @returns {import('node:stream').Duplex}
   */
  toDuplex(options) {
    if (this.#connection.state === CLOSED) this.#connection.throwError();
    const next = (/** @type {AbortSignal | undefined} */ signal) => this.#incoming.next(signal);
    const nextTurn = () => this.#pump.nextTurn();
    const stream = toDuplex(
      /** @type {any} */ (this),
      next,
      (...parts) => this.#sendChunk(...parts),
      nextTurn,
      options,
    );
    this.#streams.add(stream);
    return stream.once('close', () => this.#streams.delete(stream));
  }

  /**
   * This channel as web streams of messages.
   * @returns {{readable: ReadableStream, writable: WritableStream}}
   */
  toWebStreams() {
    if (this.#connection.state === CLOSED) this.#connection.throwError();
    return toWebStreams(/** @type {any} */ (this), () => this.#incoming.next(undefined));
  }

  // ---- Lifetime ----

  /** Pending calls on this channel keep the process alive (the default). */
  ref() {
    this.#requests.keepAlive(true);
    this.#pump.keepAlive(true);
    return this;
  }

  /** Pending calls on this channel do not keep the process alive. */
  unref() {
    this.#requests.keepAlive(false);
    this.#pump.keepAlive(false);
    return this;
  }

  /** Counters of this channel so far, and the current state of its adaptive spinning. */
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
    // Messages that the peer sent before it closed or died are read first. Only then do receivers see the end.
    this.#connection.answerDoorbell();
    this.#pump.wake();
  }

  /** @param {unknown} error */
  #onEnd(error) {
    this.#requests.failAll(error);
    this.#requests.responder.end();
    this.#pump.receivers.rejectAll(error);
    this.#pump.senders.rejectAll(error);
    this.#pump.runSoon(); // no call is pending any more: leave the waiting phase
  }

  /**
   * Close this side. The peer can still read what was sent; after that it sees the end. Pending and later calls on this
   * side are rejected with ERR_CLOSED.
   * @returns {Promise<void>}
   */
  close() {
    try {
      this.#closing ??= this.#close();
      // After the reactions of all promises, and what they do in the next tick: the error of a read or a write in progress comes first,
      // for example that the peer has died.
      for (const stream of this.#streams) {
        DONE.then(() => nextTick(nextTick, () => stream.destroy()));
        this.#streams.delete(stream); // destroy() calls close() again
      }
      return this.#closing;
    } catch (error) {
      return Promise.reject(error); // the stack is full: the next call goes on
    }
  }

  #close() {
    this.#cursor?.leave(); // the memory that it reads is released
    const sent = this.#connection.close();
    this.#arrivals.clear();
    this.#outgoing.forget();
    this.#pump.run(); // no call is pending any more: leave the waiting phase
    return sent ?? Promise.resolve();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.close();
  }
}

/** @param {ReadCursor} cursor @param {(message: ReadCursor) => void} read */
function readWith(cursor, read) {
  try {
    read(cursor);
  } finally {
    cursor.leave();
  }
}

/** Throws; the message stays unread. @param {unknown} target @param {unknown} offset @param {number} size @returns {never} */
function throwBadTarget(target, offset, size) {
  if (!isUint8Array(target)) return invalidArgument('target', 'a Uint8Array', target);
  if (!Number.isInteger(offset) || Number(offset) < 0) invalidArgument('offset', 'a non-negative integer', offset);
  throw new CrossingsError(
    'ERR_MESSAGE_TOO_LARGE',
    `target is too small: the message has ${size} bytes; target has room for ${Math.max(0, target.length - Number(offset))}. The message stays unread.`,
  );
}

module.exports = { Channel };
