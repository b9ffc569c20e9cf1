'use strict';
// channelPair() and openChannel() over a socket. One end waits at a socket with a random name, and the ticket of the port tells this
// name to the other end, which may be a worker or another process of this user. Descriptors cannot be passed on without native code.
const { renameSync, unlinkSync } = require('node:fs');
const { createServer } = require('node:net');
const { Port } = require('../channel/channel-pair.js');
const { clearTimeout, setImmediate, setTimeout } = require('../channel/clock.js');
const { CrossingsError } = require('../channel/errors.js');
const { invalidArgument } = require('../channel/options.js');
const { onAbort, throwIfAborted } = require('../channel/signals.js');
const { bind } = require('./files.js');
const { startHandshake } = require('./handshake.js');
const { tryConnectingToOwn } = require('./owner.js');
const { FIRST_TICKET, endpointOf, isWindows, newTicket } = require('./paths.js');

const FIRST_SHARED_TICKET = 2 ** 32; // of channelPair() over shared memory; every descriptor is smaller
const WITH_TICKETS =
  "with transport: 'socket', an end is opened with a ticket. Pass the result of port.take() to the worker or child process, and call openChannel() with it there";

/** @typedef {import('../channel/handshake.js').Options} Options */
/** @typedef {InstanceType<typeof import('../channel/channel.js').Channel>} AChannel */

/** The ends whose files are removed when the process exits. @type {Set<WaitingEnd>} */
const waiting = new Set();

/** Waits for the other end. */
class WaitingEnd {
  #ticket = newTicket();
  #path = endpointOf(this.#ticket);
  #server;
  #isTaken = false;
  #isClosed = false;
  /** @type {(error: unknown) => void} */ #reject = () => {};
  #stop = () => {};
  channel;

  /** @param {Options} options */
  constructor(options) {
    this.#server = createServer({ pauseOnConnect: true });
    this.channel = this.#accept(options);
    const publish = (/** @type {string} */ bound) => isWindows || renameSync(bound, this.#path);
    bind(this.#server, this.#path, false, publish).catch((error) => this.#fail(error));
    if (waiting.size === 0) process.on('exit', removeFiles);
    waiting.add(this);
    try {
      throwIfAborted(options.signal);
    } catch (reason) {
      this.#fail(reason);
    }
  }

  /** @param {Options} options @returns {Promise<AChannel>} */
  #accept(options) {
    const { signal, timeout } = options;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const fail = () => this.#fail(new CrossingsError('ERR_TIMEOUT', `Handshake timed out after ${timeout} ms.`));
      const late = () => setImmediate(fail); // a connection that has arrived meanwhile is accepted first
      const timer = Number.isFinite(timeout) ? setTimeout(late, Math.min(timeout, 2 ** 31 - 1)) : undefined;
      const stopListening = onAbort(signal, (reason) => this.#fail(reason));
      this.#stop = () => {
        clearTimeout(timer);
        stopListening();
      };
      this.#server.once('connection', (socket) => {
        this.#end(); // the first one has it
        startHandshake(socket, options, timeout, signal).channel.then(resolve, reject);
      });
    });
  }

  /** @returns {number} */
  get fd() {
    throw new CrossingsError('ERR_UNSUPPORTED', `A port has no descriptor: ${WITH_TICKETS}.`);
  }

  take() {
    if (this.#isTaken || this.#isClosed)
      throw new CrossingsError(
        'ERR_CLOSED',
        'The port was already opened, transferred or closed. Each child process or worker needs its own channelPair().',
      );
    this.#isTaken = true;
    return this.#ticket;
  }

  close() {
    this.#fail(new CrossingsError('ERR_PEER_DIED', 'Handshake failed: the port was closed before it was opened.'));
  }

  /** @param {unknown} error */
  #fail(error) {
    if (this.#isClosed) return;
    this.#end();
    this.#reject(error);
  }

  /** Wait no longer. */
  #end() {
    this.#isClosed = true;
    this.#stop();
    this.removeFile();
    this.#server.close();
    if (waiting.delete(this) && waiting.size === 0) process.off('exit', removeFiles);
  }

  removeFile() {
    if (isWindows) return;
    try {
      unlinkSync(this.#path);
    } catch {
      // It was not bound, or a program that cleans the folder was here first.
    }
  }
}

/** Called when the process exits normally. */
function removeFiles() {
  for (const each of waiting) each.removeFile();
}

/**
 * Create a channel whose other end is opened with a ticket.
 * @param {Options} options of this end
 * @returns {{channel: Promise<AChannel>, port: InstanceType<typeof Port>}}
 */
function channelPair(options) {
  const end = new WaitingEnd(options);
  return { channel: end.channel, port: new Port(end, end.channel) };
}

/**
 * Open the end of a channelPair().
 * @param {unknown} ticket what port.take() returned
 * @param {Options} options
 * @returns {Promise<AChannel>}
 */
async function openChannel(ticket, options) {
  throwIfAborted(options.signal);
  const path = endpointOf(readTicket(ticket));
  const socket = await tryConnectingToOwn(path, options);
  if (typeof socket === 'string')
    throw new CrossingsError('ERR_CLOSED', 'The port was closed, was already opened, or timed out.');
  return startHandshake(socket, options, options.timeout, options.signal).channel;
}

/** @param {unknown} ticket @returns {number} */
function readTicket(ticket) {
  if (!Number.isSafeInteger(ticket) || Number(ticket) < 0)
    return invalidArgument('fd', 'a ticket of port.take()', ticket);
  if (Number(ticket) >= FIRST_TICKET) return Number(ticket);
  if (Number(ticket) <= FIRST_SHARED_TICKET)
    throw new CrossingsError('ERR_UNSUPPORTED', `Descriptor ${ticket} cannot be opened: ${WITH_TICKETS}.`);
  throw new CrossingsError(
    'ERR_PROTOCOL',
    "This ticket is from a channelPair() over shared memory, but this openChannel() uses transport: 'socket'. Set the same transport at both ends.",
  );
}

module.exports = { channelPair, openChannel };
