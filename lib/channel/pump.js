'use strict';
// Serves the pending calls of one channel and decides how to wait for more. All of this happens in one loop, run(), which is
// called whenever something may have changed. A channel is in one of three phases:
//
//   IDLE     no call is pending, or the turn's time budget is spent and run() continues in the next turn.
//   LOOKING  the lookout polls the ring, in this turn of the event loop or in the next.
//   ASLEEP   my region announces the sleep, so the peer rings the doorbell.
const { now } = require('./clock.js');
const { FOR_DATA, FOR_ROOM } = require('./connection.js');
const connections = require('./connections.js');
const { corruptPeer } = require('./errors.js');
const lookout = require('./lookout.js');
const turn = require('./turn.js');
const { Waiters } = require('./waiters.js');

const DONE = Promise.resolve();

const IDLE = 0;
const LOOKING = 1;
const ASLEEP = 2;

const LOOKS_PER_CHECK = 65536; // unsuccessful calls of a try method, without any progress, before the peer is checked
const BYTES_PER_CHECK = 2 ** 23; // received by such calls without finding the ring empty: a hundred thousand small messages
const MAX_UNDECIDED = 100;
const STEPS_WHEN_STARVED = 6; // one for each place where #serve() may find something to do

/** A pause until the next turn. It keeps the process alive from when ref() is called. */
class Pause {
  #pump;
  #done = () => {};
  /** @type {Promise<void>} */ ended;

  /** @param {{keepsAlive: boolean, pauseEnds: (pause: Pause) => void}} pump */
  constructor(pump) {
    this.#pump = pump;
    this.ended = new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  get unreferenced() {
    return !this.#pump.keepsAlive;
  }

  resume() {
    this.#pump.pauseEnds(this);
    this.#done();
  }
}

class Pump {
  #connection;
  #arrivals;
  #requests;
  #pacer;
  #onStuck;
  #phase = IDLE;
  // Is run() active? The event loop's calls reset it, because none of them comes while run() is active: a vm timeout ends run()
  // without its finally block.
  #running = false;
  #again = false; // run() was called while it was running, so it must repeat
  #looked = false; // the ring was polled since the last frame was sent or received
  #moved = 0; // the value of #frames() when it was last compared
  #runsSoon = false;
  #sleptAt = 0;
  #looks = 0; // unsuccessful calls of a try method since they were last counted
  #messagesLooked = 0; // the value of #messages() at that time
  #readLooked = 0; // what the peer had read then, as far as the writer knew
  #wakesSoon = false;
  #fallingAsleep = false; // the sleep was just announced; the ring must be checked once more
  // What #serve() does, each until the turn is spent: one that always finds something would leave nothing for those behind it. So each turn
  // begins with another one of them.
  #stages = [() => this.#receive(), () => this.#dispatch(), () => this.#sendQueued(), () => this.#sendWaiting()];
  #turns = 0; // in which this channel was resumed
  /** @type {(() => void) | null} with which the next #serve() begins */ #first = null;
  #starved = false; // did nothing when it was last resumed: on a very slow machine, looking for work may spend a whole turn
  lookUntil = 0;
  #undecided = 0; // turns in a row without progress after the end, see #isUndecided()
  #stepsUndecided = 0; // the value of #steps() at that time
  place = -1; // in the lookout
  keepsAlive = true; // see keepAlive()
  /** @type {Pause | null} of all that wait in nextTurn() on an unreferenced channel */ #pause = null;
  receivers = new Waiters();
  senders = new Waiters();
  sleeps = 0;

  /**
   * @param {InstanceType<typeof import('./connection.js').Connection>} connection
   * @param {InstanceType<typeof import('./arrivals.js').Arrivals>} arrivals
   * @param {InstanceType<typeof import('./requests.js').Requests>} requests
   * @param {InstanceType<typeof import('./pacer.js').Pacer>} pacer
   * @param {() => void} onStuck called when requests or responses cannot be read any more
   */
  constructor(connection, arrivals, requests, pacer, onStuck) {
    this.#connection = connection;
    this.#arrivals = arrivals;
    this.#requests = requests;
    this.#pacer = pacer;
    this.#onStuck = onStuck;
    connection.sendHeld = (maySend) => this.#sendHeld(maySend);
  }

  /** What the pending calls are waiting for, as FOR_... bits. */
  #wanted() {
    const data = this.receivers.size > 0 || this.#requests.areExpected;
    return (data ? FOR_DATA : 0) | (this.senders.size > 0 ? FOR_ROOM : 0);
  }

