'use strict';
// A reader does not announce its read position after each message: see ring-reader.js. If a program receives a message and then waits for
// something else, nobody looks at the ring again. So the rest is announced a moment later.
const { callUnreferenced } = require('./clock.js');

const SOON_MS = 1;

/** @type {Set<{showRest: () => void}>} */
const owing = new Set();
let isTimed = false;

/** @param {{showRest: () => void}} connection its reader has not announced its position */
function showSoon(connection) {
  if (!isTimed) callUnreferenced(showAll, SOON_MS);
  isTimed = true; // after the call before it, which fails if the stack is full
  owing.add(connection);
}

function showAll() {
  isTimed = false;
  for (const each of [...owing]) {
    owing.delete(each);
    each.showRest();
  }
}

module.exports = { showSoon };
