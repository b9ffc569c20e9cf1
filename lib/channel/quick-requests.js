'use strict';
// The sending of requests. A request polls for its response at once if the caller probably awaits each response (quick-policy.js).
// That saves the entry among the open requests, a promise and a microtask. Every other request goes through requests.js and the
// pump.
const { KIND } = require('./layout.js');
const lookout = require('./lookout.js');
const { throwIfAborted } = require('./signals.js');
const turn = require('./turn.js');

let instances = 0;
/** The instance that sent the last request of this thread: one that sends to several channels at a time must not wait for each. */
let last = 0;

class QuickRequests {
  #id = ++instances;
  #connection;
  #reader;
  #arrivals;
  #requests;
  #pump;
  #outgoing;
  #pacer;

  /**
   * @param {InstanceType<typeof import('./connection.js').Connection>} connection
   * @param {InstanceType<typeof import('./arrivals.js').Arrivals>} arrivals
   * @param {InstanceType<typeof import('./requests.js').Requests>} requests
   * @param {InstanceType<typeof import('./pump.js').Pump>} pump
   * @param {InstanceType<typeof import('./outgoing.js').Outgoing>} outgoing
   * @param {InstanceType<typeof import('./pacer.js').Pacer>} pacer
   */
  constructor(connection, arrivals, requests, pump, outgoing, pacer) {
    this.#connection = connection;
    this.#reader = connection.reader;
    this.#arrivals = arrivals;
    this.#requests = requests;
    this.#pump = pump;
    this.#outgoing = outgoing;
    this.#pacer = pacer;
  }

  /**
   * Send a request.
   * @param {Uint8Array} payload
   * @param {AbortSignal | undefined} signal
   * @param {number} timeoutMs
   * @returns {Promise<Buffer>} the response
   */
  ask(payload, signal, timeoutMs) {
    throwIfAborted(signal);
    const requests = this.#requests;
    const isSame = last === this.#id;
    last = this.#id;
    let sentAs;
    // Once more afterwards: a turn may begin, in which a hook of async_hooks sends a request.
    if (isSame && requests.mayBeQuick(payload.length) && this.#mayLook() && requests.mayBeQuick(payload.length)) {
      sentAs = this.#send(payload);
      const response = sentAs === undefined ? undefined : this.#look(sentAs);
      if (response !== undefined) {
        requests.endQuick();
        return response;
      }
    }
    const response = requests.ask(payload, signal, timeoutMs, () => this.#pump.run(), sentAs);
    this.#pump.begin(sentAs !== undefined); // it has looked in vain
    return response;
  }

  /** May this call poll for a response? Nothing else may wait for a frame, and the turn's budget must not be spent. */
  #mayLook() {
    return (
      this.#connection.isOpen && // encode() may have closed it
      this.#pacer.mayLook &&
      lookout.isEmpty() &&
      this.#pump.receivers.size === 0 &&
      this.#connection.corked === 0 &&
      !this.#reader.suspended &&
      !this.#arrivals.hasNumbered &&
      this.#reader.peekMessage() === -1 && // the peer can see the read position now
      !this.#reader.mustRing &&
      turn.take()
    );
  }

  /** @param {Uint8Array} payload @returns {number | undefined} the number of the request; undefined: there is no room */
  #send(payload) {
    const number = this.#requests.beginQuick(payload.length);
    let isSent = false;
    try {
      isSent = this.#outgoing.writeSoon(payload, KIND.REQUEST, number);
    } finally {
      if (!isSent) this.#requests.endQuick();
    }
    return isSent ? number : undefined;
  }

  /**
   * Poll for the response. Its promise is made before it arrives, to save the time afterwards.
   * @param {number} number of the request
   * @returns {Promise<Buffer> | undefined} undefined if it takes longer, or another frame comes first
   */
  #look(number) {
    this.#connection.flush();
    const expected = this.#arrivals.prepare();
    const answered = expected === null ? undefined : Promise.resolve(expected);
    if (!this.#connection.isOpen) return undefined; // a hook of async_hooks has closed the channel
    const response = this.#pacer.look(this.#reader) ? this.#arrivals.takeResponse(number) : null;
    if (response === null) return undefined;
    return response === expected ? answered : Promise.resolve(response);
  }
}

module.exports = { QuickRequests };
