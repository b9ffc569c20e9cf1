'use strict';
// channelPair() and openChannel(): a channel without a path. One end stays here; the other is passed to a child
// process as a file descriptor, or to a worker thread as a ticket.
const { CrossingsError } = require('./errors.js');
const { handshake } = require('./handshake.js');
const { native } = require('./native.js');
const { invalidArgument } = require('./options.js');

const FIRST_TICKET = 2 ** 32; // every ticket is larger, every descriptor smaller
const FIRST_SOCKET_TICKET = 2 ** 52; // of a channelPair() with transport: 'socket'

/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */
/** @typedef {import('./handshake.js').Options} Options */

/**
 * What a Port hands over.
 * @typedef {object} OtherEnd
 * @property {number} fd
 * @property {() => number} take
 * @property {() => void} close
 */

/** The end of a channelPair() for another process or thread. */
class Port {
  #end;

  /** @param {OtherEnd} end @param {Promise<AChannel>} channel the end that stays here */
  constructor(end, channel) {
    this.#end = end;
    // A copy that stays open hides the death of the child. Once the channel is open, the child has its own; once it has failed,
    // nobody can open the port any more, for example because the worker ended before it redeemed its ticket.
    const close = () => this.close();
    channel.then(close, close);
  }

  /** The file descriptor, for the stdio option of a child process. To pass the port to a worker, use take(). */
  get fd() {
    return this.#end.fd;
  }

  /**
   * Offer this end to the workers of this process: returns a ticket, which one of them passes to openChannel(). Until
   * then close() withdraws the offer, as does a handshake that fails or times out.
   */
  take() {
    return this.#end.take();
  }

  /**
   * Close this process's copy. Call this after starting the child that inherits the descriptor: a child that dies before it
   * opens the channel is noticed only then. Done automatically when the channel is open or has failed.
   */
  close() {
    this.#end.close();
  }
}

/** One end of a socket pair. @implements {OtherEnd} */
class LentDescriptor {
  #fd;
  #ticket = 0;

  /** @param {number} fd */
  constructor(fd) {
    this.#fd = fd;
    native.lendFd(fd);
  }

  get fd() {
    if (this.#fd < 0)
      throw new CrossingsError(
        'ERR_CLOSED',
        'The port was already opened, transferred or closed. Each child process or worker needs its own channelPair().',
      );
    return this.#fd;
  }

  take() {
    this.#ticket = native.offerFd(this.fd);
    this.#fd = -1;
    return this.#ticket;
  }

  close() {
    if (this.#fd >= 0) native.closeFd(this.#fd);
    this.#fd = -1;
    this.#withdraw();
  }

  #withdraw() {
    if (this.#ticket !== 0) native.withdrawTicket(this.#ticket);
    this.#ticket = 0;
  }
}

/**
 * Create a channel whose other end is passed to a child process or a worker thread.
 * @param {Options} options of this end
 * @returns {{channel: Promise<AChannel>, port: Port}} channel is fulfilled when the other end has been opened
 */
function channelPair(options) {
  const [mine, other] = native.socketPair();
  native.useFd(mine);
  const channel = handshake(mine, options, options.timeout, options.signal);
  return { channel, port: new Port(new LentDescriptor(other), channel) };
}

/**
 * Take a descriptor into use.
 * @param {unknown} fd a descriptor or a ticket
 * @returns {number}
 */
function claim(fd) {
  const expected = 'a file descriptor that channelPair() made, or a ticket of port.take(), as a number';
  if (!Number.isSafeInteger(fd) || Number(fd) < 0) invalidArgument('fd', expected, fd);
  if (Number(fd) >= FIRST_SOCKET_TICKET)
    throw new CrossingsError(
      'ERR_PROTOCOL',
      "This ticket is from a channelPair() with transport: 'socket', but this openChannel() uses shared memory. Set the same transport at both ends.",
    );
  if (Number(fd) > FIRST_TICKET) {
    const redeemed = native.redeemTicket(Number(fd));
    if (redeemed < 0) throw new CrossingsError('ERR_CLOSED', 'The port was closed, was already opened, or timed out.');
    return redeemed;
  }
  if (Number(fd) >= 2 ** 31 || !native.worksOver(Number(fd))) invalidArgument('fd', expected, fd);
  if (!native.useFd(Number(fd))) invalidArgument('fd', `${expected}, and not in use in this process`, fd);
  return Number(fd);
}

/**
 * Open a channel on an end that channelPair() made.
 * @param {number} fd a descriptor that this process inherited, or a ticket of port.take(). The channel owns it from then on.
 * @param {Options} options
 * @returns {Promise<AChannel>}
 */
async function openChannel(fd, options) {
  return handshake(claim(fd), options, options.timeout, options.signal, true);
}

module.exports = { channelPair, openChannel, Port };
