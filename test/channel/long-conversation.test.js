'use strict';
// How often a loop of try calls asks the kernel whether its peer is still there: never while messages come and go.
const { KIND } = require('../../lib/channel/layout.js');
const { native } = require('../../lib/channel/native.js');
const { pair } = require('./support.js');
const { rawPeer } = require('./raw-peer.js');

const LOOKS_PER_CHECK = 65_536; // docs/api.md, "Loops that never yield"
const TIMES = 100; // enough for a check every few million looks, too

const { drain, ring } = native;
let calls = 0;
beforeEach(() => {
  calls = 0;
  native.drain = (fd) => {
    calls++;
    return drain(fd);
  };
  native.ring = (fd) => {
    calls++;
    return ring(fd);
  };
});
afterEach(() => {
  native.drain = drain;
  native.ring = ring;
});

/** @param {any} channel @param {number} times */
function lookInVain(channel, times) {
  const target = new Uint8Array(8);
  for (let look = 0; look < times; look++) expectNothing(channel.tryReceiveInto(target));
}

/** @param {number} size */
function expectNothing(size) {
  if (size !== -1) throw new Error(`found a message of ${size} bytes`);
}

test('two sides that answer each other make no system call, however often they look in vain', async () => {
  const [a, b] = await pair();
  const message = new Uint8Array(8);
  const exchange = () => {
    expect(a.trySend(message)).toBe(true);
    expect(b.tryReceiveInto(message)).toBe(8);
    expect(b.trySend(message)).toBe(true);
    expect(a.tryReceiveInto(message)).toBe(8);
  };
  exchange(); // the ends of the handshake may still have something to announce
  calls = 0;
  for (let i = 0; i < TIMES; i++) {
    lookInVain(a, LOOKS_PER_CHECK / 2);
    exchange();
    lookInVain(a, LOOKS_PER_CHECK / 2);
    exchange();
  }
  const made = calls;
  await Promise.all([a.close(), b.close()]);
  expect(made).toBe(0);
});

test('a peer that sends only responses which nobody awaits is checked', async () => {
  const hostile = await rawPeer();
  calls = 0;
  for (let i = 0; i < 4; i++) {
    hostile.send(KIND.RESPONSE, 0, Buffer.alloc(0));
    lookInVain(hostile.a, LOOKS_PER_CHECK);
  }
  const made = calls;
  await hostile.close();
  expect(made).toBeGreaterThanOrEqual(3);
});

// It noticed a death only when its ring was full.
test('a peer that reads nothing is checked, although this side sends a message now and then', async () => {
  const [a, b] = await pair();
  calls = 0;
  for (let i = 0; i < 16; i++) {
    a.trySend('heartbeat');
    lookInVain(a, LOOKS_PER_CHECK / 4);
  }
  const made = calls;
  await Promise.all([a.close(), b.close()]);
  expect(made).toBeGreaterThanOrEqual(3);
});
