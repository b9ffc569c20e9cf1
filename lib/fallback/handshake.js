'use strict';
// The handshake over a connected socket: each side sends a hello. A server sends its own when it has the client's.
const { Channel } = require('../channel/channel.js');
const { clearTimeout, now, setImmediate, setTimeout } = require('../channel/clock.js');
const { CrossingsError } = require('../channel/errors.js');
const { authorize } = require('../channel/handshake.js');
const { onAbort, throwIfAborted } = require('../channel/signals.js');
const { countCalls, mayAnswer, reference, resumeNext } = require('../channel/turn.js');
const { createMemory, newKey } = require('./memory.js');
const { keepReadable } = require('./sender.js');
const { SocketBell } = require('./socket-bell.js');
const { peerOf } = require('./sockets.js');
const { HELLO_BYTES, readHello, writeHello } = require('./wire.js');

const UNKNOWN = -1; // Node does not tell who is at the other end of a socket, and the addon need not be there

/** @typedef {import('../channel/handshake.js').Handshake} Handshake */

/**
 * Start the handshake. Destroys the socket on failure.
 * @param {import('node:net').Socket} socket
 * @param {import('../channel/handshake.js').Options} options
 * @param {number} timeoutMs
 * @param {AbortSignal} [signal]
 * @param {import('../channel/handshake.js').Checks} [checks]
 * @param {Buffer} [arrived] what was read from the socket before
 * @returns {Handshake}
 */
function startHandshake(socket, options, timeoutMs, signal, checks, arrived = Buffer.alloc(0)) {
  let ended = false;
  const handle = { isReleased: false };
  let saidHello = false;
  let hello = Buffer.alloc(0); // what has arrived of it
  /** @type {Buffer | null} what has arrived behind it, once it is complete */ let early = null;
  /** @type {NodeJS.Timeout | undefined} */
  let timeout;
  let stopListening = () => {};
  const key = options.authenticate ? newKey() : null;
  /** @type {(channel: InstanceType<typeof Channel>) => void} */
  let resolve;
  /** @type {(error: unknown) => void} */
  let reject;
  const channel = new Promise((fulfill, fail) => {
    resolve = fulfill;
    reject = fail;
  });

  function end() {
    ended = true;
    clearTimeout(timeout);
    stopListening();
    socket.off('data', take).off('end', gone).off('close', gone);
  }

  /** @param {unknown} error */
  function refuse(error) {
    if (ended) return;
    end();
    handle.isReleased = true;
    // The peer needs this side's hello to find out what is wrong.
    if (saidHello) socket.unref().end(() => socket.destroy());
    else socket.destroy();
    reject(error);
  }

  function gone() {
    refuse(new CrossingsError('ERR_PEER_DIED', 'Handshake failed: the peer closed the connection.'));
  }

  function sayHello() {
    if (saidHello) return;
    saidHello = true;
    socket.write(writeHello(options.capacity, key));
  }

  /** @param {Buffer} bytes */
  function take(bytes) {
    const missing = HELLO_BYTES - hello.length;
    hello = Buffer.concat([hello, bytes.subarray(0, missing)]);
    if (hello.length < HELLO_BYTES) return;
    if (early !== null) {
      early = Buffer.concat([early, bytes]); // a runtime has read although the socket is paused
      return;
    }
    early = bytes.subarray(missing);
    if (!checks || mayAnswer()) return openNow();
    // Many clients may say hello at the same moment, and each one gets two rings.
    socket.pause();
    resumeNext(waiting);
  }

  /** What waits for its turn keeps the process alive only if this handshake does. */
  const waiting = { unreferenced: false, resume: openNow };

  function openNow() {
    if (ended || early === null) return;
    const before = now();
    try {
      open(early);
    } catch (error) {
      refuse(error);
    }
    countCalls(now() - before);
  }

  /** The peer's hello is complete. @param {Buffer} rest what has arrived behind it */
  function open(rest) {
    if (!checks) sayHello();
    const theirs = readHello(hello, options, sayHello);
    checks?.open(UNKNOWN, { capacity: options.capacity, handle }, { capacity: theirs.capacity, handle });
    sayHello();
    const mine = createMemory(options.capacity, key, handle);
    const peer = createMemory(theirs.capacity, theirs.key, handle);
    end();
    const bell = new SocketBell(socket, mine, peer, rest);
    // Looking at the ring is in vain: messages arrive in the event loop only.
    resolve(new Channel({ bell, mine, peer, uid: UNKNOWN, pid: UNKNOWN }, { ...options, wait: 'sleep' }));
  }

  /** @param {boolean} yes */
  function keepAlive(yes) {
    if (ended) return;
    waiting.unreferenced = !yes;
    if (yes) reference(waiting);
    if (yes) socket.ref();
    else socket.unref();
    if (yes) timeout?.ref();
    else timeout?.unref();
  }

  const self = {
    channel,
    uid: UNKNOWN,
    pid: UNKNOWN,
    startedAt: now(),
    hasToWait: false,
    isLooking: false,
    look: openNow,
    refuse,
    keepAlive,
  };
  try {
    throwIfAborted(signal);
    const peer = peerOf(socket);
    if (peer !== null) authorize(peer, options); // elsewhere, the socket's file keeps other users out; see owner.js
    checks?.admit(UNKNOWN);
    if (socket.destroyed) gone();
    if (ended) return self;
    socket.on('error', () => {}); // 'close' follows
    keepReadable(socket); // a client may have sent all that it has to say and ended
    socket.on('data', take).once('end', gone).once('close', gone);
    if (!checks) sayHello();
    stopListening = onAbort(signal, refuse);
    if (Number.isFinite(timeoutMs)) timeout = setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1));
    socket.ref().resume();
    take(arrived);
  } catch (error) {
    refuse(error);
  }
  return self;

  /** If this process did not return to the event loop for long, the hello may have arrived: it is read before the next immediates. */
  function late() {
    const error = new CrossingsError('ERR_TIMEOUT', `Handshake timed out after ${options.timeout} ms.`);
    setImmediate(() => refuse(error));
  }
}

module.exports = { startHandshake };
