'use strict';
// Looks at the rings of all channels of this thread that wait and have not gone to sleep. One look serves them all, so that
// a channel that is about to get a message is not held up by another that looks for its own. A look runs as a microtask,
// after the code that began the wait, and within the budget of this turn of the event loop.
const turn = require('./turn.js');

const ROUNDS_A_READING = 16;
const DONE = Promise.resolve();

/**
 * @typedef {object} Looker
 * @property {() => void} showAll shows the peer what was written and read
 * @property {() => void} look for a while, on its own
 * @property {() => boolean} isReady is there something for it to do? Cheap.
 * @property {(found: boolean) => void} lookEnded something was found, or its time is over
 * @property {number} limitMs how long it may look
 * @property {number} lookUntil when that is over, on the clock of performance.now(); 0: not fixed yet
 * @property {boolean} unreferenced it does not keep the process alive
 */

/** @type {Set<Looker>} */
const lookers = new Set();
let scheduled = false;

/** @param {Looker} looker */
function add(looker) {
  looker.lookUntil = 0;
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
  if (lookers.size === 0) return;
  if (!turn.take()) return lookInNextTurn();
  const [first] = lookers; // no loop over the set: a looker may leave it and come back
  if (lookers.size === 1) first.look();
  else lookForAll([...lookers]);
  if (lookers.size > 0) schedule();
}

/** @param {Looker[]} all */
function lookForAll(all) {
  for (const looker of all) looker.showAll(); // the peers may be waiting for just that
  for (let rounds = 0; !all.some(isReady); rounds++) {
    if (rounds % ROUNDS_A_READING !== 0) continue;
    const now = performance.now();
    for (const looker of all) if (looker.lookUntil === 0) looker.lookUntil = now + looker.limitMs;
    const late = all.filter(({ lookUntil }) => lookUntil <= now);
    for (const looker of late) looker.lookEnded(false);
    turn.recheck();
    if (late.length > 0 || !turn.take()) return;
  }
  for (const looker of all) if (lookers.has(looker) && looker.isReady()) looker.lookEnded(true);
}

/** @param {Looker} looker */
const isReady = (looker) => looker.isReady();

function lookInNextTurn() {
  const unreferenced = [...lookers].every((looker) => looker.unreferenced);
  turn.resumeNext(unreferenced ? unreferencedOnly : resumable);
}

module.exports = { add, remove, isEmpty };
