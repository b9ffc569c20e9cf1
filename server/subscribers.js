'use strict';
// The clients that follow one run. One that does not read its events is disconnected before they fill the server's memory; it may
// come back, and begins with a snapshot.
const { allowSilence, forbidSilence } = require('./connections.js');
const { EventBuffer, createChannel, createSession } = require('./events.js');

/** @typedef {import('better-sse', { with: { 'resolution-mode': 'import' } }).Session} Session */

const MAX_UNSENT_BYTES = 256 << 10; // for each client, and one event more
const MAX_UNSENT_TOTAL_BYTES = 64 << 20; // for all clients together, and one snapshot more: a snapshot may have megabytes

/** @type {Set<import('express').Response>} the streams that are open */
const streams = new Set();

/** Disconnects the clients that have read least, until the others' events fit into the server's memory. */
function disconnectLaziest() {
  const unsent = [...streams].map((response) => ({ response, bytes: response.writableLength }));
  let total = unsent.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { response, bytes } of unsent.sort((a, b) => b.bytes - a.bytes)) {
    if (total <= MAX_UNSENT_TOTAL_BYTES) return;
    response.destroy();
    total -= bytes;
  }
}

/** @param {unknown} data a string is JSON already */
const serialize = (data) => (typeof data === 'string' ? data : JSON.stringify(data));

class Subscribers {
  #channel = createChannel();
  /** @type {WeakMap<Session, import('express').Response>} by session */
  #responses = new WeakMap();

  /**
   * @param {Session} session of a client that is still connected
   * @param {import('express').Response} response
   */
  add(session, response) {
    this.#responses.set(session, response);
    if (response.socket) allowSilence(response.socket);
    this.#channel.register(session);
  }

  /** @param {object | string} data a string is JSON already @param {string} event */
  broadcast(data, event) {
    for (const session of this.#channel.activeSessions) {
      const response = this.#responses.get(session);
      if (!response || response.writableLength <= MAX_UNSENT_BYTES) continue;
      this.#channel.deregister(session);
      response.destroy();
    }
    this.#channel.broadcast(serialize(data), event); // once, not for each client
  }

  /** Ends every stream. */
  end() {
    for (const session of this.#channel.activeSessions) {
      const response = this.#responses.get(session);
      if (response?.socket) forbidSilence(response.socket);
      response?.end();
    }
  }
}

/**
 * Begin a stream of events; null if the client has disconnected.
 * @param {import('express').Request} request
 * @param {import('express').Response} response
 */
async function beginStream(request, response) {
  // A session's keep-alive timer would outlive a client that disconnects before the session has begun, and no proxy needs it.
  const session = await createSession(request, response, { keepAlive: null, serializer: serialize });
  if (response.destroyed) return null;
  streams.add(response);
  response.once('close', () => streams.delete(response));
  disconnectLaziest();
  return response.destroyed ? null : session;
}

/**
 * The whole stream of a run that has ended, to be kept and sent as bytes: hundreds of clients may ask for it, and framing megabytes
 * takes longer than sending them.
 * @param {string} snapshot as JSON
 * @param {string} state
 * @param {object} data
 */
const wholeStream = (snapshot, state, data) =>
  new EventBuffer({ serializer: serialize }).push(snapshot, 'snapshot').push(data, state).read();

module.exports = { Subscribers, beginStream, wholeStream, MAX_UNSENT_BYTES, MAX_UNSENT_TOTAL_BYTES };
