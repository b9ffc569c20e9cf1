'use strict';
// Incoming frames: reads frames from the ring, copies messages out of it, dispatches requests and responses, and keeps an
// inbox of messages that arrived before an awaited response and have not been received yet.
const { corruptPeer } = require('./errors.js');
const { Frames } = require('./frames.js');
const { KIND } = require('./layout.js');
const { MAX_REFUSAL_BYTES } = require('./refusal.js');
const { Slab, copyToOwn } = require('./slab.js');
const turn = require('./turn.js');

const MAX_NUMBERED_FRAMES = 1000; // processed in one search for a message, so that other work gets a turn
const MAX_NUMBERED_BYTES = 64 * 1024; // likewise: they may have to be copied, and their tags checked
const INBOX_OVERHEAD_BYTES = 128; // added to the size of each message in the inbox or a batch, so that empty messages count, too
const NUMBER_BYTES = 4;
const MAX_SHARING = 64; // open requests that may share their memory with others
const RESPONSES_IN_A_ROW = 16; // while a request waits, too
const CHUNK = 1024; // messages in the inbox, whose places are given back together
const DONE = Promise.resolve();

/** @typedef {import('./requests.js').NumberedFrame} NumberedFrame */
/** @typedef {InstanceType<typeof Slab> | InstanceType<typeof import('./reused-slab.js').ReusedSlab>} Memory where messages are copied */

class Arrivals {
  #connection;
  #reader;
  #requests;
  #inPlaceBytes = 0; // size of the message that is being read in place
  #healsSoon = false;
  #missed = false; // a search found nothing because a frame was being read in place
  #slab = new Slab();
  // Messages in the inbox and requests are kept, while what arrived between them is not. In the same slab, a small one of each
  // would keep a whole slab.
  /** @type {InstanceType<typeof Slab> | undefined} */ #inboxSlab;
  /** @type {InstanceType<typeof Slab> | undefined} */ #requestSlab;
  /** @type {(Buffer | undefined)[]} messages that arrived before an awaited response */ #inbox = [];
  #inboxNext = 0; // index of the oldest message in #inbox
  #inboxBytes = 0;
  // Frames that were set aside. Responses are dispatched first: behind the peer's requests, whose handlers may take long, thousands would
  // wait, each of which may be as large as a message. But not only responses: each may cause a request of this side, whose response arrives
  // before the next turn.
  #requestFrames = new Frames();
  #responseFrames = new Frames();
  #responsesInARow = 0; // dispatched since the last request
  dispatched = 0; // requests and responses, so far
  numberedFrames = 0; // requests and responses that were found in the ring, also those that are not wanted
  #onNumbered;
  #onMore;

  /**
   * @param {InstanceType<typeof import('./connection.js').Connection>} connection
   * @param {InstanceType<typeof import('./requests.js').Requests>} requests
   * @param {() => void} onNumbered called when requests or responses have been set aside
   * @param {() => void} onMore called when a search stopped early and the ring may hold more frames, or the window has more room
   */
  constructor(connection, requests, onNumbered, onMore) {
    this.#connection = connection;
    this.#requests = requests;
    this.#reader = connection.reader;
    this.#onNumbered = onNumbered;
    this.#onMore = onMore;
  }

  /** Are there messages in the inbox? While a message is read in place, it looks as empty as the ring. */
  get hasInbox() {
    return this.#inboxNext < this.#inbox.length && !this.#reader.suspended;
  }

  /** The limit depends on my capacity, because the peer chooses its own. */
  get inboxIsFull() {
    return this.#inboxBytes >= this.#connection.capacity;
  }

