'use strict';
// Moves what this side has published from its own region into the socket: frames, the read position, and the end. At most one chunk
// is on its way at a time, so nothing grows if the peer does not read; frames wait in the ring, and its writer sees that it is full.
const { now } = require('../channel/clock.js');
const { isExiting } = require('../channel/connections.js');
const {
  CLOSED_WORD,
  FRAME_HEADER_BYTES,
  HEADER_BYTES,
  READ_POSITION_WORD,
  frameBytes,
} = require('../channel/layout.js');
const { CallTimes, copies, resumeNext, takeUnlessEnding, turnNumber } = require('../channel/turn.js');
const { RECORD, RECORD_BYTES } = require('./wire.js');

const NOTHING = Buffer.alloc(0);
const NO_WORDS = new Int32Array(0);
const CHUNK_BYTES = 64 * 1024;
const CHUNKS_AT_ONCE = 16; // by close(), whatever is left of the turn's budget, because the program may exit next: more than the kernel takes by default
const FREE_BYTES = 4 * CHUNK_BYTES; // a little more than the kernel takes by default from a peer that reads nothing
const GONE = ['EPIPE', 'ECONNRESET']; // the peer has closed its end

class Sender {
  #socket;
  #words;
  #bytes;
  #mask;
  #chunk = Buffer.alloc(CHUNK_BYTES);
  #position = 0; // of the next frame to send
  #from = 0; // where the rest of a frame's payload is, when it did not fit into the chunk
  #left = 0; // bytes of it
  #next = 0; // the position after it
  #announced = 0; // the read position that was sent
  #peerRead = 0; // the read position that was received
  #hasEnded = false; // the record CLOSED was sent
  #isBroken = false; // a write has failed: the peer will not receive what follows
  #chunks = 0; // written so far
  #waitingFor = 0; // the number of the chunk that is on its way; 0: none
  #isDelayed = false; // it has arrived in the kernel, and the next one is sent in the next turn of the event loop
  unreferenced = false; // see resumeNext()
  #turn = 0; // when flush() was called last
  #free = 0; // bytes, see #isFree()
  #times = new CallTimes();
  #onEmpty = () => {};
  #onBusy;

