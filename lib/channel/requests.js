'use strict';
// Requests from this side and their responses. Each request has a number, and its response carries the same number. A request
// is queued until the window admits it (request-window.js); then it is open until its response arrives.
const { clearTimeout, setTimeout } = require('./clock.js');
const { CrossingsError } = require('./errors.js');
const { KIND } = require('./layout.js');
const { Queue } = require('./queue.js');
const { QuickPolicy } = require('./quick-policy.js');
const { errorOfRefusal } = require('./refusal.js');
const { RequestWindow } = require('./request-window.js');
const { Responder } = require('./responder.js');
const { onAbort } = require('./signals.js');

/**
 * Sends a request, a response or a refusal. Calls `done` once: without an error when the frame is in the ring, with the error
 * if it cannot be sent. Returns a function that cancels the send if it has to wait for room.
 * @typedef {(payload: Uint8Array, kind: number, number: number, done: (error?: unknown) => void) => (() => void) | undefined} SendNumbered
 */

/** @typedef {{kind: number, number: number, payload: Buffer}} NumberedFrame a request, a response or a refusal that was read from the ring */
/**
 * @typedef {object} Outgoing
 * @property {Uint8Array | undefined} payload until it is in the ring
 * @property {number} size of the payload in bytes
 * @property {NumberedFrame | undefined} answer a response that has arrived and will be dispatched: the request no longer counts in the window
 * @property {boolean} isAbandoned the request was aborted or has timed out after it was sent
 * @property {import('./queue.js').Entry<[number, Outgoing]> | undefined} entry in the queue
 * @property {(() => void) | undefined} cancel while it waits for room in the ring
 * @property {NodeJS.Timeout | undefined} timer of its timeout
 * @property {(response: Buffer) => void} resolve
 * @property {(error: unknown) => void} reject
 */

const DONE = Promise.resolve();
const NOTHING = Buffer.alloc(0);

class Requests {
  #send;
  #window;
  #quick;
  #maxAwaited;
  /** @type {NumberedFrame | undefined} the response to a request that polls, if it comes another way */ #early;
  #next = 1;
  #awaited = 0; // requests whose promise is pending
  /** @type {Map<number, Outgoing>} by number: admitted to the window, and not answered yet */ #open = new Map();
  /** @type {InstanceType<typeof Queue<[number, Outgoing]>>} not admitted yet, with their numbers */ #queued =
    new Queue();
  responder;
  #unreferenced = false;

  /**
   * @param {SendNumbered} send
   * @param {import('./request-window.js').Capacities} capacities
   * @param {number} [maxAwaited] requests whose promise may be pending
   * @param {() => void} [onReady] called when a request that has waited for the handler can be responded to
   */
  constructor(send, capacities, maxAwaited = Number.POSITIVE_INFINITY, onReady = () => {}) {
    this.#maxAwaited = maxAwaited;
    this.#send = send;
    this.#window = new RequestWindow(capacities);
    this.#quick = new QuickPolicy(this.#window);
    this.responder = new Responder(send, capacities, onReady);
  }

