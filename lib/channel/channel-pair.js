'use strict';
// channelPair() and openChannel(): a channel without a path. One end stays here; the other goes to a child process or a
// worker thread as a file descriptor.
const { CrossingsError } = require('./errors.js');
const { handshake } = require('./handshake.js');
const { native } = require('./native.js');
const { invalidArgument, readOptions } = require('./options.js');

/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

/** The end of a channelPair() for another process or thread. */
class Port {
  #fd;

  /** @param {number} fd */
  constructor(fd) {
    this.#fd = fd;
  }

  /** The descriptor: for a child's stdio, or for a worker, which passes it to openChannel(). */
  get fd() {
    if (this.#fd < 0) throw new CrossingsError('ERR_CLOSED', 'The port was given away or closed.');
    return this.#fd;
  }

  /** Give the descriptor to a worker of this process, which owns it from then on. */
  take() {
    const { fd } = this;
    native.giveAway(fd);
    this.#fd = -1;
    return fd;
  }

  /** Close this process's copy, once a child has been started with it. */
  close() {
    if (this.#fd >= 0) native.closeFd(this.#fd);
    this.#fd = -1;
  }
}

/**
 * A channel whose other end goes to a child process or a worker thread.
 * @param {import('./options.js').ChannelOptions} [given] of this end
 * @returns {{channel: Promise<AChannel>, port: Port}} channel: fulfilled once the other end was opened
 */
function channelPair(given) {
  const options = readOptions(given);
  const [mine, other] = native.socketPair();
  const channel = handshake(mine, options, options.timeout, options.signal);
  channel.catch(() => {}); // a user who does not await it gets no unhandled rejection
  return { channel, port: new Port(other) };
}

/**
 * Open a channel on a descriptor that channelPair() made, inherited by this process or passed to this worker.
 * @param {number} fd owned by the channel from then on
 * @param {import('./options.js').ChannelOptions} [given]
 * @returns {Promise<AChannel>}
 */
async function openChannel(fd, given) {
  const options = readOptions(given);
  if (!Number.isInteger(fd) || fd < 0 || !native.isOurKind(fd)) {
    invalidArgument('fd', 'a file descriptor that channelPair() made', fd);
  }
  native.holdFd(fd);
  return handshake(fd, options, options.timeout, options.signal);
}

module.exports = { channelPair, openChannel, Port };
