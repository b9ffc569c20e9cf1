'use strict';
// When a reader backs off: only if it has read several frames in a row and sent nothing in between. What is counted is how often it
// loads a word of the shared memory until it reports that there is no message.
const { pair } = require('./support.js');

const MESSAGES = 5;
const FEW_LOADS = 50;
const MANY_LOADS = 1000;

/** @param {any} channel @returns {number} the loads of an unsuccessful tryReceive() */
function loadsUntilEmpty(channel) {
  const load = jest.spyOn(Atomics, 'load');
  try {
    expect(channel.tryReceive()).toBeNull();
    return load.mock.calls.length;
  } finally {
    load.mockRestore();
  }
}

/** @type {any} */ let a;
/** @type {any} */ let b;

beforeEach(async () => {
  [a, b] = await pair();
  expect(b.tryReceive()).toBeNull();
  for (let i = 0; i < MESSAGES; i++) a.trySend('message');
});

test('a reader of a stream backs off', () => {
  for (let i = 0; i < MESSAGES; i++) b.tryReceive();
  expect(loadsUntilEmpty(b)).toBeGreaterThan(MANY_LOADS);
  expect(loadsUntilEmpty(b)).toBeLessThan(FEW_LOADS); // once
});

test('a reader that answers each message does not, even if each one was there at the first look', () => {
  for (let i = 0; i < MESSAGES; i++) b.trySend(b.tryReceive());
  expect(loadsUntilEmpty(b)).toBeLessThan(FEW_LOADS);
});

test('nor does one that answers with await', async () => {
  for (let i = 0; i < MESSAGES; i++) await b.send(await b.receive());
  expect(loadsUntilEmpty(b)).toBeLessThan(FEW_LOADS);
});

test('an answer does not hide frames that were read: their place is announced', () => {
  const before = a.stats().fullTurns;
  while (a.trySend(Buffer.alloc(10_000)));
  expect(a.stats().fullTurns).toBe(before + 1);
  for (let i = 0; i < MESSAGES; i++) b.trySend(b.tryReceive());
  while (b.tryReceive() !== null);
  expect(a.trySend(Buffer.alloc(10_000))).toBe(true);
});