  /** Frames sent and received so far. A change means progress. */
  #frames() {
    return this.#connection.reader.messages + this.#connection.writer.messages;
  }

  /** Messages received so far. Requests and responses do not count: a peer that has gone wrong may send those although nobody awaits any. */
  #messages() {
    return this.#connection.reader.messages - this.#arrivals.numberedFrames;
  }

  /** What this channel has done so far. */
  #steps() {
    return this.#frames() + this.#arrivals.dispatched + this.#requests.responder.begun;
  }

  /** A call has started to wait. @param {boolean} looked true if it has already polled the ring without success */
  begin(looked) {
    if (this.#phase === LOOKING && !this.#arrivals.hasInbox) return this.#lookForMore(); // the lookout will serve it
    this.#looked = looked;
    this.#moved = this.#frames();
    const mayLook = !looked && this.#phase === IDLE && !this.#running && !this.#arrivals.hasInbox;
    if (!mayLook || !this.#mayEnterLookout()) return this.run();
    this.#enter(LOOKING); // the lookout's first check finds anything that is already there
  }

  /** Set whether pending calls keep the process alive. They do at first. @param {boolean} yes */
  keepAlive(yes) {
    this.keepsAlive = yes;
    if (yes && this.#pause) turn.reference(this.#pause);
    this.runSoon();
    if (this.#phase === LOOKING) lookout.schedule(); // the next look may depend on a timer that does not keep the process alive
  }

  /** Fulfilled in the next turn of the event loop. @returns {Promise<void>} */
  nextTurn() {
    if (this.keepsAlive) return turn.nextTurn();
    if (this.#pause === null) {
      const pause = new Pause(this);
      turn.resumeNext(pause);
      this.#pause = pause; // last: the call before it fails if the stack is full
    }
    return this.#pause.ended;
  }

  /** Called by a pause, perhaps by an older one: #endWaits() ends it early, and turn.js later on. @param {Pause} pause */
  pauseEnds(pause) {
    if (this.#pause === pause) this.#pause = null;
  }

  /**
   * Must what this channel waits for not keep the process alive? Nor does it if only refusals wait for room, of requests for which
   * there is no handler: a peer that reads nothing would keep alive a program that has ended.
   */
  get unreferenced() {
    return (
      !this.keepsAlive || ((this.#wanted() & FOR_DATA) === 0 && this.senders.size <= this.#requests.responder.refusals)
    );
  }

  /** See turn.js. */
  get isSlow() {
    return this.#connection.isSlow;
  }

  /** Likewise. */
  get tookMs() {
    return this.#connection.tookMs;
  }

  /** In the lookout, more may be awaited than refusals now, and the next look may depend on a timer that does not keep the process alive. */
  #lookForMore() {
    if (this.#requests.responder.refusals > 0) lookout.schedule();
  }

  /** The doorbell has rung, or the peer has closed or died. */
  wake() {
    this.#running = false;
    if (this.#phase === ASLEEP) this.#pacer.slept(now() - this.#sleptAt);
    this.#looked = false;
    this.#fallingAsleep = false;
    this.#enter(IDLE);
    this.#connection.announceSleep(0); // a receiveSync() that a vm timeout has ended may have left an announcement
    this.run();
  }

  /**
   * A try method found no message or no room. A program that only polls never returns to the event loop, which would report the
   * peer's end, so the socket is checked here from time to time.
   */
  looked() {
    if (++this.#looks < LOOKS_PER_CHECK) return;
    this.#looks = 0;
    const messages = this.#messages();
    const { peerRead } = this.#connection.writer;
    const isIdle = messages === this.#messagesLooked && peerRead === this.#readLooked;
    this.#messagesLooked = messages;
    this.#readLooked = peerRead;
    connections.looped();
    // A conversation makes no system call, however long it is. What this side sends is no sign of the peer.
    if (!isIdle || !this.#connection.isOpen) return;
    this.#connection.polled();
    if (!this.#wakesSoon) this.#wakeSoon();
  }

  /**
   * A call that does not yield is about to receive a message. A peer that has gone may have left a ring without an end: a program
   * that makes only such calls would read it forever, so the socket is checked here, too. Before the message is taken, because the
   * check may fail. Two sides that answer each other find the ring empty in between, and need no check.
   */
  receiving() {
    const { reader } = this.#connection;
    if (((reader.position - reader.emptyAt) | 0) < BYTES_PER_CHECK) return;
    reader.emptyAt = reader.position;
    if (!this.#connection.isOpen) return;
    this.#connection.checkPeer();
    connections.looped();
    if (!this.#wakesSoon) this.#wakeSoon();
  }

  /** A separate method: a closure in looked() would make V8 allocate a context for it in each unsuccessful call. */
  #wakeSoon() {
    DONE.then(() => {
      this.#wakesSoon = false;
      this.wake(); // the check may have taken a doorbell that was meant for pending calls
    });
    this.#wakesSoon = true; // last: the call before it fails if the stack is full
  }

  /** Call run() after the current code, because the calls it serves may use this channel again. */
  runSoon() {
    if (this.#running) this.#again = true;
    if (this.#running || this.#runsSoon) return;
    DONE.then(() => {
      this.#runsSoon = false;
      this.run();
    });
    this.#runsSoon = true;
  }

  /** Requests or responses were set aside. If run() is active, it dispatches them itself. */
  dispatchSoon() {
    if (!this.#running) this.runSoon();
  }

  /** Serve every pending call that can proceed, then choose how to wait for the others. */
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

  /**
   * For a thread that is blocked: sends what waits for room, and the requests that the window now admits, and serves nothing else. A request
   * that finds no room would call run(), which calls handlers, and moves the awaited message out of the ring.
   * @param {() => boolean} maySend called for each; false stops it
   * @returns {boolean} does more wait?
   */
  #sendHeld(maySend) {
    if (!this.waitsToSend) return this.#connection.showHeld(maySend);
    const wasRunning = this.#running;
    this.#running = true;
    try {
      this.#requests.sendQueued(maySend);
      this.senders.serve(maySend);
    } finally {
      this.#running = wasRunning;
    }
    const isMore = this.#connection.showHeld(maySend);
    this.runSoon(); // it may be asleep until there is room, or look for a position of the peer that the writer knows by now
    return isMore || this.waitsToSend;
  }

  get waitsToSend() {
    return this.senders.size > 0 || this.#requests.hasQueued;
  }

  /** Called by turn.js when this channel continues in the next turn of the event loop. */
  resume() {
    this.#running = false;
    if (this.#starved) turn.allow(STEPS_WHEN_STARVED);
    const before = this.#steps();
    this.#first = this.#stages[this.#turns++ % this.#stages.length];
    this.run();
    if (this.#starved) turn.recheck(); // after each of them: there may be many
    this.#starved = this.#steps() === before;
  }

  #serve() {
    this.#connection.flush();
    const first = this.#first;
    this.#first = null;
    first?.();
    this.#receive();
    this.#dispatch(); // more may have arrived since, or a handler's receive has set more aside
    if (!this.#connection.isOpen) return this.#endWaits();
    this.#sendQueued();
    this.#sendWaiting();
  }

  #receive() {
    const connection = this.#connection;
    if (this.receivers.size > 0 && connection.isReadable) this.receivers.serve(turn.take);
    if (connection.isReadable && this.#requests.areExpected && this.receivers.size === 0) this.#search();
  }

  #dispatch() {
    if (this.#arrivals.dispatch(turn.take) && !turn.isSpent()) this.#again = true;
  }

  #sendQueued() {
    if (this.#connection.isOpen) this.#requests.sendQueued(turn.take);
  }

  #sendWaiting() {
    if (this.senders.size === 0 || !this.#connection.isOpen) return;
    this.senders.serve(turn.take);
    this.#connection.flush();
  }

  #search() {
    try {
      this.#arrivals.search(turn.take);
    } catch (error) {
      if (!this.#connection.isReadable) return; // the peer is corrupt, and every pending call was rejected with this error
      // There is no memory for a message. Without it, nothing behind it can be read.
      this.#requests.failAll(error);
      this.#onStuck();
    }
  }

  /**
   * The channel has ended: reject pending sends, and requests once no response can arrive. Receives end in serve() while there may be
   * messages to read.
   */
  #endWaits() {
    const connection = this.#connection;
    this.#pause?.resume();
    /** @type {unknown} made once it is needed: this is called in each turn until everything is read */ let made = null;
    const error = () => (made ??= connection.error());
    if (!connection.isReadable && this.receivers.size > 0) this.receivers.rejectAll(error()); // of a call during which the channel was closed
    if (this.senders.size > 0) this.senders.rejectAll(error());
    if (!this.#requests.hasPending) return;
    this.#requests.failUnsent(error());
    // Responses that are behind more messages than the inbox holds are given up.
    const mayFindMore = connection.isReadable && connection.reader.isReady() && !this.#arrivals.inboxIsFull;
    const mayRespond = mayFindMore || (connection.isReadable && this.#arrivals.hasNumbered);
    if (!mayRespond) this.#requests.failAll(error());
  }

  /** Choose the phase. @returns {boolean} true if run() must check the ring once more before sleeping */
  #settle() {
    const connection = this.#connection;
    const wanted = connection.isReadable ? this.#wanted() : 0;
    if (wanted === 0 || !connection.isOpen || turn.isSpent()) {
      if (connection.isOpen) connection.showAll(); // nothing may look at the ring for long
      this.#enter(IDLE);
      if (turn.isSpent() ? this.#hasMore(wanted) : this.#isUndecided()) turn.resumeNext(this);
      return false;
    }
    if (this.#moved !== this.#frames()) {
      this.#moved = this.#frames();
      this.#looked = false;
    }
    connection.showAll();
    if (this.#mayEnterLookout()) {
      this.#enter(LOOKING);
      this.#lookForMore();
      return false;
    }
    this.#enter(ASLEEP);
    connection.keepAlive(!this.unreferenced);
    this.#fallingAsleep = connection.isOpen && connection.announceSleep(wanted); // a hook of async_hooks may have closed it
    return this.#fallingAsleep;
  }

  /**
   * After the end, do calls still wait although everything was looked at? No event will call run() again. A peer that has claimed its
   * end can still write, and the ring may have looked empty to one look and not to the next.
   */
  #isUndecided() {
    const connection = this.#connection;
    if (connection.isOpen || !connection.isReadable) return false;
    const isUndecided = this.receivers.size > 0 || (this.#requests.areAwaited && !this.#arrivals.inboxIsFull);
    const steps = this.#steps();
    if (!isUndecided || steps !== this.#stepsUndecided) this.#undecided = 0;
    this.#stepsUndecided = steps;
    if (isUndecided && ++this.#undecided > MAX_UNDECIDED) this.#giveUp();
    return isUndecided;
  }

  #giveUp() {
    try {
      this.#connection.fail(corruptPeer('its ring changes after its end'));
    } catch {
      // Every pending call was rejected with this error.
    }
  }

  #mayEnterLookout() {
    if (turn.isSpent() || !this.#connection.isOpen) return false;
    return this.#pacer.always || (!this.#looked && !this.#connection.isSlow && this.#pacer.mayLook);
  }

  /**
   * Is there anything to do in the next turn? After the peer has closed or died: yes, until everything is read and all
   * receives have ended.
   * @param {number} wanted
   */
  #hasMore(wanted) {
    if (this.#arrivals.hasReady || this.receivers.size > 0) return true;
    return wanted !== 0 && (this.#connection.isOpen || this.#connection.reader.isReady());
  }

  /** @param {number} phase */
  #enter(phase) {
    if (phase === this.#phase) return;
    if (this.#phase === LOOKING) lookout.remove(this);
    if (this.#phase === ASLEEP) {
      if (this.#fallingAsleep) this.#pacer.answeredAtOnce();
      this.#connection.announceSleep(0);
      this.#connection.keepAlive(false); // while awake, immediates and the user's own handles keep the process alive
    }
    if (phase === LOOKING) lookout.add(this);
    this.#phase = phase;
    if (phase === ASLEEP) {
      this.#sleptAt = now();
      this.sleeps++;
    }
  }

  // ---- Called by the lookout ----

  showAll() {
    this.#connection.showAll();
  }

  /** Can a pending call proceed: is there a frame to read, or new room to write? */
  isReady() {
    const { reader, writer } = this.#connection;
    if (this.senders.size > 0 && writer.isReady()) return true;
    return (this.receivers.size > 0 || this.#requests.areExpected) && reader.isReady();
  }

  get limitMs() {
    return this.#pacer.always ? Number.POSITIVE_INFINITY : this.#pacer.limitMs;
  }

  /** Poll this channel's ring: called when no other channel of this thread is in the lookout. */
  look() {
    this.#running = false;
    this.showAll(); // the peer may be waiting for it
    this.#arrivals.prepare();
    // If only frames are awaited, polling the ring itself takes half as long, so an answer is found sooner.
    const found = this.#pacer.look(this.senders.size === 0 ? this.#connection.reader : this);
    if (found || !this.#pacer.always) this.#leaveLookout();
  }

  /** @param {boolean} found */
  lookEnded(found) {
    this.#running = false;
    const { limitMs } = this.#pacer;
    const leftMs = this.lookUntil === 0 ? limitMs : this.lookUntil - now();
    if (!this.#pacer.always) this.#pacer.lookEnded(found, limitMs - leftMs);
    this.#leaveLookout();
  }

  #leaveLookout() {
    this.#looked = true; // reset when a frame is sent or received, or the doorbell rings
    this.#enter(IDLE);
    this.run();
  }
}

module.exports = { Pump };
