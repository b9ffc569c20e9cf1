'use strict';
// Many peers ring at once: the doorbells share the turns of the event loop, and all of them are answered.
const { setImmediate: turnOfLoop } = require('node:timers/promises');
const { rawPeer } = require('./raw-peer.js');
const { KIND } = require('../../lib/channel/layout.js');
const { native } = require('../../lib/channel/native.js');

const PEERS = 300;
const MOST_PER_TURN = PEERS / 2; // far more than turn.js allows, far less than all

/** @type {Awaited<ReturnType<typeof rawPeer>>[]} */
let peers = [];

beforeEach(async () => {
  peers = await Promise.all(Array.from({ length: PEERS }, () => rawPeer()));
});
afterEach(async () => {
  for (const peer of peers) await peer.close();
});

const answered = () => peers.reduce((sum, { a }) => sum + a.stats().doorbellsAnswered, 0);

/** The largest number of doorbells that one turn of the event loop answers, until `isOver`. @param {() => boolean} isOver */
async function mostPerTurn(isOver) {
  let most = 0;
  for (let before = answered(); !isOver(); ) {
    await turnOfLoop();
    const now = answered();
    most = Math.max(most, now - before);
    before = now;
  }
  return most;
}

test('a turn answers a limited number of doorbells, and later turns answer the others', async () => {
  const start = answered();
  for (const peer of peers) peer.ring();
  const most = await mostPerTurn(() => answered() - start >= PEERS);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(MOST_PER_TURN);
});

// A peer can make the kernel walk through hundreds of thousands of its own waits.
test('of doorbells that take long, a turn answers one or two', async () => {
  const { drain } = native;
  native.drain = (fd) => {
    for (const end = performance.now() + 1; performance.now() < end; ); // longer than the channels may use in a turn
    return drain(fd);
  };
  try {
    const start = answered();
    for (const peer of peers.slice(0, 40)) peer.ring();
    expect(await mostPerTurn(() => answered() - start >= 40)).toBeLessThan(4);
  } finally {
    native.drain = drain;
  }
});

test('every channel that sleeps gets its message', async () => {
  const messages = peers.map(({ a }) => a.receive());
  await turnOfLoop(); // asleep
  for (const [number, peer] of peers.entries()) peer.send(KIND.MESSAGE, 0, Buffer.from(`message ${number}`));
  const received = await Promise.all(messages);
  expect(received.map(String)).toEqual(peers.map((_, number) => `message ${number}`));
});

test('every channel whose peer ends notices it', async () => {
  for (const peer of peers) peer.end(false);
  expect(await Promise.all(peers.map(({ a }) => a.closed))).toEqual(peers.map(() => 'peer-died'));
});

test('a channel that is closed while its doorbell waits for a turn stays closed', async () => {
  const start = answered();
  for (const peer of peers) peer.ring();
  await mostPerTurn(() => answered() > start);
  await Promise.all(peers.map(({ a }) => a.close()));
  await turnOfLoop();
  expect(peers.map(({ a }) => a.state)).toEqual(peers.map(() => 'closed'));
});
