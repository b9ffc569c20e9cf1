'use strict';
// Named steps in the JavaScript channel, for the kill matrix: node --require steps.js. Every Atomics operation on a region,
// every large copy into or out of one, and every call of the addon becomes a step. The product's source stays as it is. The
// environment chooses a step and what happens there, as steps.c describes it.
const { writeFileSync, writeSync } = require('node:fs');
const layout = require('../../lib/channel/layout.js');
const { native } = /** @type {any} */ (require('../../lib/channel/native.js'));

const { STEP, STEP_NTH, STEP_MODE, STEP_RECORD } = process.env;
const nth = Number(STEP_NTH);
const STDOUT = 1;
const ASLEEP_MS = 3; // after this time, a side that has announced its sleep is in the event loop

const WORDS = new Map([
  [layout.READ_POSITION_WORD, 'read position'],
  [layout.WAITING_FOR_DATA_WORD, 'waiting for data'],
  [layout.WAITING_FOR_ROOM_WORD, 'waiting for room'],
  [layout.CLOSED_WORD, 'closed'],
]);

/** @type {Map<string, number>} */
const counts = new Map();
/** @type {WeakMap<ArrayBufferLike, 'my' | "the peer's">} */
const owners = new WeakMap();

/** @param {string} name */
function step(name) {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  if (name !== STEP || count !== nth) return;
  if (STEP_MODE === 'die') process.kill(process.pid, 'SIGKILL');
  writeSync(STDOUT, '!');
  if (STEP_MODE === 'stop') process.kill(process.pid, 'SIGSTOP');
}

if (STEP_RECORD !== undefined) {
  process.on('exit', () =>
    writeFileSync(STEP_RECORD, [...counts].map(([name, count]) => `${count} ${name}\n`).join('')),
  );
}

// ---- Memory ----

const atomics = /** @type {any} */ (Atomics);
for (const operation of ['load', 'store', 'add']) {
  const original = atomics[operation];
  atomics[operation] = (/** @type {Int32Array} */ array, /** @type {number} */ index, /** @type {number} */ value) => {
    const owner = owners.get(array.buffer);
    if (owner === undefined) return original(array, index, value);
    const word = WORDS.get(index) ?? 'signal';
    step(`before ${operation} of ${owner} ${word}`);
    const result = original(array, index, value);
    if (operation !== 'load') step(`after ${operation} of ${owner} ${word}`);
    // An even count that has been increased announces a sleep.
    if (operation === 'add' && result % 2 === 0) setTimeout(() => step(`asleep, ${word}`), ASLEEP_MS).unref();
    return result;
  };
}

const { set } = Uint8Array.prototype;
/** @this {Uint8Array} @param {ArrayLike<number>} source @param {number} [offset] */
Uint8Array.prototype.set = function setByHalves(source, offset = 0) {
  const into = owners.get(this.buffer);
  const from = owners.get(/** @type {any} */ (source).buffer);
  if ((into === undefined && from === undefined) || !(source instanceof Uint8Array)) {
    set.call(this, source, offset);
    return;
  }
  const half = source.length >> 1;
  set.call(this, source.subarray(0, half), offset);
  step(`halfway through a copy ${into === undefined ? 'out' : 'in'}`);
  set.call(this, source.subarray(half), offset + half);
};

// ---- Calls of the addon ----

for (const [name, original] of Object.entries(native)) {
  if (typeof original !== 'function' || name === 'Poller') continue;
  native[name] = (/** @type {any[]} */ ...args) => {
    step(`before ${name}`);
    const result = original(...args);
    if (name === 'createRegion') owners.set(result.buffer, 'my');
    if (name === 'receiveHello' && result) owners.set(result.buffer, "the peer's");
    step(name === 'receiveHello' ? `after ${name}: ${result ? 'a region' : 'not yet'}` : `after ${name}`);
    return result;
  };
}

const { Poller } = native;
native.Poller = /** @param {number} fd @param {() => void} readable */ function SteppedPoller(fd, readable) {
  step('before the poller starts');
  const poller = new Poller(fd, () => {
    step('before an event of the socket');
    readable();
    step('after an event of the socket');
  });
  step('after the poller starts');
  return poller;
};
