'use strict';
// A channel: two rings, one each way, and a socket as doorbell and proof of life. Sending and receiving are JavaScript on
// mapped memory (ring.js); the addon is called only to ring a peer that sleeps.
const { CrossingsError } = require('./errors.js');
const { native } = require('./native.js');
const { Cursor } = require('./cursor.js');
const { CLOSED_WORD, KIND, WAITING_FOR_DATA_WORD, WAITING_FOR_ROOM_WORD, maxMessage } = require('./layout.js');
const { bytesOf, readSignal, readTimeout, refuse, shown } = require('./options.js');
const { Requests } = require('./requests.js');
const { RingReader, RingWriter } = require('./ring.js');
const { toDuplex, toWebStreams } = require('./streams.js');

// A burst is served in one turn of the event loop up to so many messages; then timers and I/O have theirs.
const FAIR_TURN = 1000;
// A waiting channel looks for so long before it gives the event loop a turn.
const LOOK_MICROS = 10;
const INBOX_OVERHEAD_BYTES = 128; // of a message in the inbox, so that empty ones count, too
const SLAB_BYTES = 64 * 1024;
const SLAB_MESSAGE_BYTES = 1024; // larger ones get memory of their own
const DONE = Promise.resolve();
const NO_BYTES = new Uint8Array(0);

/** @typedef {InstanceType<typeof Cursor>} ReadCursor */

/** Where a channel is in its life. What kind of end it has found is never forgotten again. */
const OPEN = 0;
const PEER_CLOSED = 1; // what it sent can still be read; then null
const PEER_DIED = 2; // what it sent can still be read; then ERR_PEER_DIED
const CORRUPT = 3; // nothing more can be believed
const CLOSED = 4; // by us

/**
 * Somebody who waits. `attempt` answers undefined: not yet.
 * @typedef {{attempt: () => any, resolve: (value: any) => void, reject: (error: unknown) => void, drop: () => void}} Waiter
 */

class Channel {
  #state = OPEN;
  #fd;
  #mine;
  #peer;
  #options;
  #writer;
  #reader;
  #poller;
  #words; // of my region
  #corked = 0;
  #unreferenced = false; // unref() was called
  /** @type {Waiter[]} */ #receivers = [];
  /** @type {Waiter[]} */ #senders = [];
  /** @type {Buffer[]} messages that stood before an answer that somebody waits for */ #inbox = [];
  #inboxBytes = 0;
  /** @type {Uint8Array} what was sent last: bytes, as has been checked */ #lastBytes = NO_BYTES;
  #requests;
  /** @type {{kind: number, number: number, payload: Buffer}[]} */ #arrived = [];
  #serving = false;
  #servesLater = false;
  #turn = FAIR_TURN; // messages left in this turn
  #turnEnds = false;
  #spinning = false;
  #spinUntil = 0;
  #asleep = 0; // WAITING_... words that say so, as bits: 1 data, 2 room
  #slab = Buffer.alloc(0);
  #slabLongs = new BigInt64Array(0);
  #slabUsed = 0;
  #doorbellsRung = 0;
  #doorbellsAnswered = 0;
  #sleeps = 0;
  /** @type {Promise<void> | undefined} */ #closing;

  /**
   * Use listen(), connect(), channelPair() or openChannel().
   * @param {{fd: number, mine: import('./native.js').NativeRegion, peer: import('./native.js').NativeRegion, uid: number, pid: number}} ends
   * @param {ReturnType<typeof import('./options.js').readOptions>} options
   */
  constructor({ fd, mine, peer, uid, pid }, options) {
    this.#fd = fd;
    this.#mine = mine;
    this.#peer = peer;
    this.#options = options;
    this.#writer = new RingWriter(mine, peer);
    this.#reader = new RingReader(mine, peer);
    this.#words = new Int32Array(mine.buffer);
    this.#requests = new Requests((payload, kind, number, signal) => this.#sendFrame(payload, kind, number, signal));
    this.#poller = new native.Poller(fd, () => this.#onReadable());
    /** The process at the other end, as the kernel knew it when the socket was connected. */
    this.peer = Object.freeze({ uid, pid });
  }

