'use strict';
// Channels on which nothing can move for now: they neither ring each other nor end.
const { errorWith, pair, pause } = require('./support.js');

const OPTIONS = { capacity: 65536 };

/** Sends until nothing fits any more. @param {any} channel */
async function fill(channel) {
  try {
    for (;;) await channel.send(Buffer.alloc(1000));
  } catch {} // closed at the end of the test
}

const rung = (/** @type {any[]} */ ends) => ends.reduce((sum, end) => sum + end.stats().doorbellsRung, 0);

// Each side woke up, found no room, and rang the other, 15,000 times a second.
test.each([
  ['send()', fill],
  ['waitForRoom()', (/** @type {any} */ channel) => channel.waitForRoom(60_000).catch(() => {})],
])('two sides whose rings and inboxes are full do not ring each other: %s', async (_, wait) => {
  const ends = await pair(OPTIONS);
  for (const end of ends) {
    end.onRequest((/** @type {Buffer} */ request) => request);
    while (end.trySend(Buffer.alloc(1000)));
  }
  await pause(50); // what was sent is in the inboxes now
  for (const end of ends) {
    while (end.trySend(Buffer.alloc(1000)));
    wait(end);
  }
  await pause(50);
  const before = rung(ends);
  await pause(100);
  expect(rung(ends) - before).toBeLessThan(20);
});

// After 100 turns of the event loop, the peer was taken for corrupt, and its messages were lost.
test.each([
  ['timed out', () => ({ timeout: 5 })],
  ['was aborted', () => ({ signal: AbortSignal.timeout(20) })],
])('what a peer has sent before it closed stays readable after a request that %s', async (_, optionsOf) => {
  const [a, b] = await pair(OPTIONS);
  b.onRequest(() => new Promise(() => {}));
  await expect(a.request('x', optionsOf())).rejects.toThrow();
  for (let i = 0; i < 10; i++) await b.send(`message ${i}`);
  await b.close();
  expect(await a.closed).toBe('peer-closed');
  for (let turn = 0; turn < 300; turn++) await new Promise(setImmediate);
  for (let i = 0; i < 10; i++) expect(String(await a.receive())).toBe(`message ${i}`);
  expect(await a.receive()).toBe(null);
  await expect(a.request('y')).rejects.toEqual(errorWith('ERR_CLOSED'));
});
