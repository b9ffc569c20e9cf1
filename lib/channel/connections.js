'use strict';
// All open connections of this thread: which of them ring their doorbells next, and what they send if the thread does not return to the
// event loop, or ends.
const { now } = require('./clock.js');
const turn = require('./turn.js');

const LEAST_SENT = 16; // messages, or chunks over sockets, of all channels, when a loop of try calls goes on and on...
/** ...or as many as take so long. */
const SEND_MS = 0.1;

/** @typedef {InstanceType<typeof import('./connection.js').Connection>} Connection */

/** @type {Set<Connection>} */
const open = new Set();
let exiting = false;
/** @type {Set<Connection>} whose doorbells are rung in later turns */
const putOff = new Set();

/** @type {Set<Connection>} whose doorbells could not be rung: their peers may be asleep */
const unrung = new Set();

/** @param {Connection} connection it opens */
function add(connection) {
  if (open.size === 0) process.on('exit', publishAtExit).prependListener('beforeExit', ringAtEnd);
  open.add(connection);
}

/** @param {Connection} connection it has ended */
function remove(connection) {
  if (open.delete(connection) && open.size === 0) process.off('exit', publishAtExit).off('beforeExit', ringAtEnd);
}

/** Will the current tick have no end, because the process exits? */
const isExiting = () => exiting;

/**
 * Ring one that was put off: this thread is going to block, or does not return to the event loop. Peers that are not slow come first.
 * @returns {boolean} are there more?
 */
function ringOne() {
  const waiting = [...putOff];
  const next = waiting.find(({ isSlow }) => !isSlow) ?? waiting[0];
  next?.resume();
  return putOff.size > 0;
}

/** Ring those again that could not be rung. Their timers do not run while this thread blocks. @returns {boolean} are some left? */
function ringUnrung() {
  for (const each of [...unrung]) each.ringAgain();
  return unrung.size > 0;
}

/** Are there doorbells of this thread that were put off, or could not be rung? */
const areUnrung = () => putOff.size + unrung.size > 0;

/** Nothing keeps the process alive any more. Over sockets, messages that the kernel does not take at once do. */
function ringAtEnd() {
  turn.programEnds();
  while (ringOne());
}

/** A send() is published at the end of its tick at the latest. process.exit() may be called earlier, and then the tick never ends. */
function publishAtExit() {
  exiting = true;
  while (ringOne());
  for (const connection of open) connection.sendAtExit();
}

let rotation = 0;

/** The open connections of this thread, each time from another one on: the first may use up the time of all. */
function inRotation() {
  const all = [...open];
  return all.splice(++rotation % Math.max(1, all.length)).concat(all);
}

/** The others. @param {Connection} connection */
const otherThan = (connection) => (open.size < 2 ? [] : inRotation().filter((each) => each !== connection));

/**
 * This thread does not return to the event loop: what its channels would send there is sent now, if there is room.
 * @param {() => boolean} maySend called for each frame that waits for room; false stops it
 * @param {Connection[]} connections
 * @returns {Connection[]} those that have more to send; first those that were not reached
 */
function sendHeld(maySend, connections) {
  /** @type {Connection[]} */ const reached = [];
  /** @type {Connection[]} */ const others = [];
  let isOver = false;
  let granted = 0;
  const asks = () => {
    isOver ||= !maySend();
    if (!isOver) granted++;
    return !isOver;
  };
  for (const each of connections) {
    const before = granted;
    if (!each.isOpen || !each.sendHeld(asks)) continue;
    if (isOver && granted === before) others.push(each);
    else reached.push(each);
  }
  return others.concat(reached);
}

/** A loop of try calls goes on and on, without the event loop. */
function looped() {
  let left = LEAST_SENT;
  let until = 0; // the clock is not read if nothing waits: in some virtual machines, that is a system call now and then
  sendHeld(() => {
    if (until === 0) until = now() + SEND_MS;
    return --left > 0 || now() < until;
  }, inRotation());
  ringOne();
  ringUnrung();
}

module.exports = {
  SEND_MS,
  add,
  areUnrung,
  isExiting,
  looped,
  otherThan,
  putOff,
  remove,
  ringOne,
  ringUnrung,
  sendHeld,
  unrung,
};