  /** The largest message that send() takes, bytes. */
  get maxMessageBytes() {
    return maxMessage(this.#mine.capacity);
  }

  /** Has close() been called? */
  get closed() {
    return this.#state === CLOSED;
  }

  // ---- Sending ----

  /**
   * Send without waiting.
   * @param {import('../index.js').Message} message
   * @returns {boolean} false: there is no room now, or others wait for it already
   */
  trySend(message) {
    if (this.#state !== OPEN) this.#throwEnd();
    const bytes = this.#bytesOf(message);
    if (this.#senders.length > 0) return false;
    return this.#write(bytes, KIND.MESSAGE, 0);
  }

  /** The bytes to send. Those who send the same Uint8Array again and again need not have it looked at each time. */
  #bytesOf(/** @type {any} */ message) {
    if (message === this.#lastBytes) return /** @type {Uint8Array} */ (message);
    if (this.#options.encode !== undefined || !(message instanceof Uint8Array)) return this.#encoded(message);
    this.#lastBytes = message;
    return message;
  }

  /**
   * Send, waiting for room. Messages go out in the order of the calls. The bytes must not change until the promise is
   * fulfilled.
   * @param {import('../index.js').Message} message
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<void>}
   */
  send(message, options) {
    try {
      if (this.#state !== OPEN) this.#throwEnd();
      const signal = options === undefined ? undefined : readSignal(options);
      return this.#sendFrame(this.#bytesOf(message), KIND.MESSAGE, 0, signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** @param {unknown} message */
  #encoded(message) {
    const { encode } = this.#options;
    return bytesOf(encode ? encode(message) : message);
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} kind
   * @param {number} number
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<void>}
   */
  #sendFrame(bytes, kind, number, signal) {
    try {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (this.#senders.length === 0 && this.#write(bytes, kind, number)) {
        return this.#takeTurn() ? DONE : this.#nextTurn();
      }
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#wait(this.#senders, () => (this.#write(bytes, kind, number) ? true : undefined), signal).then(
      () => {},
    );
  }

  /** @param {Uint8Array} bytes @param {number} kind @param {number} number */
  #write(bytes, kind, number) {
    if (this.#state !== OPEN) this.#throwEnd();
    const writer = this.#writer;
    const size = bytes.length + (kind === KIND.MESSAGE ? 0 : 4);
    if (size > maxMessage(writer.capacity)) this.#throwTooLarge(bytes.length, kind);
    let written = false;
    try {
      written = writer.write(bytes, kind, number);
    } catch (error) {
      this.#fail(error);
    }
    // When full, too: the peer can make room only if it sees what is there.
    if ((this.#corked === 0 || !written) && writer.publish()) this.#ring();
    return written;
  }

  /** @param {number} size @param {number} kind @returns {never} */
  #throwTooLarge(size, kind) {
    const most = this.maxMessageBytes - (kind === KIND.MESSAGE ? 0 : 4);
    throw new CrossingsError(
      'ERR_MESSAGE_TOO_LARGE',
      `A message of ${size} bytes does not fit into this channel, which takes up to ${most}; the option capacity sets that.`,
    );
  }

  #ring() {
    this.#doorbellsRung++;
    native.ring(this.#fd);
  }

  /** Hold messages back until as many calls of uncork(): they are then shown to the peer all at once. */
  cork() {
    if (this.#state === CLOSED) this.#throwEnd();
    this.#corked++;
  }

  uncork() {
    if (this.#state === CLOSED) this.#throwEnd();
    if (this.#corked === 0) return;
    this.#corked--;
    if (this.#corked === 0 && this.#writer.publish()) this.#ring();
  }

  // ---- Receiving ----

  /** Bytes of the next message, or -1. Requests and answers that stand before it are dealt with. */
  #peekMessage() {
    if (this.#state >= CORRUPT) this.#throwEnd();
    const reader = this.#reader;
    try {
      for (let taken = 0; taken < FAIR_TURN; taken++) {
        const size = reader.peek();
        if (size < 0) return this.#nothing();
        const kind = reader.kind();
        if (kind === KIND.MESSAGE) return size;
        this.#takeNumbered(size, kind);
      }
      this.#serveLater(); // a flood of requests: others have a turn first
      return -1;
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** There is nothing to read. Will there ever be? */
  #nothing() {
    if (this.#reader.mustRing) this.#ringForRoom();
    if (this.#state === PEER_DIED) this.#throwEnd();
    return -1;
  }

  #ringForRoom() {
    this.#reader.mustRing = false;
    this.#ring();
  }

  /** A frame that is no plain message. @param {number} size @param {number} kind */
  #takeNumbered(size, kind) {
    const reader = this.#reader;
    if (kind < 0 || kind > KIND.REFUSAL || size < 4) {
      throw new CrossingsError(
        'ERR_PEER_CORRUPT',
        `The peer's memory holds what no peer writes: a frame of kind ${kind}.`,
      );
    }
    const number = reader.number();
    const payload = Buffer.allocUnsafeSlow(size - 4);
    const from = reader.payloadOffset() + 4;
    payload.set(reader.peerBytes.subarray(from, from + size - 4));
    this.#consume(size);
    // Whoever is told of it may call anything here, so nobody is told in the midst of a look at the ring.
    if (this.#arrived.length === 0) queueMicrotask(() => this.#tellArrived());
    this.#arrived.push({ kind, number, payload });
  }

  #tellArrived() {
    for (const { kind, number, payload } of this.#arrived.splice(0)) this.#requests.take(kind, number, payload);
  }

  /** @param {number} size */
  #consume(size) {
    this.#reader.consume(size);
    if (this.#reader.mustRing) this.#ringForRoom();
  }

  /** A copy of the next message, whose size is known, in memory that the caller owns. @param {number} size */
  #copyOut(size) {
    const reader = this.#reader;
    const from = reader.payloadOffset();
    let message;
    if (size <= SLAB_MESSAGE_BYTES) {
      const start = this.#slabRoom(size);
      reader.copyLongs(from, size + 7, this.#slabLongs, start);
      message = this.#slab.subarray(start, start + size);
    } else {
      message = Buffer.allocUnsafeSlow(size);
      message.set(reader.peerBytes.subarray(from, from + size));
    }
    this.#consume(size);
    return message;
  }

  /** Where in the slab `size` bytes and up to 7 behind them are free. Many small messages share one piece of memory. */
  #slabRoom(/** @type {number} */ size) {
    const start = this.#slabUsed;
    this.#slabUsed = (start + size + 7) & ~7;
    if (this.#slabUsed <= this.#slab.length) return start;
    this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    this.#slabLongs = new BigInt64Array(this.#slab.buffer);
    this.#slabUsed = (size + 7) & ~7;
    return 0;
  }

  /** @returns {Buffer | null} */
  #receiveBytes() {
    if (this.#inbox.length > 0) return this.#fromInbox();
    const size = this.#peekMessage();
    return size < 0 ? null : this.#copyOut(size);
  }

  #fromInbox() {
    const message = /** @type {Buffer} */ (this.#inbox.shift());
    const wasFull = this.#inboxIsFull;
    this.#inboxBytes -= message.length + INBOX_OVERHEAD_BYTES;
    if (wasFull && !this.#inboxIsFull) this.#serveLater(); // an answer may stand behind what had no place
    return message;
  }

  get #inboxIsFull() {
    return this.#inboxBytes >= this.#peer.capacity;
  }

  /** @param {Buffer | null} bytes */
  #decoded(bytes) {
    const { decode } = this.#options;
    return bytes !== null && decode ? decode(bytes) : bytes;
  }

  /**
   * The next message, as a copy that is the caller's, or null: nothing is there now.
   * @returns {any} a Buffer, or what the option decode makes of it
   */
  tryReceive() {
    return this.#decoded(this.#receiveBytes());
  }

  /**
   * Copy the next message into a buffer that is used again and again; nothing is allocated. The option decode does not
   * apply.
   * @param {Uint8Array} target
   * @param {number} [offset]
   * @returns {number} its bytes; -1: nothing is there now
   */
  tryReceiveInto(target, offset = 0) {
    if (this.#inbox.length > 0) return this.#inboxInto(target, offset);
    // Whoever spins here should have the message as soon as it is there: the usual ways are kept short.
    const reader = this.#reader;
    let size = this.#state < CORRUPT ? reader.peekMessage() : -2;
    if (size === -1 && this.#state === OPEN && !reader.mustRing) return -1;
    if (size < 0) {
      size = this.#peekMessage();
      if (size < 0) return -1;
    }
    // The target of the last time has been checked then.
    if (
      (target !== reader.target && !(target instanceof Uint8Array)) ||
      !(Number.isInteger(offset) && offset >= 0 && offset + size <= target.length)
    ) {
      this.#refuseTarget(target, offset, size);
    }
    reader.copy(reader.payloadOffset(), size, target, offset);
    reader.consume(size);
    if (reader.mustRing) this.#ringForRoom();
    return size;
  }

  /** @param {Uint8Array} target @param {number} offset */
  #inboxInto(target, offset) {
    const size = this.#inbox[0].length;
    if (!(target instanceof Uint8Array) || !(Number.isInteger(offset) && offset >= 0 && offset + size <= target.length))
      this.#refuseTarget(target, offset, size);
    target.set(this.#fromInbox(), offset);
    return size;
  }

  /** The message stays where it is. @param {unknown} target @param {unknown} offset @param {number} size @returns {never} */
  #refuseTarget(target, offset, size) {
    if (!(target instanceof Uint8Array)) return refuse(`A target is a Uint8Array, not ${shown(target)}.`);
    if (!Number.isInteger(offset) || Number(offset) < 0)
      refuse(`An offset is a whole number from 0, not ${shown(offset)}.`);
    throw new CrossingsError(
      'ERR_MESSAGE_TOO_LARGE',
      `The next message has ${size} bytes; the target has room for ${Math.max(0, target.length - Number(offset))}. It stays unread.`,
    );
  }

  /**
   * Read the next message where it lies, without a copy.
   * @param {(message: ReadCursor) => void} read called at once, with a cursor that is good until it returns
   * @returns {boolean} false: nothing is there now
   */
  tryRead(read) {
    if (typeof read !== 'function') refuse(`tryRead takes a function, not ${shown(read)}.`);
    if (this.#inbox.length > 0) {
      const message = this.#fromInbox();
      this.#look(new Cursor(message, 0, message.length), read);
      return true;
    }
    const size = this.#peekMessage();
    if (size < 0) return false;
    const { position } = this.#reader;
    try {
      this.#look(new Cursor(this.#reader.peerBytes, this.#reader.payloadOffset(), size), read);
    } finally {
      // The function may have closed the channel, or received on: then the message is gone already.
      if (this.#state < CORRUPT && this.#reader.position === position) this.#consume(size);
    }
    return true;
  }

  /** @param {ReadCursor} cursor @param {(message: ReadCursor) => void} read */
  #look(cursor, read) {
    try {
      read(cursor);
    } finally {
      cursor.leave();
    }
  }

  /** The next message; undefined: not yet; null: the peer has closed and everything was read. */
  #attemptReceive() {
    const bytes = this.#receiveBytes();
    if (bytes !== null) return this.#decoded(bytes);
    return this.#state === PEER_CLOSED ? null : undefined;
  }

  /**
   * Wait for a message.
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<any>} null: the peer has closed its end and everything was read
   */
  receive(options) {
    try {
      const signal = options === undefined ? undefined : readSignal(options);
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (this.#receivers.length === 0 && this.#takeTurn()) {
        const message = this.#attemptReceive();
        if (message !== undefined) return Promise.resolve(message);
      }
      if (this.#state >= CORRUPT) this.#throwEnd();
      return this.#wait(this.#receivers, () => this.#attemptReceive(), signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Wait for a message and block this thread meanwhile: for workers and scripts.
   * @param {{timeout?: number}} [options] milliseconds
   * @returns {any} null: the peer has closed its end and everything was read
   */
  receiveSync(options) {
    const timeout = readTimeout(options);
    if (this.#receivers.length > 0)
      refuse('receiveSync does not wait behind a receive() that is pending: await that first.');
    const deadline = performance.now() + timeout;
    this.#wake();
    try {
      for (;;) {
        const spinUntil = performance.now() + (this.#options.wait === 'sleep' ? 0 : this.#options.spinMicros / 1000);
        do {
          for (let look = 0; look < 64; look++) {
            const message = this.#attemptReceive();
            if (message !== undefined) return message;
          }
        } while (performance.now() < Math.min(spinUntil, deadline));
        this.#answerDoorbell();
        this.#serveQueue(this.#senders); // they would wait for ever if this did
        const message = this.#attemptReceive();
        if (message !== undefined) return message;
        if (performance.now() >= deadline)
          throw new CrossingsError('ERR_TIMEOUT', `No message came within ${timeout} ms.`);
        if (this.#options.wait !== 'spin') this.#sleepSync(deadline);
      }
    } finally {
      this.#keepWaiting();
    }
  }

  /** @param {number} deadline */
  #sleepSync(deadline) {
    const words = this.#senders.length > 0 ? [WAITING_FOR_DATA_WORD, WAITING_FOR_ROOM_WORD] : [WAITING_FOR_DATA_WORD];
    for (const word of words) Atomics.add(this.#words, word, 1);
    // After the adds, in the order of all Atomics: pairs with the looks at the flags in publish() and tell().
    this.#serveQueue(this.#senders);
    if (this.#reader.peek() < 0) {
      this.#sleeps++;
      const left = deadline - performance.now();
      native.waitReadable(this.#fd, left > 1e6 ? 1e6 : Math.max(0, Math.ceil(left)));
    }
    for (const word of words) Atomics.add(this.#words, word, 1);
  }

  /** Iterates over messages until the peer closes. Leaving the loop leaves the channel open. */
  [Symbol.asyncIterator]() {
    return {
      next: () => this.#next(),
      return: async () => ({ value: undefined, done: /** @type {const} */ (true) }),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /** @returns {Promise<IteratorResult<any, undefined>>} */
  #next() {
    try {
      if (this.#receivers.length === 0 && this.#state < CORRUPT && this.#takeTurn()) {
        const value = this.#attemptReceive();
        if (value !== undefined)
          return Promise.resolve(value === null ? { value: undefined, done: true } : { value, done: false });
      }
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#nextLater();
  }

  /** @returns {Promise<IteratorResult<any, undefined>>} */
  async #nextLater() {
    if (this.#state === CLOSED) return { value: undefined, done: true };
    try {
      const value = await this.receive();
      return value === null ? { value: undefined, done: true } : { value, done: false };
    } catch (error) {
      // A loop that runs while the channel is closed here simply ends.
      if (/** @type {any} */ (error)?.code === 'ERR_CLOSED' && this.#state === CLOSED)
        return { value: undefined, done: true };
      throw error;
    }
  }

  // ---- Fairness: a burst is served in one turn, with a limit ----

  /** One more message in this turn of the event loop? */
  #takeTurn() {
    if (--this.#turn > 0) return true;
    if (!this.#turnEnds) {
      this.#turnEnds = true;
      setImmediate(() => {
        this.#turnEnds = false;
        this.#turn = FAIR_TURN;
        this.#serve();
      });
    }
    return false;
  }

  /** @returns {Promise<void>} */
  #nextTurn() {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  // ---- Waiting ----

  /**
   * @param {Waiter[]} queue
   * @param {() => any} attempt
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<any>}
   */
  #wait(queue, attempt, signal) {
    return new Promise((resolve, reject) => {
      const abort = () => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(signal?.reason);
        this.#serve();
      };
      /** @type {Waiter} */
      const waiter = { attempt, resolve, reject, drop: () => signal?.removeEventListener('abort', abort) };
      signal?.addEventListener('abort', abort, { once: true });
      queue.push(waiter);
      this.#spinUntil = performance.now() + this.#options.spinMicros / 1000;
      this.#keepWaiting();
    });
  }

  /** Serve those who wait, in order, as far as possible. @param {Waiter[]} queue */
  #serveQueue(queue) {
    if (this.#serving) return this.#serveLater(); // called by what is being served
    this.#serving = true;
    for (let served = 0; queue.length > 0; served++) {
      if (served === FAIR_TURN) {
        this.#serveLater();
        break;
      }
      const waiter = queue[0];
      let value;
      try {
        value = waiter.attempt();
        if (value === undefined) break;
        waiter.resolve(value);
      } catch (error) {
        waiter.reject(error);
      }
      waiter.drop();
      const place = queue.indexOf(waiter); // elsewhere, or gone, if the attempt called back
      if (place >= 0) queue.splice(place, 1);
    }
    this.#serving = false;
  }

  /** In the next turn of the event loop, whatever state this channel is in then. */
  #serveLater() {
    if (this.#servesLater) return;
    this.#servesLater = true;
    setImmediate(() => {
      this.#servesLater = false;
      this.#serve();
    });
  }

  /** Answers must be found even where nobody reads messages: those before them go to the inbox, up to a limit. */
  #serveRequests() {
    try {
      // Of a peer that has gone everything is read: nothing more comes.
      while (this.#requests.waiting && this.#receivers.length === 0 && (this.#state !== OPEN || !this.#inboxIsFull)) {
        const size = this.#peekMessage();
        if (size < 0) return;
        const message = this.#copyOut(size);
        this.#inbox.push(message);
        this.#inboxBytes += message.length + INBOX_OVERHEAD_BYTES;
      }
    } catch {
      // #fail() has told everybody who waits; a peer that has died is told below.
      this.#tellArrived();
      if (this.#state === PEER_DIED) this.#requests.failAll(this.#endError());
    }
  }

  #serve() {
    if (this.#state >= CORRUPT) return;
    this.#serveQueue(this.#receivers);
    if (this.#requests.waiting) this.#serveRequests();
    if (this.#state === PEER_CLOSED) {
      this.#tellArrived();
      this.#requests.failAll(this.#endError());
    }
    this.#serveQueue(this.#senders);
    this.#keepWaiting();
  }

  get #waitsForData() {
    return this.#receivers.length > 0 || this.#requests.waiting;
  }

  /** Looks again soon, or sleeps, as long as somebody waits. */
  #keepWaiting() {
    if (this.#state >= CORRUPT) return;
    const wanted = (this.#waitsForData ? 1 : 0) | (this.#senders.length > 0 ? 2 : 0);
    const alive =
      this.#receivers.length > 0 || this.#senders.length > 0 || this.#requests.asked > 0 || this.#requests.serves;
    if (alive && !this.#unreferenced) this.#poller.ref();
    else this.#poller.unref();
    if (wanted === 0) {
      this.#wake();
    } else if (this.#state === OPEN && this.#maySpin()) {
      this.#spin();
    } else if (this.#asleep !== wanted) {
      this.#sleep(wanted);
    }
  }

  #maySpin() {
    const { wait } = this.#options;
    if (wait === 'spin') return true;
    // An immediate that does not keep the process alive does not keep the event loop turning either: sleep at once.
    return wait !== 'sleep' && !this.#unreferenced && performance.now() < this.#spinUntil;
  }

  /** Look for a few microseconds; then let timers and I/O run; then on. */
  #spin() {
    if (this.#spinning) return;
    this.#spinning = true;
    this.#wake();
    const look = () => {
      this.#spinning = false;
      if (this.#state >= CORRUPT) return;
      const until = performance.now() + LOOK_MICROS / 1000;
      do if (this.#isReady()) break;
      while (performance.now() < until);
      this.#serve();
    };
    if (this.#unreferenced) setTimeout(look, 1).unref();
    else setImmediate(look);
  }

  /** Is there something to read, or was there a change of the peer's read position? Cheap. */
  #isReady() {
    for (let look = 0; look < 50; look++) {
      if (this.#waitsForData && this.#reader.peekSignal() !== 0) return true;
    }
    return this.#senders.length > 0;
  }

  /** Say that I sleep, look once more, and rely on the doorbell. @param {number} wanted */
  #sleep(wanted) {
    this.#wake();
    if (wanted & 1) Atomics.add(this.#words, WAITING_FOR_DATA_WORD, 1);
    if (wanted & 2) Atomics.add(this.#words, WAITING_FOR_ROOM_WORD, 1);
    this.#asleep = wanted;
    this.#sleeps++;
    // After the adds, in the order of all Atomics: pairs with the looks at the flags in publish() and tell().
    const before = this.#receivers.length + this.#senders.length;
    this.#serveQueue(this.#receivers);
    if (this.#requests.waiting) this.#serveRequests();
    this.#serveQueue(this.#senders);
    if (this.#receivers.length + this.#senders.length !== before) this.#keepWaiting();
  }

  #wake() {
    if (this.#asleep & 1) Atomics.add(this.#words, WAITING_FOR_DATA_WORD, 1);
    if (this.#asleep & 2) Atomics.add(this.#words, WAITING_FOR_ROOM_WORD, 1);
    this.#asleep = 0;
  }

  /** The doorbell has rung, or the peer has gone. */
  #onReadable() {
    this.#answerDoorbell();
    if (this.#state >= CORRUPT) return;
    this.#wake();
    this.#spinUntil = performance.now() + this.#options.spinMicros / 1000;
    this.#serve();
  }

  #answerDoorbell() {
    if (this.#state !== OPEN) return;
    this.#doorbellsAnswered++;
    // Pairs with the store in close(): what the peer sent before is in the ring.
    const open = native.drain(this.#fd);
    if (open && Atomics.load(this.#reader.peerWords, CLOSED_WORD) === 0) return;
    this.#state = Atomics.load(this.#reader.peerWords, CLOSED_WORD) !== 0 ? PEER_CLOSED : PEER_DIED;
    this.#poller.close(); // nothing more comes from there
    const error = this.#endError();
    for (const sender of this.#senders.splice(0)) {
      sender.drop();
      sender.reject(error);
    }
    // Receivers first get what is left; then #serve() tells them.
    queueMicrotask(() => this.#serve());
  }

  // ---- Requests ----

  /**
   * Ask the peer and wait for its answer. Answers come in any order, each to its own request.
   * @param {import('../index.js').Message} message
   * @param {{signal?: AbortSignal, timeout?: number}} [options] timeout in milliseconds
   * @returns {Promise<any>}
   */
  async request(message, options) {
    if (this.#state !== OPEN) this.#throwEnd();
    const signal = readSignal(options);
    const timeout = readTimeout(options);
    const answer = this.#requests.ask(this.#encoded(message), signal, timeout, () => this.#keepWaiting());
    this.#spinUntil = performance.now() + this.#options.spinMicros / 1000;
    this.#keepWaiting();
    return this.#decoded(await answer);
  }

  /**
   * Answer the peer's requests.
   * @param {((message: any) => any) | null} handler what it returns, or what its promise becomes, is the answer; what it
   *   throws becomes the requester's ERR_REQUEST_FAILED. null: no more.
   */
  onRequest(handler) {
    if (this.#state >= CORRUPT) this.#throwEnd();
    if (handler !== null && typeof handler !== 'function')
      refuse(`onRequest takes a function or null, not ${shown(handler)}.`);
    this.#requests.handler = handler && (async (bytes) => this.#encoded(await handler(this.#decoded(bytes))));
    this.#serve();
  }

  // ---- Streams ----

  /**
   * This channel as a Node stream. In object mode each chunk is a message, as receive() gives it; in byte mode message
   * boundaries mean nothing and chunks larger than a message are cut.
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

  /** While somebody waits on this channel, the process stays alive (the default). */
  ref() {
    this.#unreferenced = false;
    if (this.#state === OPEN) this.#keepWaiting();
    return this;
  }

  /** The process may end although somebody waits on this channel. */
  unref() {
    this.#unreferenced = true;
    if (this.#state === OPEN) this.#keepWaiting();
    return this;
  }

  /** What has happened on this channel so far. */
  stats() {
    return {
      messagesSent: this.#writer.messages,
      messagesReceived: this.#reader.messages,
      bytesSent: this.#writer.payloadBytes,
      bytesReceived: this.#reader.payloadBytes,
      doorbellsRung: this.#doorbellsRung,
      doorbellsAnswered: this.#doorbellsAnswered,
      sleeps: this.#sleeps,
      fullTurns: this.#writer.fullTurns,
      emptyTurns: this.#reader.emptyTurns,
    };
  }

  #endError() {
    if (this.#state === PEER_DIED)
      return new CrossingsError('ERR_PEER_DIED', 'The peer has ended without closing its channel.');
    if (this.#state === PEER_CLOSED)
      return new CrossingsError('ERR_CLOSED', 'The peer has closed its end of this channel.');
    if (this.#state === CORRUPT)
      return new CrossingsError('ERR_PEER_CORRUPT', "The peer's memory held what no peer writes.");
    return new CrossingsError('ERR_CLOSED', 'This channel is closed.');
  }

  /** @returns {never} */
  #throwEnd() {
    throw this.#endError();
  }

  /**
   * What a peer that lies has brought about: the channel is of no more use, and everybody who waits learns why.
   * @returns {never}
   */
  #fail(/** @type {any} */ error) {
    if (error?.code === 'ERR_PEER_CORRUPT' && this.#state < CORRUPT) {
      this.#end(CORRUPT, error);
    }
    throw error;
  }

  /** @param {number} state @param {unknown} error */
  #end(state, error) {
    if (this.#state === OPEN) this.#poller.close();
    this.#state = state;
    const waiting = [...this.#receivers.splice(0), ...this.#senders.splice(0)];
    this.#requests.failAll(error);
    this.#requests.handler = null;
    for (const waiter of waiting) {
      waiter.drop();
      waiter.reject(error);
    }
  }

  /**
   * Close this end. What was sent can still be read by the peer, which then finds the end; those who wait here are
   * rejected with ERR_CLOSED, and so is every later call.
   * @returns {Promise<void>}
   */
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    if (this.#state < CORRUPT) this.#writer.publish();
    this.#wake();
    // Pairs with the load in #answerDoorbell() and in peer_is_over() of crossings.c.
    Atomics.store(this.#words, CLOSED_WORD, 1);
    this.#end(CLOSED, new CrossingsError('ERR_CLOSED', 'This channel is closed.'));
    native.closeFd(this.#fd);
    this.#fd = -1;
    this.#writer.release();
    this.#reader.release();
    this.#words = new Int32Array(2048); // late wake-ups find nothing
    native.releaseRegion(this.#mine.handle, this.#mine.buffer);
    native.releaseRegion(this.#peer.handle, this.#peer.buffer);
    this.#mine = this.#peer = { ...this.#mine, handle: null, buffer: new ArrayBuffer(0) };
    this.#inbox = [];
  }

  [disposeSymbol()]() {
    this.close();
  }

  [asyncDisposeSymbol()]() {
    return this.close();
  }
}

// Node 20 has both symbols from 20.4 on; before, nobody could use them.
function disposeSymbol() {
  return Symbol.dispose ?? Symbol.for('nodejs.dispose');
}

function asyncDisposeSymbol() {
  return Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose');
}

module.exports = { Channel };
