'use strict';
// The time budget for one turn of the event loop, shared by all channels of this thread. After TURN_MS, even a busy channel
// lets timers and I/O run. The clock is not read for every message: the number of messages between two readings adapts to
// how long messages take, so that readings are about CHECK_MS apart. It is read after each call of the user's code, because that of
// the last message says nothing about that of the next.
const { callUnreferenced, now, setImmediate } = require('./clock.js');
const { keepsImmediates } = require('./runtime.js');

const TURN_MS = 0.12; // about two hundred fast round trips; a turn of the event loop takes about 10 µs and three system calls
const CHECK_MS = 0.05;
const MAX_BETWEEN_READINGS = 64;
const FEW_BETWEEN_READINGS = 4; // at most, at the start of a turn: a loop's body may take longer than it did in the turn before
const MOST_RINGS_MS = 10; // in a turn, see mayRing()
const MOST_READINGS = 1000; // of the clock in a turn: a test library may have stopped it
const MEASURED_CALLS = 64; // after one that took long, see CallTimes
const SLOW_CALLS = 256; // a peer is slow until so many calls in a row were not
const BELLS_PER_TURN = 32; // at most twice as many; a peer that rings all the time makes one of them take about 20 µs
const MOST_AS_IT_ENDS = 100_000; // messages, see takeUnlessEnding()
const LARGE_BYTES = 8192; // copying this much takes about a microsecond, and signing it about 40

/**
 * isSlow: system calls on its peer's socket take long. tookMs: the last one took so long.
 * @typedef {{resume: () => void, unreferenced: boolean, isSlow?: boolean, tookMs?: number}} Resumable
 */

/** Those whose system calls take long. @extends {Set<Resumable>} */
class SlowOnes extends Set {
  #takesLeast = false;