  /** Set whether the timeouts of requests keep the process alive. They do at first. @param {boolean} yes */
  keepAlive(yes) {
    if (this.#unreferenced === !yes) return; // some programs call ref() with each request
    this.#unreferenced = !yes;
    const change = yes ? 'ref' : 'unref';
    for (const { timer } of this.#open.values()) timer?.[change]();
    for (let entry = this.#queued.first; entry !== null; entry = entry.after) entry.value[1].timer?.[change]();
  }

  /** Must the ring be read even if no receive is pending? */
  get areExpected() {
    return this.#awaited > 0 || this.responder.handler !== null;
  }

  /** Are there requests whose promise is pending? Others may have timed out, and their responses are still expected. */
  get areAwaited() {
    return this.#awaited > 0;
  }

  /** Are there requests that wait for the window? */
  get hasQueued() {
    return this.#queued.size > 0;
  }

  /** Would failAll() reject any, or forget any that has timed out? */
  get hasPending() {
    return this.#queued.size > 0 || this.#open.size > 0;
  }

  /** May a request of this size be sent now, and its response be polled for? @param {number} size */
  mayBeQuick(size) {
    return this.#awaited === 0 && this.#quick.admits(size);
  }

  /** Call this before a request is sent for which mayBeQuick() was true. @param {number} size @returns {number} its number */
  beginQuick(size) {
    const number = this.#takeNumber();
    this.#quick.begin(number, size);
    return number;
  }

  /** It was not sent, or its response was taken. */
  endQuick() {
    this.#quick.end();
  }

  /** Numbers wrap around. */
  #takeNumber() {
    const number = this.#next;
    do {
      this.#next = (this.#next + 1) | 0;
    } while (this.#open.has(this.#next));
    return number;
  }

  /**
   * Send a request.
   * @param {Uint8Array} payload
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @param {() => void} settled called if the request is aborted, times out, or cannot be sent
   * @param {number} [sentAs] its number, if beginQuick() gave it one and it has been sent
   * @returns {Promise<Buffer>}
   */
  ask(payload, signal, timeoutMs, settled, sentAs = undefined) {
    if (this.#awaited >= this.#maxAwaited) {
      throw new CrossingsError(
        'ERR_LIMIT_EXCEEDED',
        `Too many pending requests: ${this.#maxAwaited}, the maximum set by the option maxRequests. Await some of them first.`,
      );
    }
    const number = sentAs ?? this.#takeNumber();
    this.#quick.sent(this.#awaited === 0);
    return new Promise((resolve, reject) => {
      const size = payload.length;
      /** @type {Outgoing} */
      const request = {
        payload: sentAs === undefined ? payload : undefined,
        size,
        answer: undefined,
        isAbandoned: false,
        entry: undefined,
        cancel: undefined,
        timer: undefined,
        resolve,
        reject,
      };
      if (signal !== undefined || Number.isFinite(timeoutMs))
        request.isAbandoned = this.#limit(number, request, signal, timeoutMs, settled);
      if (request.isAbandoned && sentAs === undefined) return;
      if (!request.isAbandoned) this.#awaited++;
      if (sentAs !== undefined) return this.#goOn(number, request);
      if (this.#queued.size === 0 && this.#window.admits(size)) return this.#sendNow(number, request);
      request.payload = payload;
      request.entry = this.#queued.add([number, request]);
    });
  }

  /** One that has polled goes on as an ordinary request. @param {number} number @param {Outgoing} request */
  #goOn(number, request) {
    request.answer = this.#quick.answer;
    this.#quick.end();
    this.#enter(number, request);
    if (this.#early?.number !== number) return;
    const early = this.#early;
    this.#early = undefined;
    this.take(early);
  }

  /** @param {number} number @param {Outgoing} request */
  #enter(number, request) {
    if (!request.answer) this.#window.enter(request.size);
    this.#open.set(number, request);
  }

  /** @param {number} number @param {Outgoing} request */
  #sendNow(number, request) {
    this.#enter(number, request);
    const payload = /** @type {Uint8Array} */ (request.payload);
    let isDone = false; // also while #send() looks for room, before it returns
    const cancel = this.#send(payload, KIND.REQUEST, number, (error) => {
      isDone = true;
      request.cancel = undefined;
      request.payload = undefined;
      if (error !== undefined && this.#open.has(number)) this.#leave(number, request).reject(error);
    });
    if (!isDone) request.cancel = cancel;
  }

  /** Send the queued requests that the window now admits. @param {() => boolean} maySend called after each; false stops the loop */
  sendQueued(maySend) {
    for (let entry = this.#queued.first; entry !== null; entry = this.#queued.first) {
      const [number, request] = entry.value;
      if (!this.#window.admits(request.size)) return;
      this.#queued.delete(entry);
      this.#sendNow(number, request);
      if (!maySend()) return;
    }
  }

  /** Close an open request. @param {number} number @param {Outgoing} request */
  #leave(number, request) {
    this.#open.delete(number);
    if (!request.answer) this.#window.leave(request.size);
    if (!request.isAbandoned) this.#awaited--;
    return request;
  }

  /**
   * Make a request end when its signal is aborted or its timeout expires.
   * @param {number} number
   * @param {Outgoing} request
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @param {() => void} settled
   * @returns {boolean} true if it has ended: a hook of async_hooks has aborted it
   */
  #limit(number, request, signal, timeoutMs, settled) {
    const { resolve, reject } = request;
    let isOver = false;
    let stopListening = () => {};
    /** @type {NodeJS.Timeout | undefined} */ let timer;
    const end = () => {
      isOver = true;
      clearTimeout(timer);
      stopListening();
    };
    /** @param {unknown} error */
    const giveUp = (error) => {
      this.#giveUp(number, request);
      end();
      reject(error);
      settled();
    };
    const late = () => {
      if (request.answer) return this.#takeAnswer(request.answer); // it came in time, but its turn has not: this thread was busy
      giveUp(new CrossingsError('ERR_TIMEOUT', `No response within ${timeoutMs} ms.`));
    };
    stopListening = onAbort(signal, giveUp);
    // A timer whose time exceeds 2^31 - 1 ms would fire at once.
    if (Number.isFinite(timeoutMs)) timer = setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1));
    if (isOver) end();
    if (this.#unreferenced) timer?.unref();
    request.timer = timer;
    request.resolve = (response) => {
      end();
      resolve(response);
    };
    request.reject = (error) => {
      end();
      reject(error);
    };
    return isOver;
  }

  /** Withdraw a request that is not in the ring yet. One that is stays open until its response arrives. @param {number} number @param {Outgoing} request */
  #giveUp(number, request) {
    if (request.entry !== undefined && this.#queued.delete(request.entry)) {
      this.#awaited--;
    } else if (request.cancel !== undefined) {
      request.cancel();
      this.#leave(number, request);
    } else if (request.answer && this.#open.has(number)) {
      this.#leave(number, request);
      request.answer.payload = NOTHING;
    } else if (this.#open.has(number)) {
      request.isAbandoned = true;
      this.#awaited--;
    }
  }

  /**
   * Does a request await the response with this number? One that still waits for room in the ring does not: a peer that answers it
   * in advance would make this side wait for room with more and more requests.
   * @param {number} number
   */
  isAwaited(number) {
    const request = this.#open.get(number);
    if (request !== undefined) return !request.answer && request.cancel === undefined;
    return this.#quick.awaits(number);
  }

  /**
   * Count a frame that was copied. Throws if it is a request that exceeds the peer's window.
   * @param {NumberedFrame} frame
   * @returns {boolean} false: ignore it, because no request awaits this response
   */
  admit(frame) {
    const { kind, number, payload } = frame;
    if (kind === KIND.REQUEST) {
      this.responder.admit(payload.length);
      return true;
    }
    const request = this.#open.get(number);
    if (request === undefined && this.#quick.awaits(number)) {
      this.#quick.answeredAside(frame);
      return true;
    }
    if (request === undefined || request.answer) return false;
    if (request.isAbandoned) this.#leave(number, request);
    else this.#window.leave(request.size); // a thread that is blocked in receiveSync() dispatches the response later
    request.answer = frame;
    return !request.isAbandoned;
  }

  /**
   * Dispatch a response before its turn. Its frame still waits behind others, perhaps for long, and holds nothing meanwhile: or each
   * request that ends so would make room for another one, and the peer could make all of them large.
   * @param {NumberedFrame} answer
   */
  #takeAnswer(answer) {
    this.take({ ...answer });
    answer.payload = NOTHING;
  }

  /**
   * Dispatch a request, a response or a refusal. A response that late() has dispatched before is ignored.
   * @param {NumberedFrame} frame
   */
  take(frame) {
    const { kind, number, payload } = frame;
    if (kind === KIND.REQUEST) return this.responder.respond(number, payload);
    const request = this.#open.get(number);
    if (request === undefined) return this.#takeEarly(frame);
    this.#leave(number, request);
    this.#quick.answered();
    if (request.isAbandoned) return;
    if (kind === KIND.RESPONSE) request.resolve(payload);
    else request.reject(errorOfRefusal(payload));
  }

  /**
   * A hook of async_hooks has received while a request polls, or a vm timeout has ended the polling. In the latter case, nobody takes
   * the response before this thread runs the next microtask. Other requests were rejected after their responses were set aside.
   * @param {NumberedFrame} early
   */
  #takeEarly(early) {
    if (!this.#quick.is(early.number)) return;
    this.#early = early;
    DONE.then(() => {
      if (this.#early !== early) return;
      this.#early = undefined;
      this.#quick.end();
    });
  }

  /** Reject every request that is not in the ring yet. @param {unknown} error */
  failUnsent(error) {
    for (let entry = this.#queued.first; entry !== null; entry = this.#queued.first) {
      this.#queued.delete(entry);
      this.#awaited--;
      entry.value[1].reject(error);
    }
  }

  /** Reject every request. @param {unknown} error */
  failAll(error) {
    this.failUnsent(error);
    for (const [number, request] of this.#open) {
      this.#leave(number, request);
      if (!request.isAbandoned) request.reject(error);
    }
  }
}

module.exports = { Requests };
