'use strict';
// One channel's connection to its peer: the two regions, the reading and writing ends of their rings, and the doorbell, which
// also shows whether the peer is alive. Owns the channel's state, from OPEN to CLOSED (life.js).
// biome-ignore lint/suspicious/noShadowRestrictedNames: JavaScript's own in most runtimes, and used like them
const { Atomics, wordsOf } = require('./atomics.js');
const { callUnreferenced } = require('./clock.js');
const connections = require('./connections.js');
const { CrossingsError } = require('./errors.js');
const {
  CLOSED_WORD,
  FRAME_HEADER_BYTES,
  KIND,
  TAG_BYTES,
  WAITING_FOR_DATA_WORD,
  WAITING_FOR_ROOM_WORD,
  frameBytes,
  maxMessage,
} = require('./layout.js');
const { CLOSED, CORRUPT, OPEN, PEER_CLOSED, PEER_DIED, errorOf } = require('./life.js');
const { transferred } = require('./options.js');
const { showSoon } = require('./owing.js');
const { AuthRingReader, AuthRingWriter } = require('./ring-auth.js');
const { RingReader } = require('./ring-reader.js');
const { RingWriter } = require('./ring-writer.js');
const turn = require('./turn.js');

const { putOff, unrung } = connections;

/** What a sleeping side is waiting for, as bits. */
const FOR_DATA = 1;
const FOR_ROOM = 2;

const RING_RETRY_MS = 5;
const NUMBER_BYTES = 4;
const EMPTY_WORDS = new Int32Array(0);

/**
 * @typedef {object} Ends
 * @property {import('./doorbell.js').Bell} bell
 * @property {import('./native.js').NativeRegion} mine
 * @property {import('./native.js').NativeRegion} peer
 * @property {number} uid of the peer
 * @property {number} pid of the peer
 */

class Connection {
  #bell;
  /** @type {import('./native.js').NativeRegion[]} that are mapped */ #regions;
  /** @type {Promise<void> | undefined} pending as long as something is on its way to the peer */ #sent;
  #onDoorbell;
  #words; // my region as 32-bit words
  #refed = false;
  #hungUp = false;
  #ringsSoon = false; // a timer was started, because the doorbell could not be rung
  unreferenced = true; // for resumeNext(), which this class uses for rings that were put off: the program's end makes them
  #asleep = 0; // what my region announces that this side is sleeping for: FOR_... bits
  #onEnd;
  #onState;
  #largest;
  state = OPEN;
  corked = 0;
  /** Sends what is held back or waits for room, and nothing else. Returns whether more waits. @type {(maySend: () => boolean) => boolean} */
  sendHeld = () => false; // set by the pump
  doorbellsRung = 0;
  doorbellsAnswered = 0;

  /**
   * @param {Ends} ends
   * @param {() => void} onDoorbell called when the doorbell rings or the peer's end of the socket closes
   * @param {(error: unknown) => void} onEnd called when this side closes or the peer's memory is corrupt
   * @param {(state: number) => void} onState called when the state changes
   */
  constructor({ bell, mine, peer }, onDoorbell, onEnd, onState) {
    this.#bell = bell;
    this.#regions = [mine, peer];
    this.#onEnd = onEnd;
    this.#onState = onState;
    this.capacity = mine.capacity;
    this.authenticated = mine.key !== null;
    this.#largest = maxMessage(mine.capacity) - (this.authenticated ? TAG_BYTES : 0);
    // Each side signs with the key that the reader of its ring has made.
    this.writer = peer.key === null ? new RingWriter(mine, peer) : new AuthRingWriter(mine, peer, peer.key);
    this.reader = mine.key === null ? new RingReader(mine, peer) : new AuthRingReader(mine, peer, mine.key);
    this.reader.owes = false;
    this.reader.owe = () => this.#owe();
    this.#words = wordsOf(mine);
    this.#onDoorbell = onDoorbell;
  }

  /** Start to watch the socket. Called when the channel is complete: nothing after it may fail. */
  watch() {
    this.#bell.watch(this.#onDoorbell);
    connections.add(this);
  }

  /** The largest message that fits into my ring, in bytes. */
  get maxMessageBytes() {
    return this.#largest;
  }

  get isOpen() {
    return this.state === OPEN;
  }

  /** Will the current tick have no end, because the process exits? */
  get isExiting() {
    return connections.isExiting();
  }

  /** May the peer's ring still be read? */
  get isReadable() {
    return this.state < CORRUPT;
  }

  /** The error for a call that the current state does not allow. */
  error() {
    return errorOf(this.state);
  }

  /** @returns {never} */
  throwError() {
    throw this.error();
  }

  // ---- Sending ----