  /**
   * By turns the one that has waited longest, and the one whose calls take least time: on a busy machine, calls for an honest peer may
   * take long, too, and it would wait for all hostile ones.
   * @returns {Resumable | undefined}
   */
  choose() {
    if (this.size === 0) return undefined;
    let [chosen] = this;
    this.#takesLeast = !this.#takesLeast;
    if (this.#takesLeast) for (const each of this) if (Number(each.tookMs) < Number(chosen.tookMs)) chosen = each;
    return chosen;
  }
}

/** @type {any} starts the next turn */ let immediate;
let isImmediate = false; // it was started
let started = 0; // immediates so far; only the last one begins a turn
let delays = 0; // likewise, unreferenced timers
let isTimed = false; // a timer was started, which begins the next turn if nothing else does
let isProgramEnding = false; // see programEnds()
let endingLeft = 0; // messages that are not put off then

let stride = 1; // messages between two readings of the clock
let left = 1; // messages until the next reading
let readAt = 0;
let readings = 0; // of the clock in this turn
let endsAt = 0; // 0: the clock has not been read in this turn
let spent = false;
let bells = 0; // doorbells answered, clients accepted, and steps of handshakes since the last start()
let bellsMs = 0; // what these took
let callsMs = 0; // all such calls so far
let turns = 0; // calls of start()
let measured = 0; // calls left, see CallTimes
let ringsMs = 0; // what rings have taken that took long
let ringsIn = -1; // the turn in which they were made
let ringsSince = 0; // the time at which the first of them had been made
let callsBefore = 0; // the value of callsMs at that time
let shared = false; // more than one channel was resumed in this turn
/** @type {Set<Resumable>} */
const queued = new Set(); // resumed in the next turn
const slow = new SlowOnes(); // one of them is resumed in each turn
/** @type {Set<Resumable>} */
const delayed = new Set(); // resumed by an unreferenced timer
const delayedSlow = new SlowOnes(); // likewise, one of them each time
let isDelaying = false; // it was started

/** Counts one message. Returns false if this turn's budget is spent: continue in the next turn. */
function take() {
  if (--left > 0) return true;
  return readClock();
}

/**
 * Likewise, but what a program does as it ends is not put off: that would keep it alive, and 'beforeExit' would be emitted again and again.
 * Except for a loop that does not end.
 */
const takeUnlessEnding = () => (isProgramEnding && endingLeft-- > 0) || take();

function readClock() {
  if (spent) return false;
  let time = now();
  readings++;
  if (endsAt === 0) {
    time = start();
  } else if (time - readAt > CHECK_MS) {
    stride = Math.max(1, stride >> 1);
  } else {
    stride = Math.min(MAX_BETWEEN_READINGS, stride << 1);
  }
  readAt = time;
  spent = time >= endsAt || readings >= MOST_READINGS;
  left = spent ? 0 : stride;
  return !spent;
}

/** Would take() return true? Counts as a message, too, but leaves at least one: it is asked between two channels. */
const isTimeLeft = () => (--left > 1 ? !spent : readClock());

/**
 * The first reading in this turn. What starts the next turn keeps the process alive only if something is queued for it: otherwise a
 * loop that sends through an unreferenced channel would, and a listener of 'beforeExit' that sends a message would be called for ever.
 * @returns {number} its time
 */
function start() {
  if (queued.size + slow.size > 0) {
    keepAlive();
  } else if (keepsImmediates) {
    startTimer();
  } else {
    if (!isImmediate) startImmediate(); // even if the budget is never spent
    immediate?.unref?.();
  }
  bells = 0;
  bellsMs = 0;
  turns++;
  readAt = now(); // only now: a hook of async_hooks may take longer than a turn, and each turn would be spent before it begins
  endsAt = readAt + TURN_MS; // last: the call before it fails if the stack is full
  return readAt;
}

/** A hook of async_hooks may have started another one meanwhile: then only that one begins a turn, or there would be more with each turn. */
function startImmediate() {
  const mine = ++started;
  const made = setImmediate(() => {
    if (mine === started) begin();
  });
  if (mine !== started) return;
  immediate = made;
  isImmediate = true; // last: the call before it fails if the stack is full
}

/** At most one at a time: the timers of many turns would all begin turns, one after another, and other timers would have to wait. */
function startTimer() {
  if (isTimed) return;
  callUnreferenced(beginByTimer, 1);
  isTimed = true;
}

function beginByTimer() {
  isTimed = false;
  if (!isImmediate) begin();
}

/** The next turn begins even if nothing else keeps the process alive. */
function keepAlive() {
  if (isImmediate) immediate?.ref?.();
  else startImmediate();
}

/** Start a new turn. */
function begin() {
  isImmediate = false;
  endsAt = 0;
  isProgramEnding = false;
  beginBudget();
  try {
    resumeAll(queued);
  } finally {
    resumeSlow(slow);
  }
}

function beginBudget() {
  spent = false;
  if (readings > 1) stride = Math.min(stride, FEW_BETWEEN_READINGS); // not for a message now and then: each would start a turn
  readings = 0;
  left = stride;
}

/**
 * Resume one whose system calls take long. It has a budget of its own, after that of all others: otherwise a few peers could use up
 * the time of each turn.
 * @param {SlowOnes} waiting
 */
function resumeSlow(waiting) {
  const next = waiting.choose();
  if (next === undefined) return;
  waiting.delete(next);
  const before = endsAt === 0 ? 0 : bellsMs; // of this turn
  if (endsAt !== 0) endsAt = now() + TURN_MS;
  spent = false;
  left = 1;
  try {
    next.resume();
  } finally {
    bellsMs = before; // further doorbells may be answered in this turn
    if (slow.size > 0 && endsAt === 0) start();
    if (delayedSlow.size > 0 && !isDelaying) delayTurn();
  }
}

/**
 * Resume the members until the budget is spent. Those that were not reached come first in the next turn: otherwise the first
 * busy ones would starve the others. The time that this takes does not depend on how many are left.
 * @param {Set<Resumable>} waiting
 */
function resumeAll(waiting) {
  let remaining = waiting.size; // those that are added meanwhile wait for the next turn
  shared = remaining > 1;
  let isFirst = true;
  try {
    for (const each of waiting) {
      if (remaining-- === 0 || (isFirst ? spent : !isTimeLeft())) break;
      isFirst = false;
      waiting.delete(each);
      each.resume();
    }
  } finally {
    if (queued.size > 0 && endsAt === 0) start();
    if (delayed.size > 0 && !isDelaying) delayTurn();
  }
}

/**
 * A new turn for those that do not keep the process alive. All of them continue in one turn with its own budget: otherwise
 * one that always looks would spend the budget before the others continue.
 */
function beginDelayed() {
  isDelaying = false;
  beginBudget();
  if (endsAt !== 0) endsAt = now() + TURN_MS;
  try {
    resumeAll(delayed);
  } finally {
    resumeSlow(delayedSlow);
  }
}

function delayTurn() {
  const mine = ++delays;
  callUnreferenced(() => {
    if (mine === delays) beginDelayed();
  }, 1);
  isDelaying = true;
}

/**
 * May one more doorbell be answered in this turn, or a handshake go on? If not, use resumeNext(). Thousands of peers can ring at
 * once, and libuv looks for further events up to 48 times before timers run. A single peer can make the kernel take milliseconds for
 * each call on its socket.
 */
function mayAnswer() {
  if (++bells <= BELLS_PER_TURN && bellsMs < TURN_MS) return true;
  if (endsAt !== 0) return false;
  start(); // these rang in one turn, or in many: count those that come before its end
  return true;
}

/**
 * What the system calls on one peer's socket take: it rang, was rung, or is being connected. The kernel may let another process run
 * during a call, such as an honest peer of higher priority that it wakes. So what counts is how long a call kept the processor busy.
 * Measuring that takes two further system calls, and is done for some calls after one that took long, of all peers: one of them may be
 * slow only now and then.
 */
class CallTimes {
  #threadMs;
  #wasSlow = false;
  #slowFor = 0; // calls
  isSlow = false;
  tookMs = 0; // the last one

