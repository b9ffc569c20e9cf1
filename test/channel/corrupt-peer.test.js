'use strict';
// A peer may write anything into its own memory. Whatever it writes, this end reports ERR_PEER_CORRUPT and reads no
// byte outside the ring.
const { closing, crossings, errorWith } = require('./support.js');
const { native } = require('../../lib/channel/native.js');

const DATA = 4096 / 4; // where the ring's data starts in a region, in words
const READ_POSITION = 32; // where a region says how far its owner has read, in words

/**
 * A channel whose peer writes into its own region by hand.
 * @param {(words: Int32Array) => void} corrupt
 */
async function victimOf(corrupt) {
  const [ours, theirs] = native.socketPair();
  const channel = crossings.openChannel(ours);
  const region = native.createRegion(1 << 20, false, false);
  native.sendHello(theirs, region.handle);
  const victim = closing(await channel);
  corrupt(new Int32Array(region.buffer));
  return victim;
}

test.each([
  ['larger than the ring', 0x7fffffff],
  ['negative', -5],
  ['one byte above the largest', (1 << 20) - 16 + 2],
])('a frame size that is %s fails every call', async (_, signal) => {
  const victim = await victimOf((words) => {
    words[DATA] = signal;
  });
  const corrupt = errorWith('ERR_PEER_CORRUPT');
  await expect(victim.receive()).rejects.toEqual(corrupt);
  expect(() => victim.tryReceive()).toThrow(corrupt);
  expect(() => victim.trySend('x')).toThrow(corrupt);
});

test('an unknown frame kind fails the receiver', async () => {
  const victim = await victimOf((words) => {
    words[DATA + 1] = 99;
    words[DATA] = 9;
  });
  expect(() => victim.tryReceive()).toThrow(errorWith('ERR_PEER_CORRUPT'));
});

test.each([-8, 3, 0x7ffffff8])('an impossible read position (%i) fails the sender', async (position) => {
  const victim = await victimOf((words) => {
    words[READ_POSITION] = position;
  });
  expect(() => {
    while (victim.trySend(Buffer.alloc(8000)));
  }).toThrow(errorWith('ERR_PEER_CORRUPT'));
});
