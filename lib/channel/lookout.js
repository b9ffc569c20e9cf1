'use strict';
// Polls the rings of all channels of this thread that are waiting but not asleep. One loop polls them all, so that no channel
// delays the others by polling only its own ring. The loop (a "look") runs as a microtask, after the code that started the
// wait, and within the time budget of the current turn of the event loop (turn.js).
const { now } = require('./clock.js');
const turn = require('./turn.js');

const ROUNDS_PER_READING = 16;
const DONE = Promise.resolve();

/**
 * @typedef {object} Looker
 * @property {() => void} showAll publishes what was written and the read position
 * @property {() => void} look polls for a while; called when this is the only looker
 * @property {() => boolean} isReady can a waiting call proceed? Must be cheap.
 * @property {(found: boolean) => void} lookEnded called when the look found something, or its time limit has passed
 * @property {number} limitMs how long it may look
 * @property {number} lookUntil the time at which limitMs has passed; 0: not started
 * @property {boolean} unreferenced true if it must not keep the process alive
 * @property {number} place its index among the lookers; -1: it is none of them
 */

/** @type {Looker[]} Each looker knows its index. With a single looker, which comes and goes with each message, this is faster than a Set. */
const lookers = [];
let scheduled = false;

/** @param {Looker} looker */
function add(looker) {
  looker.lookUntil = 0;
  if (looker.place < 0) looker.place = lookers.push(looker) - 1;
  schedule();
}

/** @param {Looker} looker */
function remove(looker) {
  if (looker.place < 0) return;
  const last = /** @type {Looker} */ (lookers.pop());
  if (last !== looker) {
    lookers[looker.place] = last;
    last.place = looker.place;
  }
  looker.place = -1;
}

/** True if no channel of this thread is waiting in the lookout. */
const isEmpty = () => lookers.length === 0;

/** Look soon. */
function schedule() {
  if (scheduled) return;
  DONE.then(look);
  scheduled = true; // last: the call before it fails if the stack is full
}

/** What turn.js resumes in the next turn: one object for lookers that keep the process alive, one for lookers that do not. */
const resumable = { unreferenced: false, resume: resumeLooking };
const unreferencedOnly = { unreferenced: true, resume: resumeLooking };

/** Look at once, in the place of the queue: a microtask would run after all others have spent the turn. */
function resumeLooking() {
  look();
}

function look() {
  scheduled = false;
  if (lookers.length === 0) return;
  if (!turn.take()) return lookInNextTurn();
  if (lookers.length === 1) lookers[0].look();
  else lookForAll([...lookers]); // a copy: a looker may remove and re-add itself while it runs
  if (lookers.length === 0) return;
  // A looker that never sleeps must not use up every turn while another channel has messages to read.
  if (turn.isShared()) lookInNextTurn();
  else schedule();
}

/** @param {Looker[]} all */
function lookForAll(all) {
  for (const looker of all) looker.showAll(); // the peers may be waiting for it
  for (let rounds = 0; !all.some(isReady); rounds++) {
    if (rounds % ROUNDS_PER_READING !== 0) continue;
    const time = now();
    for (const looker of all) if (looker.lookUntil === 0) looker.lookUntil = time + looker.limitMs;
    const late = all.filter(({ lookUntil }) => lookUntil <= time);
    for (const looker of late) {
      looker.lookEnded(false); // it may go to sleep, which takes longer than a look
      turn.take(); // once the turn is spent, it goes to sleep in a later one
    }
    turn.recheck();
    if (late.length > 0 || !turn.take()) return;
  }
  for (const looker of all) if (looker.place >= 0 && looker.isReady()) looker.lookEnded(true);
}

/** @param {Looker} looker */
const isReady = (looker) => looker.isReady();

function lookInNextTurn() {
  const unreferenced = lookers.every((looker) => looker.unreferenced);
  turn.resumeNext(unreferenced ? unreferencedOnly : resumable);
}

module.exports = { add, remove, isEmpty, schedule };