  /**
   * Write a frame without publishing it.
   * @param {Uint8Array} bytes
   * @param {number} kind
   * @param {number} number of the request, for kinds that carry one
   * @returns {boolean} false if there is no room now
   */
  write(bytes, kind, number) {
    turn.copies(bytes.length); // first: a hook of async_hooks may close this channel when a turn begins
    if (this.state !== OPEN) this.throwError();
    if (bytes.length + (kind === KIND.MESSAGE ? 0 : NUMBER_BYTES) > this.#largest)
      this.#throwTooLarge(bytes.length, kind);
    let written = false;
    try {
      written = this.writer.write(bytes, kind, number);
    } catch (error) {
      // The memory of the message was transferred, so it cannot be copied. Nothing of it is in the ring yet.
      if (/** @type {any} */ (error)?.name === 'TypeError') transferred(bytes); // from any realm
      this.fail(error);
    }
    if (written) this.reader.answered();
    else this.#showMessages();
    return written;
  }

  /** Would a message of this size fit now? @param {number} sizeBytes */
  hasRoom(sizeBytes) {
    if (this.state !== OPEN) this.throwError();
    if (sizeBytes > this.#largest) this.#throwTooLarge(sizeBytes, KIND.MESSAGE);
    const payload = sizeBytes + (this.authenticated ? TAG_BYTES : 0);
    let hasRoom = false;
    try {
      hasRoom = this.writer.hasRoom(frameBytes(this.writer.position, payload) + FRAME_HEADER_BYTES);
    } catch (error) {
      this.fail(error);
    }
    if (!hasRoom) this.#showMessages();
    return hasRoom;
  }

  /** There is no room. The peer can free some only by reading published frames, and it must be awake. */
  #showMessages() {
    this.publish();
    this.ringAgain();
  }

  /** Publish every frame that was written. */
  publish() {
    if (this.writer.publish()) this.ring();
  }

  /** Publish every frame that was written, unless the channel is corked. @param {boolean} [uncorks] even then: uncork() will not be called */
  flush(uncorks = false) {
    if (this.writer.heldSignal !== 0 && (this.corked === 0 || uncorks) && this.state === OPEN) this.publish();
  }

  sendAtExit() {
    this.flush(true);
    this.#bell.sendAtExit?.();
  }

  /** Before waiting: publish what was written (unless corked) and the read position. The peer may be waiting for either. */
  showAll() {
    this.flush();
    this.reader.announceRest();
    this.ringForRoom();
  }

  /** Likewise, in a thread that is blocked. @param {() => boolean} maySend @returns {boolean} is there more that the peer has room for? */
  showHeld(maySend) {
    this.showAll();
    return this.#bell.sendHeld?.(maySend) ?? false;
  }

  #owe() {
    showSoon(this);
    this.reader.owes = true;
  }

  /** The reader may not have announced its position for a while. */
  showRest() {
    this.reader.owes = false;
    if (!this.isOpen) return;
    this.reader.announceRest();
    this.ringForRoom();
  }

  /** Do system calls for this peer take long? */
  get isSlow() {
    return this.#bell.isSlow;
  }

  ring() {
    const { writer, reader } = this;
    const forData = writer.rung;
    const forRoom = reader.rung;
    writer.rung = reader.rung = 0; // so that the next message rings again, unless this succeeds: no sleep has an even number
    const isExiting = connections.isExiting();
    const mayRing = isExiting || turn.mayRing();
    if (!mayRing || (putOff.size > 0 && !isExiting)) return this.#putOff(mayRing);
    if (!this.#ringNow()) return;
    writer.rung = forData;
    reader.rung = forRoom;
  }

  /** @param {boolean} mayRing another one, which has waited for longer, or this one */
  #putOff(mayRing) {
    putOff.add(this);
    if (mayRing) connections.ringOne();
    if (putOff.has(this)) turn.resumeNext(this);
  }

  /** @returns {boolean} false if the peer may sleep on */
  #ringNow() {
    putOff.delete(this);
    if (this.#hungUp || !this.isReadable) return true; // the peer has gone, or is corrupt
    this.doorbellsRung++;
    if (this.#bell.ring()) {
      unrung.delete(this);
      return true;
    }
    unrung.add(this);
    if (!this.#ringsSoon) callUnreferenced(() => this.#ringAfterTimer(), RING_RETRY_MS);
    this.#ringsSoon = true;
    return false;
  }

  #ringAfterTimer() {
    this.#ringsSoon = false;
    this.ringAgain();
  }

  /** Called in a later turn: ring the doorbell if that was put off. */
  resume() {
    if (putOff.has(this)) this.#ringNow();
  }

  /** See resumeNext() in turn.js. */
  get tookMs() {
    return this.#bell.tookMs;
  }

  /** Ring the doorbell if ringing it has failed: the peer may sleep on, and no other message may follow. */
  ringAgain() {
    if (unrung.has(this)) this.ring();
  }

  /** Ring the doorbell if the peer is sleeping until there is room and a read has made room. */
  ringForRoom() {
    if (!this.reader.mustRing) return;
    this.ring();
    this.reader.mustRing = false; // last: a vm timeout may end the call before it
  }

