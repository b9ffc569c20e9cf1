'use strict';
// The doorbell of a channel over a socket. Ringing it sends what has changed in my region; when it rings, the copy of the peer's
// region has changed. All of this happens in the event loop.
const { callUnreferenced, nextTick, now, setImmediate } = require('../channel/clock.js');
const { CrossingsError } = require('../channel/errors.js');
const { copies, reference, resumeNext, take: takeFromTurn } = require('../channel/turn.js');
const { linger } = require('./lingering.js');
const { sleepAnew } = require('./memory.js');
const { Receiver } = require('./receiver.js');
const { Sender } = require('./sender.js');

const ON_ITS_WAY_BYTES = 2 ** 20; // in the socket, at most
const LINGER_MS = 15_000; // how long a closed channel waits for a peer that takes nothing. The kernel has room again once it has taken about 140 KB
const LOOKS = 10; // within LINGER_MS: if this process was stopped for long, only one of them comes before its next write
const NO_WORDS = new Int32Array(0);
const POLL_MS = 1000; // how long a loop may poll without returning to the event loop

/** @typedef {import('../channel/doorbell.js').Bell} Bell */

/** @implements {Bell} */
class SocketBell {
  #socket;
  #handle; // of the channel's memory
  #words; // of the copy of the peer's region
  #receiver;
  #sender;
  #early;
  /** @type {Buffer | null} */ #rest = null; // of what has arrived, for the next turn; the socket is paused meanwhile
  #isReferenced = false; // by keepAlive()
  #keepsTaking = false; // it was referenced when the bytes came of which the rest waits: a channel that has woken is not
  #isStopped = false;
  #isClosed = false; // by this side; the socket waits for the peer's end
  #dropsLeft; // bytes that the peer may still send: its ring, a read position for each frame of mine, and what is on its way
  #isSent = false; // nothing more will be sent from my ring
  #isReleased = false; // the channel has released both rings
  #isEnding = false; // the socket has ended
  #hasEnded = false; // and all that had arrived was taken
  /** @type {unknown} */ #failure = null;
  #onRing = () => {};
  #pollingSince = 0; // when a loop was first seen to poll in this turn of the event loop; 0: none was
  cannotBlock =
    "receiveSync() cannot wait for a message with transport: 'socket': messages arrive in the event loop, which it blocks. Use receive().";

