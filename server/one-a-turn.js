'use strict';
// Lets one request in each turn of the event loop compute its answer. Some answers take milliseconds. If a hundred of them were
// computed in one turn, every other client would wait for all of them in each of the turns that its own answer takes. The
// connection whose last turn is the longest ago is next, so that a connection with many requests does not delay others for long. A
// new one counts from its first request: if it went first, a client with a new one for each request would keep all others waiting.

/** @returns {import('express').RequestHandler} */
function oneATurn() {
  /** @type {{next: () => void, socket: import('node:net').Socket}[]} */
  let waiting = [];
  let isScheduled = false;
  let turns = 0;
  /** @type {WeakMap<object, number>} the last turn of each connection; of a new one, the last turn before its first request */
  const lastTurns = new WeakMap();
  const lastTurnOf = (/** @type {{socket: object}} */ { socket }) => /** @type {number} */ (lastTurns.get(socket));

  function step() {
    waiting = waiting.filter(({ socket }) => !socket.destroyed); // nobody waits for these answers
    isScheduled = waiting.length > 1;
    if (isScheduled) setImmediate(step);
    if (waiting.length === 0) return;
    const next = waiting.reduce((first, other) => (lastTurnOf(other) < lastTurnOf(first) ? other : first));
    waiting.splice(waiting.indexOf(next), 1);
    lastTurns.set(next.socket, ++turns);
    next.next();
  }

  return ({ socket }, _response, next) => {
    if (!lastTurns.has(socket)) lastTurns.set(socket, turns);
    waiting.push({ next, socket });
    if (isScheduled) return;
    setImmediate(step);
    isScheduled = true;
  };
}

module.exports = { oneATurn };