  /** @param {() => number} [threadMs] how long this thread has kept a processor busy. Without it, two calls in a row must take long */
  constructor(threadMs) {
    this.#threadMs = threadMs;
  }

  /** @template T @param {() => T} call @param {boolean} [isRing] @returns {T} */
  time(call, isRing = false) {
    const isMeasured = measured > 0;
    if (isMeasured) measured--;
    const busyBefore = isMeasured ? this.#threadMs?.() : 0;
    const before = now();
    try {
      return call();
    } finally {
      const ms = now() - before;
      const busyMs = isMeasured && this.#threadMs ? this.#threadMs() - Number(busyBefore) : 0;
      this.count(ms, this.#threadMs ? Math.min(ms, busyMs) : undefined, isRing);
    }
  }

  /**
   * @param {number} ms
   * @param {number} [busyMs] so long, it kept the processor busy; 0: that was not measured
   * @param {boolean} [isRing]
   */
  count(ms, busyMs, isRing = false) {
    countCalls(ms);
    if (ms > CHECK_MS) measured = MEASURED_CALLS;
    if (isRing) countRing(busyMs ?? ms);
    this.tookMs = busyMs ?? ms;
    if (busyMs === undefined) {
      this.isSlow = this.#wasSlow && ms > TURN_MS;
      this.#wasSlow = ms > TURN_MS;
    } else {
      this.#slowFor = busyMs > TURN_MS ? SLOW_CALLS : Math.max(0, this.#slowFor - 1);
      this.isSlow = this.#slowFor > 0;
    }
  }
}

/** @param {number} ms */
function countRing(ms) {
  if (ms <= TURN_MS) return;
  if (endsAt === 0 && !isProgramEnding) start(); // these rang in one turn, or in many: count those that come before its end
  if (ringsIn !== turns) countRingsAnew();
  ringsMs += ms;
}

function countRingsAnew() {
  ringsIn = turns;
  ringsMs = 0;
  ringsSince = now();
  callsBefore = callsMs;
}

/**
 * May one more doorbell be rung in this turn? Code that the event loop does not call, such as timers of the program, is not resumed by
 * this file, so nothing else ends a turn. In a program that does not return to the event loop, a turn has no end, so doorbells may be
 * rung again once the program has taken twice as long for other things. Only rings that take much longer than any other count: where no
 * peer is hostile, this thread may block next until the peer has done what it is rung for.
 */
function mayRing() {
  if (ringsMs < MOST_RINGS_MS) return true;
  if (endsAt === 0) start();
  if (isProgramEnding) return true; // until the next turn, if a listener has begun something else
  const isPaid = now() - ringsSince - (callsMs - callsBefore) > 2 * ringsMs;
  if (ringsIn === turns && !isPaid) return false;
  countRingsAnew();
  return true;
}

/** System calls on the socket of a peer took so long. @param {number} ms */
function countCalls(ms) {
  bellsMs += ms;
  callsMs += ms;
  if (ms > CHECK_MS) left = 1;
}

/** Makes the next take() read the clock. Call this after work that may have taken a long time, such as the user's code. */
function recheck() {
  left = 1;
}

/** The next take()s, up to `count`, do not read the clock. */
function allow(/** @type {number} */ count) {
  left = Math.max(left, count);
}

/**
 * Called before a message is copied. The time of small messages says nothing about that of a large one, so the clock is read
 * right after it, and the turn begins before it at the latest.
 * @param {number} bytes
 * @returns {boolean} true if a turn began: hooks of async_hooks may have used any channel, so look for the message again
 */
function copies(bytes) {
  if (bytes <= LARGE_BYTES) return false;
  left = 1;
  if (endsAt !== 0) return false;
  start();
  left = 1;
  return true;
}

/** @returns {boolean} */
const isSpent = () => spent;

/** Changes with each turn in which the clock is read. */
const turnNumber = () => turns;

/** Do several channels share this turn, or will they share the next one? */
const isShared = () => shared || queued.size > 1;

/** Calls `resumable.resume()` in the next turn of the event loop. @param {Resumable} resumable */
function resumeNext(resumable) {
  const isQueued = queued.has(resumable) || slow.has(resumable);
  if (resumable.unreferenced && !isQueued) {
    // An immediate would keep the process alive.
    if (!isDelaying) delayTurn();
    if (!delayed.has(resumable) && !delayedSlow.has(resumable))
      (resumable.isSlow ? delayedSlow : delayed).add(resumable);
    return;
  }
  if (!isQueued) (resumable.isSlow ? slow : queued).add(resumable);
  // Also for one that was queued before: if the stack was full then, the turn was not started. If the clock has not been read in this turn, fix
  // its end now, so that the next turn is sure to start.
  if (endsAt === 0) start();
  else keepAlive();
}

/** `resumable` keeps the process alive from now on. If it is to be resumed, that must happen even if nothing else does. @param {Resumable} resumable */
function reference(resumable) {
  if (!delayed.has(resumable) && !delayedSlow.has(resumable)) return;
  resumeNext(resumable);
  delayed.delete(resumable); // last: the call before it fails if the stack is full
  delayedSlow.delete(resumable);
}

/** What nextTurn() has returned in this turn. @type {Promise<void> | null} */
let pause = null;

/**
 * Fulfilled in the next turn of the event loop. All calls of a turn share one promise: a program that blocks in receiveSync(), again and
 * again, may make millions of them.
 * @returns {Promise<void>}
 */
function nextTurn() {
  if (pause !== null) return pause;
  let isScheduled = false;
  /** @type {Promise<void>} */
  const next = new Promise((resolve) => {
    setImmediate(() => {
      pause = null;
      resolve();
    });
    isScheduled = true;
  });
  if (isScheduled) pause = next; // otherwise the stack is full
  return next;
}

/** The process emits 'beforeExit'. Until the next turn, only what is queued keeps it alive. */
function programEnds() {
  isProgramEnding = true;
  endingLeft = MOST_AS_IT_ENDS;
}

module.exports = {
  allow,
  CallTimes,
  countCalls,
  take,
  takeUnlessEnding,
  mayAnswer,
  mayRing,
  recheck,
  copies,
  programEnds,
  isSpent,
  isShared,
  turnNumber,
  resumeNext,
  reference,
  nextTurn,
};