  /**
   * @param {import('node:net').Socket} socket
   * @param {import('./memory.js').Memory} mine
   * @param {() => void} onBusy called when isBusy has changed
   */
  constructor(socket, mine, onBusy) {
    this.#socket = socket;
    this.#onBusy = onBusy;
    this.#words = new Int32Array(mine.buffer);
    this.#bytes = new Uint8Array(mine.buffer);
    this.#mask = mine.capacity - 1;
    keepReadable(socket, (error) => this.#failed(error));
  }

  /** Is a chunk on its way? */
  get isBusy() {
    return this.#waitingFor !== 0;
  }

  get isSlow() {
    return this.#times.isSlow;
  }

  get tookMs() {
    return this.#times.tookMs;
  }

  /** How many chunks were written: a change means progress. */
  get chunks() {
    return this.#chunks;
  }

  /** Can this be the peer's new read position? It always moves forward, and never passes what was sent. @param {number} read */
  acceptRead(read) {
    if ((read & 7) !== 0 || ((read - this.#peerRead) | 0) <= 0 || ((this.#position - read) | 0) < 0) return false;
    this.#peerRead = read;
    return true;
  }

  /** Send what is published, as far as the kernel takes it now and the turn's budget allows. The rest follows later. */
  flush() {
    if (isExiting()) this.sendAtExit();
    else if (!this.#isDelayed) this.#send((bytes) => this.#isFree(bytes) || takeUnlessEnding());
  }

  /**
   * May so much more be sent in this turn without asking for its budget? What the kernel has, the peer gets even if this process is killed.
   * @param {number} bytes
   */
  #isFree(bytes) {
    const number = turnNumber();
    if (number !== this.#turn) this.#free = FREE_BYTES;
    this.#turn = number;
    this.#free -= bytes;
    return this.#free > 0;
  }

  /** Send everything that the kernel takes now, because the process exits. */
  sendAtExit() {
    this.#send(() => true);
  }

  /**
   * Send what was put off for a turn that does not come, because the thread is blocked. What the kernel has not taken waits for the event
   * loop all the same.
   * @param {() => boolean} maySend
   * @returns {boolean} may the kernel take more?
   */
  sendHeld(maySend) {
    if (this.#isDelayed && maySend()) this.#send(maySend);
    return this.#isDelayed;
  }

  /** @param {(bytes: number) => boolean} maySend called after each chunk; false: continue in the next turn */
  #send(maySend) {
    if (this.#isDelayed) this.#waitingFor = 0;
    this.#isDelayed = false;
    while (this.#waitingFor === 0 && !this.#isBroken) {
      const used = this.#fill();
      if (used === 0) return this.#empty();
      const number = ++this.#chunks;
      this.#waitingFor = number;
      copies(used);
      const before = now();
      try {
        this.#socket.write(this.#chunk.subarray(0, used), () => this.#written(number));
      } catch (error) {
        this.#socket.destroy(); // the stack is full, and nobody knows how much the kernel has taken
        throw error;
      }
      this.#times.count(now() - before, undefined, true);
      const isTaken = this.#socket.writableLength === 0;
      if (isTaken && maySend(used)) {
        this.#waitingFor = 0; // the kernel has it: no need to wait for the callback
        continue;
      }
      this.#isDelayed = isTaken;
      if (isTaken) resumeNext(this);
      this.#onBusy();
    }
    if (this.#isBroken) this.#empty();
  }

  #empty() {
    const onEmpty = this.#onEmpty;
    this.#onEmpty = () => {};
    onEmpty();
  }

  /** @param {number} number of a chunk */
  #written(number) {
    if (number !== this.#waitingFor) return;
    this.#isDelayed = true;
    // Many peers may begin to read at the same time, and one may read as fast as this side writes.
    if (takeUnlessEnding()) this.resume();
    else resumeNext(this);
  }

  /** Send more. */
  resume() {
    if (this.#isDelayed) this.#send(takeUnlessEnding); // otherwise it was called meanwhile
    if (this.#waitingFor === 0) this.#onBusy();
  }

  /** Nothing more will be sent: drop the memory. */
  release() {
    this.#words = NO_WORDS;
    this.#bytes = this.#chunk = NOTHING;
    this.#isBroken = true;
  }

  /** @param {NodeJS.ErrnoException} error */
  #failed(error) {
    this.#isBroken = true;
    destroyUnlessGone(this.#socket, error);
  }

  /** Call once all that was published has been written, which may be now. @param {() => void} onEmpty */
  whenEmpty(onEmpty) {
    this.#onEmpty = onEmpty;
    let left = CHUNKS_AT_ONCE;
    this.#send(() => --left > 0 || takeUnlessEnding());
  }

  /** Copy as much as possible into the chunk. @returns {number} bytes */
  #fill() {
    let used = this.#continueFrame(0);
    while (this.#left === 0 && used + RECORD_BYTES <= CHUNK_BYTES) {
      const read = Atomics.load(this.#words, READ_POSITION_WORD);
      if (read !== this.#announced) {
        this.#announced = read;
        used = this.#put(used, read, RECORD.READ);
        continue;
      }
      const at = HEADER_BYTES + (this.#position & this.#mask);
      const signal = Atomics.load(this.#words, at >> 2);
      if (signal === 0) return this.#end(used);
      used = this.#put(used, signal - 1, this.#words[(at >> 2) + 1]);
      this.#from = at + FRAME_HEADER_BYTES;
      this.#left = signal - 1;
      this.#next = (this.#position + frameBytes(this.#position, signal - 1)) | 0;
      used = this.#continueFrame(used);
    }
    return used;
  }

  /** @param {number} used bytes of the chunk */
  #continueFrame(used) {
    const size = Math.min(this.#left, CHUNK_BYTES - used);
    this.#chunk.set(this.#bytes.subarray(this.#from, this.#from + size), used);
    this.#from += size;
    this.#left -= size;
    if (this.#left === 0) this.#position = this.#next;
    return used + size;
  }

  /** The end follows the last frame, once this side has closed. @param {number} used */
  #end(used) {
    if (this.#hasEnded || Atomics.load(this.#words, CLOSED_WORD) === 0) return used;
    this.#hasEnded = true;
    return this.#put(used, 0, RECORD.CLOSED);
  }

  /** @param {number} used @param {number} value @param {number} kind */
  #put(used, value, kind) {
    this.#chunk.writeInt32LE(value, used);
    this.#chunk.writeInt32LE(kind, used + 4);
    return used + RECORD_BYTES;
  }
}

/** Called when a write fails. @type {WeakMap<import('node:net').Socket, (error: NodeJS.ErrnoException) => void>} */
const onErrors = new WeakMap();

/**
 * A write that fails would destroy the socket. What the peer sent before it ended may not have been read by then, so the stream is
 * told that the write was done, and the end is noticed when everything before it has been read. Call this before the first write.
 * @param {import('node:net').Socket} socket
 * @param {(error: NodeJS.ErrnoException) => void} [onError] replaces the one before it
 */
function keepReadable(socket, onError = (error) => destroyUnlessGone(socket, error)) {
  const isKept = onErrors.has(socket);
  onErrors.set(socket, onError);
  if (isKept) return;
  const write = socket._write;
  socket._write = (chunk, encoding, callback) =>
    write.call(socket, chunk, encoding, (error) => {
      if (error) onErrors.get(socket)?.(error);
      callback();
    });
}

/** @param {import('node:net').Socket} socket @param {NodeJS.ErrnoException} error */
function destroyUnlessGone(socket, error) {
  if (!GONE.includes(String(error.code))) socket.destroy();
}

module.exports = { Sender, keepReadable };
