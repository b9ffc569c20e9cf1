'use strict';
// Lets one request in each turn of the event loop compute its answer. Some answers take milliseconds. If a hundred of them were
// computed in one turn, every other client would wait for all of them in each of the turns that its own answer takes.

/** @returns {import('express').RequestHandler} */
function oneATurn() {
  /** @type {{next: () => void, socket: import('node:net').Socket}[]} */
  let waiting = [];
  let isScheduled = false;

  function step() {
    waiting = waiting.filter(({ socket }) => !socket.destroyed); // nobody waits for these answers
    isScheduled = waiting.length > 1;
    if (isScheduled) setImmediate(step);
    waiting.shift()?.next();
  }

  return ({ socket }, _response, next) => {
    waiting.push({ next, socket });
    if (isScheduled) return;
    setImmediate(step);
    isScheduled = true;
  };
}

module.exports = { oneATurn };
