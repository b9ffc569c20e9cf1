'use strict';
// Looks at the rings of all channels of this thread that wait and have not gone to sleep. One look serves them all, so that
// a channel that is about to get a message is not held up by another that looks for its own. A look runs as a microtask,
// behind the code that began the wait, and within the budget of this turn of the event loop.
const turn = require('./turn.js');

const ROUNDS_A_READING = 16;
const DONE = Promise.resolve();

/**
 * @typedef {object} Looker
 * @property {() => void} showAll shows the peer what was sent and read
 * @property {() => boolean} isReady is there something for it to do? Cheap.
 * @property {() => void} found something is there, or may be
 * @property {() => void} missed its time is over
 * @property {number} lookUntil on the clock of performance.now()
 * @property {boolean} unreferenced
 */

/** @type {Set<Looker>} */
const lookers = new Set();
let scheduled = false;

/** @param {Looker} looker */
function add(looker) {
  lookers.add(looker);
  schedule();
}

/** @param {Looker} looker */
function remove(looker) {
  lookers.delete(looker);
}

/** Does no channel of this thread look at present? */
const isEmpty = () => lookers.size === 0;

function schedule() {
  if (scheduled) return;
  scheduled = true;
  DONE.then(look);
}

/** What continues in the next turn of the event loop: the lookers, or only such as do not keep the process alive. */
const resumable = { unreferenced: false, resume: resumeLooking };
const unreferencedOnly = { unreferenced: true, resume: resumeLooking };

function resumeLooking() {
  if (lookers.size > 0) schedule();
}

function look() {
  scheduled = false;
  turn.recheck();
  if (!turn.take()) return lookInNextTurn();
  const all = [...lookers];
  for (const looker of all) looker.showAll(); // the peer may be waiting for just that
  for (let rounds = 1; !all.some(isReady); rounds++) {
    if (rounds % ROUNDS_A_READING !== 0) continue;
    const now = performance.now();
    const late = all.filter(({ lookUntil }) => lookUntil <= now);
    if (late.length > 0) {
      for (const looker of late) looker.missed();
      break;
    }
    turn.recheck();
    if (!turn.take()) return lookInNextTurn();
  }
  for (const looker of all) if (lookers.has(looker) && looker.isReady()) looker.found();
  if (lookers.size > 0) schedule();
}

function lookInNextTurn() {
  // Those that do not keep the process alive look again with the others; on their own, by a timer.
  const all = [...lookers];
  const own = all.length > 0 && all.every(({ unreferenced }) => unreferenced);
  turn.resumeNext(own ? unreferencedOnly : resumable);
}

/** @param {Looker} looker */
const isReady = (looker) => looker.isReady();

module.exports = { add, remove, isEmpty };