  /**
   * Size in bytes of the next message in the ring, or -1. Requests and responses before it are set aside for
   * dispatch(), because their handlers may call any method of this channel. A turn may begin, so look into the inbox afterwards.
   * @returns {number}
   */
  peek() {
    const reader = this.#reader;
    const connection = this.#connection;
    if (!connection.isReadable) connection.throwError();
    if (reader.suspended) {
      this.#missed = true;
      return -1;
    }
    reader.willRead();
    try {
      let bytes = 0;
      for (let passed = 0; passed < MAX_NUMBERED_FRAMES && bytes < MAX_NUMBERED_BYTES; passed++) {
        if (passed > 0 && !reader.isReady()) return this.#found(-1); // dispatch these before reader.peek() announces the read position
        const size = reader.peek();
        if (size < 0) return this.#found(-1);
        const kind = reader.kind();
        if (kind === KIND.MESSAGE) {
          if (turn.copies(bytes + passed * INBOX_OVERHEAD_BYTES)) return this.peek();
          return this.#found(size);
        }
        if (turn.copies(size)) continue;
        bytes += size;
        this.#setAside(size, kind);
      }
    } catch (error) {
      connection.ringForRoom();
      connection.fail(error);
    }
    connection.ringForRoom();
    turn.recheck(); // that took a while
    this.#onMore();
    return -1;
  }

