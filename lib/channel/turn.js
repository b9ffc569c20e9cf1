'use strict';
// The budget of one turn of the event loop, shared by all channels of this thread. However busy a channel is, timers and
// I/O get a turn after TURN_MS. The clock is not read for every message: it is read often enough that the time between
// two readings stays near CHECK_MS, whether a message is handled in 100 ns or in 10 ms.

const TURN_MS = 0.15; // a few hundred hot round trips; a turn itself costs about 10 µs and three system calls
const CHECK_MS = 0.05;
const MOST_BETWEEN_READINGS = 64;

/** @typedef {{resume: () => void, unreferenced: boolean}} Resumable */

let stride = 1; // messages between two readings of the clock
let left = 1; // messages until the next reading
let readAt = 0;
let endsAt = 0; // 0: the end of this turn has not been fixed yet
let spent = false;
/** @type {Set<Resumable>} */
const queued = new Set(); // continue in the next turn
/** @type {Set<Resumable>} */
const delayed = new Set(); // continue by a timer

/** Takes one message from this turn's budget. Returns false if the budget is spent: continue in the next turn. */
function take() {
  if (--left > 0) return true;
  return readClock();
}

function readClock() {
  if (spent) return false;
  const now = performance.now();
  if (endsAt === 0) {
    // The first reading of this turn. The immediate runs when the event loop gets its turn, forced by us or not.
    endsAt = now + TURN_MS;
    setImmediate(begin);
  } else if (now - readAt > CHECK_MS) {
    stride = Math.max(1, stride >> 1);
  } else {
    stride = Math.min(MOST_BETWEEN_READINGS, stride << 1);
  }
  readAt = now;
  spent = now >= endsAt;
  left = spent ? 0 : stride;
  return !spent;
}

/** A new turn. */
function begin() {
  endsAt = 0;
  spent = false;
  left = stride;
  const resumed = [...queued];
  queued.clear();
  for (const each of resumed) each.resume();
}

/** Makes the next take() read the clock: after something that may have taken long. */
function recheck() {
  left = 1;
}

/** @returns {boolean} */
const isSpent = () => spent;

/** Calls `resumable.resume()` in the next turn of the event loop. @param {Resumable} resumable */
function resumeNext(resumable) {
  if (queued.has(resumable)) return;
  if (resumable.unreferenced) {
    // An immediate would keep the process alive.
    if (delayed.has(resumable)) return;
    delayed.add(resumable);
    setTimeout(() => {
      delayed.delete(resumable);
      resumable.resume();
    }, 1).unref();
    return;
  }
  queued.add(resumable);
  if (endsAt === 0) {
    // This turn may go on for a while before it ends, and must end.
    readAt = performance.now();
    endsAt = readAt + TURN_MS;
    setImmediate(begin);
  }
}

/** Fulfilled in the next turn of the event loop. @returns {Promise<void>} */
function nextTurn() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

module.exports = { take, recheck, isSpent, resumeNext, nextTurn };