  /**
   * @param {import('node:net').Socket} socket connected, with a listener for errors
   * @param {import('./memory.js').Memory} mine
   * @param {import('./memory.js').Memory} peer
   * @param {Buffer} early what has arrived behind the hello
   */
  constructor(socket, mine, peer, early) {
    this.#socket = socket;
    this.#handle = mine.handle;
    this.#words = new Int32Array(peer.buffer);
    this.#sender = new Sender(socket, mine, () => this.#keep());
    this.#receiver = new Receiver(mine, peer, (read) => this.#sender.acceptRead(read));
    this.#early = early;
    this.#dropsLeft = peer.capacity + mine.capacity + ON_ITS_WAY_BYTES;
    sleepAnew(this.#words);
  }

  /** @param {() => void} onRing */
  watch(onRing) {
    this.#onRing = onRing;
    const end = () => this.#end();
    this.#socket.on('data', (bytes) => this.#take(bytes));
    this.#socket.once('end', end).once('close', end);
    this.#socket.unref();
    if (this.#early.length > 0) {
      this.#rest = this.#early;
      this.#socket.pause(); // until these bytes are taken; Deno may read more before the next tick
      nextTick(() => this.resume());
    } else {
      this.#read();
    }
  }

  /** See turn.js. */
  get isSlow() {
    return this.#sender.isSlow;
  }

  /** Likewise. */
  get tookMs() {
    return this.#sender.tookMs;
  }

  /** Does nothing that waits here keep the process alive? */
  get unreferenced() {
    return !this.#isReferenced && !this.#keepsTaking;
  }

  /** Take what has arrived. What is left when the budget of this turn is spent waits for the next. @param {Buffer} bytes */
  #take(bytes) {
    if (this.#isClosed) return this.#drop(bytes.length);
    if (this.#isStopped) return;
    if (this.#rest !== null) {
      this.#rest = Buffer.concat([this.#rest, bytes]); // a runtime has read although the socket is paused
      return;
    }
    this.#keepsTaking ||= this.#isReferenced;
    let taken = bytes.length; // what follows a failure is dropped
    try {
      if (this.#failure === null) taken = this.#receiver.take(bytes);
    } catch (error) {
      this.#failure = error;
    }
    this.#keepsTaking &&= taken < bytes.length;
    if (taken < bytes.length) {
      this.#rest = bytes.subarray(taken);
      this.#socket.pause();
      resumeNext(this);
    }
    this.#onRing();
  }

  /** What arrives after close() is dropped, within the budget of the turn, up to what the peer may send. @param {number} size */
  #drop(size) {
    this.#dropsLeft -= size;
    if (this.#dropsLeft < 0) return void this.#socket.destroy();
    copies(size);
    if (takeFromTurn()) return;
    this.#socket.pause();
    resumeNext(this);
  }

  /** Called in the next turn. */
  resume() {
    if (this.#isClosed) return void this.#socket.resume();
    const rest = this.#rest;
    if (rest === null || this.#isStopped) return;
    this.#rest = null;
    this.#take(rest);
    if (this.#rest !== null) return;
    if (this.#isEnding) this.#end();
    else if (!this.#isStopped) this.#read(); // what was taken may have shown that the peer is corrupt
  }

  /** A socket that has failed holds what it had read until 'close' follows, and would drop it now. */
  #read() {
    if (!this.#socket.destroyed) this.#socket.resume();
  }

  /** The socket has ended. All that has arrived is taken first. */
  #end() {
    this.#isEnding = true;
    if (this.#hasEnded || this.#rest !== null) return;
    this.#rest = this.#socket.read(); // what a socket that was paused holds
    if (this.#rest !== null) return resumeNext(this);
    this.#hasEnded = true;
    if (!this.#isStopped) this.#onRing();
  }

  /** @param {boolean} yes */
  keepAlive(yes) {
    this.#isReferenced = yes;
    this.#keep();
    if (!yes) return;
    reference(this); // while the socket is paused, it does not keep the process alive
  }

  /** A write that is on its way keeps the process alive by itself only in Node. */
  #keep() {
    // Node would wait for its connection, each time with a listener more. In Bun, a socket has ended before it is destroyed.
    if (this.#isStopped || this.#socket.destroyed || this.#socket.pending) return;
    if (!this.#isReferenced && !this.#sender.isBusy) this.#socket.unref();
    else this.#socket.ref();
  }

  ring() {
    sleepAnew(this.#words);
    this.#sender.flush();
    return true;
  }

  /** What was put off for the next turn must not wait for it. */
  sendAtExit() {
    this.#sender.sendAtExit();
  }

  /** @param {() => boolean} maySend @returns {boolean} may the kernel take more? */
  sendHeld(maySend) {
    return this.#sender.sendHeld(maySend);
  }

  isConnected() {
    if (this.#failure !== null) throw this.#failure;
    return !this.#hasEnded && !this.#receiver.isClosed;
  }

  /** A loop of try calls has found nothing for long. If it never returns to the event loop, nothing will ever arrive. */
  polled() {
    if (this.#pollingSince === 0) {
      this.#pollingSince = now();
      setImmediate(() => {
        this.#pollingSince = 0;
      });
    } else if (now() - this.#pollingSince > POLL_MS) {
      throw new CrossingsError(
        'ERR_UNSUPPORTED',
        `A loop has polled this channel for ${POLL_MS} ms without returning to the event loop. With transport: 'socket', messages move only in the event loop: await something in the loop.`,
      );
    }
  }

  /** @returns {never} */
  wait() {
    throw new CrossingsError('ERR_UNSUPPORTED', this.cannotBlock);
  }

  stopWatching() {
    this.#isStopped = true;
    this.#socket.pause();
    this.#socket.unref();
    if (this.#sender.isBusy) this.#socket.destroy(); // what is on its way keeps the process alive, as long as the peer does not read
  }

  /** Drop my ring: the peer decides how long the socket stays open. */
  #dropRing() {
    this.#sender.release();
    this.#isSent = true;
    this.#handle.isReleased = this.#isReleased;
  }

  /**
   * Send what is left, then end the connection. What arrives meanwhile is dropped: if it stayed unread, the peer would lose what
   * it has not read.
   */
  close() {
    this.#isStopped = true;
    const socket = this.#socket;
    this.#words = NO_WORDS;
    this.#rest = null;
    // It may have been closed although bytes of it still wait for their turn.
    const isOver = this.#hasEnded || this.#receiver.isClosed || this.#failure !== null || socket.destroyed;
    this.#receiver.release();
    if (isOver) {
      socket.destroy();
      this.#dropRing();
      return undefined;
    }
    this.#isClosed = true;
    socket.resume();
    let seen = this.#sender.chunks;
    let inVain = 0;
    const look = () => {
      if (socket.destroyed) return;
      inVain = this.#sender.chunks === seen ? inVain + 1 : 0;
      seen = this.#sender.chunks;
      if (inVain === LOOKS) socket.destroy();
      else callUnreferenced(look, LINGER_MS / LOOKS);
    };
    callUnreferenced(look, LINGER_MS / LOOKS);
    socket.once('close', () => this.#dropRing());
    let isSent = false;
    this.#sender.whenEmpty(() => {
      isSent = true;
      socket.end();
      linger(socket);
      this.#dropRing();
    });
    if (isSent) {
      socket.unref();
      return undefined; // the kernel has all of it, and delivers it even if this process exits
    }
    socket.ref(); // in Bun and Deno, a write that is on its way does not keep the process alive
    return new Promise((resolve) => {
      const done = () => {
        socket.unref();
        resolve(undefined);
      };
      socket.once('finish', done).once('close', done);
    });
  }

  /** The memory counts as released once nothing in it is left to be sent, either. */
  release() {
    this.#isReleased = true;
    this.#handle.isReleased = this.#isSent;
  }
}

module.exports = { SocketBell };