  /**
   * A search is over. It rings the doorbell once at most: a peer can make that slow, and claim a new sleep after each frame. If the ring
   * is put off, hooks of async_hooks may use this channel, and take the message.
   * @param {number} size what peek() returns
   * @returns {number}
   */
  #found(size) {
    const { position } = this.#reader;
    this.#connection.ringForRoom();
    if (size < 0 || (this.#reader.position === position && this.#connection.isReadable)) return size;
    return this.peek();
  }

  /** @param {number} size @param {number} kind */
  #setAside(size, kind) {
    const reader = this.#reader;
    this.numberedFrames++;
    if (kind < 0 || kind > KIND.REFUSAL) throw corruptPeer(`invalid frame kind ${kind}`);
    if (size < NUMBER_BYTES) throw corruptPeer(`a frame of kind ${kind} has only ${size} bytes`);
    const number = reader.number();
    if (kind !== KIND.REQUEST && !this.#requests.isAwaited(number)) return reader.consume(size);
    const copied = kind === KIND.REFUSAL ? Math.min(size, NUMBER_BYTES + MAX_REFUSAL_BYTES) : size;
    const payload = this.#copyNumbered(kind, copied); // first: there may be no memory for it
    const frame = { kind, number, payload };
    const isWanted = this.#requests.admit(frame);
    reader.consume(size);
    if (!isWanted) return this.#onMore(); // a queued request may be sent now
    const isFirst = !this.hasNumbered;
    (kind === KIND.REQUEST ? this.#requestFrames : this.#responseFrames).add(frame);
    if (isFirst) this.#onNumbered();
  }

  /**
   * Copy a request, a response or a refusal. The peer's requests may stay open for long, and which of them do, the peer may decide:
   * so of many, each has its own memory.
   * @param {number} kind @param {number} size of the payload, including the number
   */
  #copyNumbered(kind, size) {
    const reader = this.#reader;
    const from = reader.payloadOffset();
    if (kind !== KIND.REQUEST) return this.#slab.copy(reader, from, size, NUMBER_BYTES);
    if (this.#requests.responder.open >= MAX_SHARING) return copyToOwn(reader, from, size, NUMBER_BYTES);
    this.#requestSlab ??= new Slab();
    return this.#requestSlab.copy(reader, from, size, NUMBER_BYTES);
  }

  /**
   * The response to a request that is not among the open ones, if it is the next frame.
   * @param {number} number of the request
   * @returns {Buffer | null} null: there is no frame, or another one
   */
  takeResponse(number) {
    const reader = this.#reader;
    try {
      const size = reader.peek();
      if (size < NUMBER_BYTES || reader.kind() !== KIND.RESPONSE || reader.number() !== number) return null;
      if (turn.copies(size)) return this.takeResponse(number);
      const payload = this.#slab.copy(reader, reader.payloadOffset(), size, NUMBER_BYTES);
      reader.consume(size);
      reader.announceRest(); // it was the last frame, and the caller may read no more
      this.#connection.ringForRoom();
      return payload;
    } catch (error) {
      return this.#connection.fail(error);
    }
  }

  /** The Buffer that the next frame is copied to if it is like the last one: see Slab. It holds no message yet. */
  prepare() {
    return this.#slab.prepare();
  }

  /** Are there requests or responses that have not been dispatched yet? */
  get hasNumbered() {
    return this.#responseFrames.size + this.#requestFrames.size > 0;
  }

  /** Is there anything for dispatch()? */
  get hasReady() {
    return this.hasNumbered || this.#requests.responder.hasReady;
  }

  /**
   * Deliver the requests and responses that were set aside, and requests that have waited for the handler.
   * @param {() => boolean} mayDispatch called before each one; false stops the loop
   * @returns {boolean} false if there were none
   */
  dispatch(mayDispatch) {
    if (!this.hasReady) return false;
    const [requests, responses] = [this.#requestFrames, this.#responseFrames];
    const { responder } = this.#requests;
    // The handlers may cause more frames to be set aside, and may end the channel, which drops all of them.
    let left = requests.size + responses.size + responder.waiting;
    for (; left > 0 && mayDispatch() && this.hasReady; left--) {
      if (responses.size > 0 && !this.#isRequestDue) this.#dispatchResponse();
      else this.#dispatchRequest();
    }
    requests.trim();
    responses.trim();
    return true;
  }

  get #isRequestDue() {
    if (this.#responsesInARow < RESPONSES_IN_A_ROW) return false;
    return this.#requestFrames.size > 0 || this.#requests.responder.hasReady;
  }

  #dispatchResponse() {
    this.#responsesInARow++;
    this.dispatched++;
    this.#requests.take(this.#responseFrames.take());
  }

  #dispatchRequest() {
    const { responder } = this.#requests;
    this.#responsesInARow = 0;
    if (responder.hasReady) return responder.respondToFirst();
    const frame = this.#requestFrames.take();
    const { begun } = responder;
    this.dispatched++;
    try {
      this.#requests.take(frame);
    } catch (error) {
      if (responder.begun === begun) this.#requestFrames.putBack(frame); // the stack is full
      throw error;
    }
  }

  /** Move past a frame in the ring. @param {number} size its payload in bytes */
  consume(size) {
    this.#reader.consume(size);
    this.#connection.ringForRoom();
  }

  /**
   * Copy the next message out. Returns null if none has arrived.
   * @param {Memory} [memory] where to copy it
   * @returns {Buffer | null}
   */
  take(memory = this.#slab) {
    if (this.hasInbox) return this.takeFromInbox();
    const reader = this.#reader;
    reader.willRead();
    let size = this.#connection.isReadable ? reader.peekMessage() : -2;
    if (size < 0) {
      size = this.peek();
      if (size < 0) return this.hasInbox ? this.takeFromInbox() : null;
    }
    if (turn.copies(size) || this.hasInbox) return this.take(memory);
    return this.#copyOut(size, memory);
  }

  /**
   * Append the available messages to an array. Stops at a request or response, when the array has `max` elements, or when
   * the byte limit is reached.
   * @param {unknown[]} batch
   * @param {number} max length of the array
   * @param {number} maxBytes stop once the appended messages, with their overhead, reach this total size
   * @param {Memory} [memory] where to copy them
   * @returns {number} what is left of maxBytes
   */
  takeMany(batch, max, maxBytes, memory = this.#slab) {
    if (this.hasInbox || !this.#connection.isReadable) return maxBytes;
    const reader = this.#reader;
    let left = maxBytes;
    reader.willRead();
    try {
      while (batch.length < max && left > 0) {
        const size = reader.peekMessage();
        if (size < 0) break;
        if (turn.copies(size) || this.hasInbox) break;
        batch.push(memory.copy(reader, reader.payloadOffset(), size, 0));
        reader.consume(size);
        left -= size + INBOX_OVERHEAD_BYTES;
      }
    } finally {
      this.#connection.ringForRoom(); // once at most, as in #found()
    }
    return left;
  }

  /** Like take(), but returns null instead of throwing when the channel is no longer readable. @param {Memory} [memory] */
  takeIfReadable(memory) {
    return this.#connection.isReadable ? this.take(memory) : null;
  }

  /** @param {number} size @param {Memory} memory */
  #copyOut(size, memory) {
    const message = memory.copy(this.#reader, this.#reader.payloadOffset(), size, 0);
    this.consume(size);
    return message;
  }

  /** The oldest message in the inbox. The inbox must not be empty. */
  peekInbox() {
    return /** @type {Buffer} */ (this.#inbox[this.#inboxNext]);
  }

  takeFromInbox() {
    const message = this.peekInbox();
    const wasFull = this.inboxIsFull;
    this.#inbox[this.#inboxNext++] = undefined; // the array keeps no message that was taken
    // Not more often: the inbox of a large ring may hold millions, and each time those that are left are copied.
    const used = this.#inboxNext;
    if (used === this.#inbox.length || (used % CHUNK === 0 && used > this.#inbox.length / 2)) {
      this.#inbox = this.#inbox.slice(used);
      this.#inboxNext = 0;
    }
    this.#inboxBytes -= message.length + INBOX_OVERHEAD_BYTES;
    if (wasFull && !this.inboxIsFull) this.#onMore(); // behind a message that did not fit, there may be a response
    return message;
  }

  /**
   * Search the ring for requests and responses, even if the user receives no messages. Messages found on the way are moved
   * to the inbox until it is full.
   * @param {() => boolean} mayTake called before each message; false stops the search
   */
  search(mayTake) {
    while (!this.inboxIsFull) {
      if (!mayTake()) return;
      const size = this.peek();
      if (size < 0) return;
      if (turn.copies(size)) continue;
      this.#inboxSlab ??= new Slab();
      const message = this.#inboxSlab.copy(this.#reader, this.#reader.payloadOffset(), size, 0);
      this.#reader.consume(size);
      this.#inbox.push(message);
      this.#inboxBytes += message.length + INBOX_OVERHEAD_BYTES;
      this.#connection.ringForRoom(); // last: if that is put off, hooks of async_hooks may use this channel
    }
  }

  /**
   * Call `read` with the next message, in place. Until it returns, the ring looks empty to all others: this message must not
   * be received a second time, and the next one only after this one.
   * @param {number} size what peek() returned
   * @param {(bytes: Uint8Array, from: number, size: number) => void} read may throw, and may close the channel
   */
  readInPlace(size, read) {
    const reader = this.#reader;
    this.#readSuspended(size, () => read(reader.sourceBytes, reader.payloadOffset(), size));
  }

  /** The same with the oldest message in the inbox, which must not be empty. @param {(bytes: Uint8Array, from: number, size: number) => void} read */
  readFromInbox(read) {
    this.#readSuspended(-1, () => {
      const message = this.takeFromInbox();
      read(message, 0, message.length);
    });
  }

  /** @param {number} size of the frame to consume afterwards; -1: none @param {() => void} read */
  #readSuspended(size, read) {
    this.#reader.suspend();
    this.#inPlaceBytes = size;
    try {
      read();
    } finally {
      this.#endReading(size);
      if (this.#missed) this.#onMore();
      this.#missed = false;
    }
  }

  /** @param {number} size */
  #endReading(size) {
    this.#reader.resume();
    if (size >= 0 && this.#connection.isReadable) this.consume(size);
  }

  /**
   * A vm timeout ends the callback without running `finally`. Then end the reading in a microtask, which cannot run before the
   * callback has ended. Call this before a message is read in place.
   * @returns {boolean} true if that microtask was scheduled: hooks of async_hooks may have used the channel, so look for the message again
   */
  healSoon() {
    if (this.#healsSoon) return false;
    DONE.then(() => {
      this.#healsSoon = false;
      const isSuspended = this.#reader.suspended;
      if (!isSuspended && !this.#reader.mustRing) return; // it may end the ringing of a doorbell, too
      if (isSuspended) this.#endReading(this.#inPlaceBytes);
      this.#onMore();
    });
    this.#healsSoon = true;
    return true;
  }

  clear() {
    this.#inbox = [];
    this.#inboxNext = 0;
    this.#requestFrames.clear();
    this.#responseFrames.clear();
  }
}

module.exports = { Arrivals, INBOX_OVERHEAD_BYTES };
