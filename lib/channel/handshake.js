'use strict';
// The handshake over a connected socket: each side creates its region, sends it, and maps the peer's. It does not block
// the event loop. A timeout or an AbortSignal can end it.
const { Channel } = require('./channel.js');
const { CrossingsError } = require('./errors.js');
const { native } = require('./native.js');

/** @typedef {ReturnType<typeof import('./options.js').readOptions>} Options */
/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

/** setTimeout() for any time; Infinity sets no timer. @param {() => void} call @param {number} ms */
function timer(call, ms) {
  return Number.isFinite(ms) ? setTimeout(call, Math.min(ms, 2 ** 31 - 1)) : undefined;
}

/**
 * Perform the handshake over a connected socket. Closes the descriptor on failure.
 * @param {number} fd
 * @param {Options} options
 * @param {number} timeoutMs
 * @param {AbortSignal} [signal]
 * @returns {Promise<AChannel>}
 */
function handshake(fd, options, timeoutMs, signal) {
  /** @type {import('./native.js').NativeRegion | undefined} */
  let mine;
  /** @type {import('./native.js').Poller | undefined} */
  let poller;
  /** @type {NodeJS.Timeout | undefined} */
  let timeout;
  /** @type {(() => void) | undefined} */
  let abort;
  /** @type {Promise<AChannel>} */
  const connecting = new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const { uid, pid } = native.peerOf(fd);
    if (uid !== process.geteuid?.() && !options.allowOtherUsers) {
      throw new CrossingsError(
        'ERR_NOT_AUTHORIZED',
        `Peer not authorized: process ${pid} runs as user ${uid}, not ${process.geteuid?.()}. Set the option allowOtherUsers to accept it.`,
      );
    }
    const own = native.createRegion(options.capacity, options.wait === 'spin', options.sharedBuffers);
    mine = own;
    native.sendHello(fd, own.handle); // does not block: the socket's send buffer is empty
    const readHello = () => {
      try {
        const peer = native.receiveHello(fd, options.sharedBuffers);
        if (!peer) return;
        poller?.close();
        poller = undefined;
        resolve(new Channel({ fd, mine: own, peer, uid, pid }, options));
      } catch (error) {
        reject(error);
      }
    };
    poller = new native.Poller(fd, readHello);
    poller.ref();
    timeout = timer(
      () => reject(new CrossingsError('ERR_TIMEOUT', `Handshake timed out after ${Math.round(timeoutMs)} ms.`)),
      timeoutMs,
    );
    abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    readHello();
  });
  return connecting
    .catch((error) => {
      poller?.close();
      if (mine) native.releaseRegion(mine.handle, mine.buffer);
      native.closeFd(fd);
      throw error;
    })
    .finally(() => {
      clearTimeout(timeout);
      if (abort) signal?.removeEventListener('abort', abort);
    });
}

module.exports = { handshake };
