'use strict';
// Serves the calls that wait on one channel, and decides how to wait on: one loop, run(), entered whenever something may have
// changed. A channel is in one of three phases:
//
//   IDLE     nobody waits.
//   LOOKING  the lookout looks at the ring on our behalf, or the next turn of the event loop continues.
//   ASLEEP   my region says so, and the peer rings the doorbell.
const { FOR_DATA, FOR_ROOM } = require('./connection.js');
const lookout = require('./lookout.js');
const turn = require('./turn.js');
const { Waiters } = require('./waiters.js');

const DONE = Promise.resolve();

const IDLE = 0;
const LOOKING = 1;
const ASLEEP = 2;

class Pump {
  #connection;
  #arrivals;
  #requests;
  #pacer;
  #phase = IDLE;
  #running = false;
  #again = false; // run() was called by something that it served
  #looked = false; // in vain, since anything was last sent or received
  #moved = 0; // frames sent and received when run() last looked
  #runsSoon = false;
  #sleptAt = 0;
  #fallingAsleep = false; // one more look is due
  lookUntil = 0;
  unreferenced = false; // unref() was called
  receivers = new Waiters();
  senders = new Waiters();
  sleeps = 0;

  /**
   * @param {InstanceType<typeof import('./connection.js').Connection>} connection
   * @param {InstanceType<typeof import('./arrivals.js').Arrivals>} arrivals
   * @param {InstanceType<typeof import('./requests.js').Requests>} requests
   * @param {InstanceType<typeof import('./pacer.js').Pacer>} pacer
   */
  constructor(connection, arrivals, requests, pacer) {
    this.#connection = connection;
    this.#arrivals = arrivals;
    this.#requests = requests;
    this.#pacer = pacer;
  }

