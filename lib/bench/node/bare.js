'use strict';
// Transports that are lower bounds: what the hardware, the kernel and JavaScript cost without a channel. They use the addon only.
const { native } = require('../../channel/native.js');
const { HEADER_BYTES } = require('../../channel/layout.js');
const { spawnOther } = require('./spawn-other.js');

/** @typedef {import('./transports.js').Transport} Transport */
/** @typedef {Omit<Transport, 'start' | 'join'>} Description */
/** @typedef {import('./transports.js').End} End */

const CAPACITY = 256 * 1024; // bytes of memory per side; a message has at most 64 KiB
const TIMEOUT_MS = 10_000;

/**
 * The memory of both sides, from the first byte that the ring would use. Mine is writable.
 * @typedef {object} Memory
 * @property {Uint8Array} mine
 * @property {Uint8Array} peer
 * @property {() => boolean} isPeerAlive makes a system call
 */

/** @param {import('../../channel/native.js').NativeRegion} region */
const afterHeader = ({ buffer }) => new Uint8Array(buffer, HEADER_BYTES);

/** Exchange descriptors of shared memory over a socket. @param {number} fd @returns {End & {memory: Memory}} */
function openMemory(fd) {
  const mine = native.createRegion(CAPACITY, true, false);
  native.sendHello(fd, mine.handle);
  let peer = null;
  while (peer === null) {
    if (!native.waitReadable(fd, TIMEOUT_MS)) throw new Error('The other side did not start.');
    peer = native.receiveHello(fd, false);
  }
  return {
    memory: { mine: afterHeader(mine), peer: afterHeader(peer), isPeerAlive: () => native.drain(fd) },
    send() {},
    onMessage() {},
    close: () => native.closeFd(fd),
  };
}

/** @param {number} fd @returns {End} */
function openWake(fd) {
  /** @type {import('../../channel/native.js').Poller} */
  let poller;
  return {
    send: () => native.ring(fd),
    onMessage: (listener) => {
      poller = new native.Poller(fd, () => {
        if (!native.drain(fd)) process.exit(0); // the other side has finished
        listener(undefined);
      });
      poller.ref();
    },
    close: () => {
      poller?.close();
      native.closeFd(fd);
    },
  };
}

/**
 * A transport between two processes that share the ends of a socket.
 * @param {Description} description
 * @param {(fd: number) => End} open an end
 * @returns {Transport}
 */
function overSocket(description, open) {
  return {
    ...description,
    async start(place) {
      const [mine, other] = native.socketPair();
      native.lendFd(other);
      spawnOther(place, ['ignore', 'ignore', 'inherit', other]);
      native.closeFd(other);
      return open(mine);
    },
    join: async () => open(3),
  };
}

/** Memory that both processes map, without a ring. @param {Description} description */
const bareMemory = (description) => overSocket(description, openMemory);

/** A wake-up over a socket: the lower bound for waking a sleeping peer. @param {Description} description */
const bareWake = (description) => overSocket(description, openWake);

module.exports = { bareMemory, bareWake };