  /** @param {number} sizeBytes @param {number} kind @returns {never} */
  #throwTooLarge(sizeBytes, kind) {
    const most = this.#largest - (kind === KIND.MESSAGE ? 0 : NUMBER_BYTES);
    throw new CrossingsError(
      'ERR_MESSAGE_TOO_LARGE',
      `Message too large: ${sizeBytes} bytes; the maximum is ${most}. To send larger messages, set the option maxMessageBytes, or raise capacity.`,
    );
  }

  // ---- Sleeping ----

  /**
   * Announce in my region what this side is going to sleep for. If this returns true, check the ring once more before
   * sleeping: the peer may have published or read before it could see the announcement, and then rings no doorbell.
   * @param {number} wanted FOR_... bits; 0: awake
   * @returns {boolean} true if a bit was newly announced
   */
  announceSleep(wanted) {
    const changed = this.#asleep ^ wanted;
    if (changed === 0) return false;
    // An odd count means "sleeping". Atomics are totally ordered, so the next check of the ring comes after these additions.
    // They pair with the loads of the counts in RingWriter.publish() and RingReader.#announce().
    if (changed & FOR_DATA) Atomics.add(this.#words, WAITING_FOR_DATA_WORD, 1);
    if (changed & FOR_ROOM) Atomics.add(this.#words, WAITING_FOR_ROOM_WORD, 1);
    // The reader normally announces its position when it finds the ring empty. That check stops during a sleep, so until
    // this side wakes, each frame's read is announced at once.
    this.reader.announceEach(wanted !== 0);
    this.#asleep = wanted;
    return (wanted & changed) !== 0;
  }

  /** Throws if no thread can block until the doorbell rings. */
  checkMayBlock() {
    if (this.state === CLOSED) this.throwError();
    if (this.#bell.cannotBlock !== null) throw new CrossingsError('ERR_UNSUPPORTED', this.#bell.cannotBlock);
  }

  /** Block this thread until the doorbell rings or the timeout expires. @param {number} timeoutMs @returns {boolean} true if it rang */
  waitForDoorbell(timeoutMs) {
    return this.#bell.wait(timeoutMs);
  }

  /** Set whether this connection keeps the process alive. @param {boolean} yes */
  keepAlive(yes) {
    if (yes === this.#refed || this.state !== OPEN) return;
    this.#refed = yes;
    this.#bell.keepAlive(yes);
  }

  /** Drain the doorbell and check for the peer's end. @returns {boolean} true if the peer has closed or died */
  answerDoorbell() {
    if (this.state !== OPEN) return false;
    this.doorbellsAnswered++;
    return this.checkPeer();
  }

  /** A loop of try calls has found nothing for long: check for the peer's end. */
  polled() {
    if (!this.checkPeer()) this.#bell.polled?.();
  }

  /** Check for the peer's end without a doorbell. Drains the doorbell. @returns {boolean} true if the peer has closed, died or broken the protocol */
  checkPeer() {
    if (this.state !== OPEN) return false;
    let connected = false;
    try {
      connected = this.#bell.isConnected();
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'ERR_PEER_CORRUPT') throw error;
      this.#end(CORRUPT, error);
      return true;
    }
    // Pairs with the store in close(): everything that the peer sent before it closed is in the ring.
    const closed = Atomics.load(this.reader.peerWords, CLOSED_WORD) !== 0;
    if (connected && !closed) return false;
    this.#hangUp(); // no further events can come from it
    this.reader.endsHere();
    this.#enter(closed ? PEER_CLOSED : PEER_DIED);
    return true;
  }

  // ---- The end ----

  /**
   * Rethrow an error. If it reports a corrupt peer, shut the channel down first.
   * @param {unknown} error
   * @returns {never}
   */
  fail(error) {
    const corrupt = error instanceof CrossingsError && error.code === 'ERR_PEER_CORRUPT';
    if (corrupt && this.state < CORRUPT) this.#end(CORRUPT, error);
    throw error;
  }

  #hangUp() {
    if (this.#hungUp) return;
    this.#sent = this.#bell.close();
    this.#hungUp = true;
    putOff.delete(this);
    unrung.delete(this);
  }

  /** @param {number} state @param {unknown} error */
  #end(state, error) {
    if (state === CORRUPT) this.#bell.stopWatching(); // the socket stays open until close(): the peer still runs
    unrung.delete(this);
    this.#enter(state);
    this.#onEnd(error);
  }

  /** @param {number} state */
  #enter(state) {
    this.state = state;
    connections.remove(this);
    this.#onState(state);
  }

  /**
   * Close this side: publish what was written, signal the peer, and release the memory. If a step fails, because the stack is full,
   * call it again: it goes on where it stopped.
   * @returns {Promise<void> | undefined} pending as long as something is on its way to the peer
   */
  close() {
    if (this.#words.length > 0) {
      if (this.state < CORRUPT) this.writer.publish();
      this.announceSleep(0);
      // Pairs with the load in answerDoorbell(), and in check_peer() of native/messages.c.
      Atomics.store(this.#words, CLOSED_WORD, 1);
    }
    this.#end(CLOSED, errorOf(CLOSED));
    this.#hangUp();
    this.writer.release();
    this.reader.release();
    this.#words = EMPTY_WORDS;
    for (let region = this.#regions.at(-1); region !== undefined; region = this.#regions.at(-1)) {
      this.#bell.release(region);
      this.#regions.pop();
    }
    return this.#sent;
  }
}

module.exports = { Connection, FOR_DATA, FOR_ROOM };
