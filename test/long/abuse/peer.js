'use strict';
// A peer that the abuse drives by hand, in the same thread: whatever a peer process could do to its socket and its memory, at
// a chosen moment and at once.
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { CLOSED_WORD, HEADER_BYTES, KIND } = require('../../../lib/channel/layout.js');
const { native } = require('../../../lib/channel/native.js');
const { RingReader } = require('../../../lib/channel/ring-reader.js');
const { RingWriter } = require('../../../lib/channel/ring-writer.js');
const { listen, openChannel } = /** @type {any} */ (require('../../../lib/index.js'));

const CAPACITY = 65536;
let paths = 0;

/** A socket path that is not in use. */
const newPath = () => join(tmpdir(), `abuse-${process.pid}-${paths++}.sock`);

class Peer {
  #fd;
  #mine;
  #theirs;
  #writer;
  #reader;
  #sent = 0;

  /** @param {number} fd @param {any} mine @param {any} theirs regions */
  constructor(fd, mine, theirs) {
    this.#fd = fd;
    this.#mine = mine;
    this.#theirs = theirs;
    this.#writer = new RingWriter(mine, theirs);
    this.#reader = new RingReader(mine, theirs);
  }

  get gone() {
    return this.#fd < 0;
  }

  /** Sends numbered messages: 'message 0', 'message 1', … @param {number} count */
  send(count) {
    for (let i = 0; i < count; i++) this.#write(`message ${this.#sent++}`, KIND.MESSAGE, 0);
  }

  /** @param {number} number */
  request(number) {
    this.#write(`request ${number}`, KIND.REQUEST, number);
  }

  /** A response to a request that was never made. */
  answerNothing() {
    this.#write('nobody asked', KIND.RESPONSE, 0x7777);
  }

  /** @param {string} text @param {number} kind @param {number} number */
  #write(text, kind, number) {
    this.#writer.write(Buffer.from(text), kind, number);
    if (this.#writer.publish()) native.ring(this.#fd);
  }

  /** Reads whatever has arrived, and answers the requests among it. */
  serve() {
    if (this.gone) return;
    for (let size = this.#reader.peek(); size >= 0; size = this.#reader.peek()) {
      const [kind, number] = [this.#reader.kind(), hasNumber(this.#reader.kind()) ? this.#reader.number() : 0];
      this.#reader.consume(size);
      if (kind === KIND.REQUEST) this.#write('answer', KIND.RESPONSE, number);
    }
    if (this.#reader.mustRing) {
      this.#reader.mustRing = false;
      native.ring(this.#fd);
    }
  }

  ring() {
    if (!this.gone) native.ring(this.#fd);
  }

  /** Makes the next frame impossible. */
  corrupt() {
    const words = new Int32Array(this.#mine.buffer);
    Atomics.store(words, (HEADER_BYTES + (this.#writer.position & (CAPACITY - 1))) >> 2, 0x7fffffff);
    this.ring();
  }

  /** Ends as a process that is killed: the kernel closes the socket. */
  die() {
    if (this.gone) return;
    native.closeFd(this.#fd);
    this.#fd = -1;
  }

  close() {
    if (this.gone) return;
    Atomics.store(new Int32Array(this.#mine.buffer), CLOSED_WORD, 1);
    this.die();
  }

  /** Ends and returns the memory. */
  release() {
    this.close();
    this.#writer.release();
    this.#reader.release();
    for (const { handle, buffer } of [this.#mine, this.#theirs]) native.releaseRegion(handle, buffer);
  }
}

const hasNumber = (/** @type {number} */ kind) => kind !== KIND.MESSAGE;

/** The peer's half of a handshake. @param {number} fd */
function greet(fd) {
  const mine = native.createRegion(CAPACITY, false, false);
  native.sendHello(fd, mine.handle);
  return {
    finish: () => new Peer(fd, mine, native.receiveHello(fd, false)),
    release: () => native.releaseRegion(mine.handle, mine.buffer), // instead of finish()
  };
}

/** A channel and its peer. @param {any} [options] of the channel */
async function channelAndPeer(options) {
  const [ours, theirs] = native.socketPair();
  const opening = openChannel(ours, { capacity: CAPACITY, ...options });
  const { finish } = greet(theirs);
  const channel = await opening;
  return { channel, peer: finish() };
}

/** A channel that a server has just accepted, and its peer. @param {any} [options] of the channel */
async function acceptedAndPeer(options) {
  const server = await listen(newPath(), { capacity: CAPACITY, ...options });
  const accepting = server.accept();
  const { finish } = greet(native.connect(server.path));
  const channel = await accepting;
  server.close();
  return { channel, peer: finish() };
}

module.exports = { CAPACITY, acceptedAndPeer, channelAndPeer, greet, newPath };
