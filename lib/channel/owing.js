'use strict';
// A reader does not announce its read position after each message: see ring-reader.js. If a program receives a message and then waits for
// something else, nobody looks at the ring again. So the rest is announced a moment later.
const { callUnreferenced, now } = require('./clock.js');

const SOON_MS = 1;
const MOST_MS = 0.12; // as long as a turn
const MOST_STARTING = 10;

/** @typedef {{showRest: () => void, isSlow: boolean}} Owing */

/** @type {Set<Owing>} */
const owing = new Set();
/** @type {Set<Owing>} for whose peers system calls take long: one of them each time, after all others */
const slow = new Set();
let isTimed = false;
let starting = 0; // calls that are starting the timer, each within the one before it

/** @param {Owing} connection its reader is about to read */
function showSoon(connection) {
  startTimer();
  (connection.isSlow ? slow : owing).add(connection);
}

/** A hook of async_hooks may read, too, while the timer is started. Not a flag: a vm timeout may end this without `finally`. */
function startTimer() {
  if (isTimed || starting === MOST_STARTING) return;
  starting++;
  try {
    callUnreferenced(showSome, SOON_MS);
    isTimed = true;
  } finally {
    starting = 0;
  }
}

function showSome() {
  isTimed = false;
  const until = now() + MOST_MS;
  for (const each of owing) {
    owing.delete(each);
    each.showRest(); // rings a doorbell if the peer waits, for which the peer can make the kernel take long
    if (now() >= until) break;
  }
  const [next] = slow;
  if (next !== undefined) {
    slow.delete(next);
    next.showRest();
  }
  if (owing.size + slow.size > 0) startTimer();
}

module.exports = { showSoon };