  /** What is waited for, as FOR_... bits. */
  get #wanted() {
    const data = this.receivers.size > 0 || this.#requests.areExpected;
    return (data ? FOR_DATA : 0) | (this.senders.size > 0 ? FOR_ROOM : 0);
  }

  /** Frames sent and received so far: has anything moved? */
  get #frames() {
    return this.#connection.reader.messages + this.#connection.writer.messages;
  }

  /** A call has begun to wait. @param {boolean} looked has it looked already, in vain? */
  begin(looked) {
    if (this.#phase === LOOKING && !this.#arrivals.hasInbox) return; // the lookout serves it, too
    this.#looked = looked;
    this.#moved = this.#frames;
    const mayLook = !looked && this.#phase === IDLE && !this.#running && !this.#arrivals.hasInbox;
    if (!mayLook || !this.#mayEnterLookout) return this.run();
    this.#enter(LOOKING); // which checks first of all whether there is something to do already
  }

  /** The doorbell has rung, or the peer has gone. */
  wake() {
    if (this.#phase === ASLEEP) this.#pacer.slept(performance.now() - this.#sleptAt);
    this.#looked = false;
    this.#fallingAsleep = false;
    this.#enter(IDLE);
    this.run();
  }

  /** Run after the code that is running now: what is served may call anything on this channel. */
  runSoon() {
    if (this.#running) this.#again = true;
    if (this.#running || this.#runsSoon) return;
    this.#runsSoon = true;
    DONE.then(() => {
      this.#runsSoon = false;
      this.run();
    });
  }

  /** Requests or responses were set aside. A run that is under way dispatches them itself. */
  dispatchSoon() {
    if (!this.#running) this.runSoon();
  }

  /** Serve everyone who can be served, then wait on. */
  run() {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    try {
      do {
        this.#again = false;
        this.#serve();
      } while (this.#again || this.#settle());
    } finally {
      this.#running = false;
    }
  }

  /** What turn.js calls when this channel continues in the next turn of the event loop. */
  resume() {
    this.run();
  }

  #serve() {
    const connection = this.#connection;
    connection.flush();
    if (this.receivers.size > 0 && connection.isReadable) this.receivers.serve(turn.take);
    if (connection.isReadable && this.#requests.areExpected && this.receivers.size === 0) this.#search();
    this.#arrivals.dispatch(this.#requests, turn.take);
    if (this.#arrivals.hasNumbered && !turn.isSpent()) this.#again = true; // a handler has received, and met them
    if (!connection.isOpen) return this.#endWaits();
    if (this.senders.size === 0) return;
    this.senders.serve(turn.take);
    connection.flush();
  }

  #search() {
    try {
      this.#arrivals.search(turn.take);
    } catch (error) {
      if (this.#connection.isReadable) throw error;
      // The peer is corrupt, and every call that waited has been rejected with this error.
    }
  }

  /** The peer has gone: what waits for it, waits in vain. Receivers are served until everything was read. */
  #endWaits() {
    const connection = this.#connection;
    const error = connection.error();
    this.senders.rejectAll(error);
    const mayRespond = connection.isReadable && (connection.reader.isReady() || this.#arrivals.hasNumbered);
    if (!mayRespond) this.#requests.failAll(error);
  }

  /** Choose the phase. @returns {boolean} true if one more look is due before sleeping */
  #settle() {
    const connection = this.#connection;
    const wanted = connection.isReadable ? this.#wanted : 0;
    if (wanted === 0 || !connection.isOpen || turn.isSpent()) {
      this.#enter(IDLE);
      if (turn.isSpent() && this.#hasMore(wanted)) turn.resumeNext(this);
      return false;
    }
    if (this.#moved !== this.#frames) {
      this.#moved = this.#frames;
      this.#looked = false;
    }
    connection.showAll();
    if (this.#mayEnterLookout) {
      this.#enter(LOOKING);
      return false;
    }
    this.#enter(ASLEEP);
    connection.keepAlive(!this.unreferenced);
    this.#fallingAsleep = connection.announceSleep(wanted);
    return this.#fallingAsleep;
  }

  get #mayEnterLookout() {
    if (turn.isSpent() || !this.#connection.isOpen) return false;
    return this.#pacer.always || (!this.#looked && this.#pacer.mayLook);
  }

  /**
   * Is there anything to do in the next turn? If the peer has gone: read what it left, then end the receives.
   * @param {number} wanted
   */
  #hasMore(wanted) {
    if (this.#arrivals.hasNumbered || this.receivers.size > 0) return true;
    return wanted !== 0 && (this.#connection.isOpen || this.#connection.reader.isReady());
  }

  /** @param {number} phase */
  #enter(phase) {
    if (phase === this.#phase) return;
    if (this.#phase === LOOKING) lookout.remove(this);
    if (this.#phase === ASLEEP) {
      if (this.#fallingAsleep) this.#pacer.answeredAtOnce();
      this.#connection.announceSleep(0);
      this.#connection.keepAlive(false); // awake, immediates and the user's own handles do
    }
    this.#phase = phase;
    if (phase === LOOKING) {
      lookout.add(this);
    } else if (phase === ASLEEP) {
      this.#sleptAt = performance.now();
      this.sleeps++;
    }
  }

  // ---- What the lookout calls ----

  showAll() {
    this.#connection.showAll();
  }

  /** Is there something to read, or room to write? */
  isReady() {
    const { reader, writer } = this.#connection;
    if (this.senders.size > 0 && writer.isReady()) return true;
    return (this.receivers.size > 0 || this.#requests.areExpected) && reader.isReady();
  }

  get limitMs() {
    return this.#pacer.always ? Number.POSITIVE_INFINITY : this.#pacer.limitMs;
  }

  /** Look alone: no other channel of this thread does. */
  look() {
    this.showAll(); // the peer may be waiting for just that
    const found = this.#pacer.look(this);
    if (found || !this.#pacer.always) this.#leaveLookout();
  }

  /** @param {boolean} found */
  lookEnded(found) {
    const { limitMs } = this.#pacer;
    const leftMs = this.lookUntil === 0 ? limitMs : this.lookUntil - performance.now();
    if (!this.#pacer.always) this.#pacer.lookEnded(found, limitMs - leftMs);
    this.#leaveLookout();
  }

  #leaveLookout() {
    this.#looked = true; // until something moves
    this.#enter(IDLE);
    this.run();
  }
}

module.exports = { Pump };
