'use strict';
// channelPair() and openChannel(): a channel without a path. One end stays here; the other is passed to a child
// process or a worker thread as a file descriptor.
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

  /** The file descriptor: put it in a child's stdio option, or use take() to transfer it to a worker. */
  get fd() {
    if (this.#fd < 0) throw new CrossingsError('ERR_CLOSED', 'The port was transferred or closed.');
    return this.#fd;
  }

  /** Transfer the descriptor to a worker of this process. The worker owns it from then on. */
  take() {
    const { fd } = this;
    native.giveAway(fd);
    this.#fd = -1;
    return fd;
  }

  /** Close this process's copy. Call this after starting the child that inherits the descriptor. */
  close() {
    if (this.#fd >= 0) native.closeFd(this.#fd);
    this.#fd = -1;
  }
}

/**
 * Create a channel whose other end is passed to a child process or a worker thread.
 * @param {import('./options.js').ChannelOptions} [given] options of this end
 * @returns {{channel: Promise<AChannel>, port: Port}} channel is fulfilled when the other end has been opened
 */
function channelPair(given) {
  const options = readOptions(given);
  const [mine, other] = native.socketPair();
  const channel = handshake(mine, options, options.timeout, options.signal);
  channel.catch(() => {}); // no unhandled rejection if the caller never awaits it
  return { channel, port: new Port(other) };
}

/**
 * Open a channel on a descriptor that channelPair() made, inherited by this process or passed to this worker.
 * @param {number} fd the channel takes ownership of it
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
