'use strict';
// Closing a channel: what was sent is still delivered, every wait ends, and no call crashes the process.
const { errorWith, pair } = require('./support.js');
const { native } = require('../../lib/channel/native.js');

test('messages sent before the close are delivered, then the channel ends', async () => {
  const [a, b] = await pair();
  for (let i = 0; i < 100; i++) a.trySend(String(i));
  await a.close();
  const received = [];
  for await (const message of b) received.push(String(message));
  expect(received).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
  expect(await b.receive()).toBeNull();
  expect(b.tryReceive()).toBeNull();
  expect(() => b.trySend('x')).toThrow(errorWith('ERR_CLOSED'));
});

test('close rejects pending sends and receives, and ends a loop over messages', async () => {
  const [a] = await pair({ capacity: 65536 });
  const received = a.receive();
  while (a.trySend(Buffer.alloc(1000)));
  const sent = a.send(Buffer.alloc(30_000));
  const loop = (async () => {
    for await (const _ of a);
    return 'ended';
  })();
  await a.close();
  await expect(received).rejects.toEqual(errorWith('ERR_CLOSED'));
  await expect(sent).rejects.toEqual(errorWith('ERR_CLOSED'));
  expect(await loop).toBe('ended');
});

test('close rejects a peer that waits for room', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  while (a.trySend(Buffer.alloc(1000)));
  const sent = a.send(Buffer.alloc(30_000));
  await b.close();
  await expect(sent).rejects.toEqual(errorWith('ERR_CLOSED'));
});

test('Symbol.dispose and Symbol.asyncDispose close the channel', async () => {
  const [a, b] = await pair();
  a[Symbol.dispose]();
  await b[Symbol.asyncDispose]();
  expect([a.state, b.state]).toEqual(['closed', 'closed']);
});

// A released SharedArrayBuffer keeps its length, an ArrayBuffer loses it: two ways to go wrong.
test.each(native.hasSharedBuffers ? [true, false] : [false])(
  'after close, every call throws ERR_CLOSED (sharedBuffers: %s)',
  async (sharedBuffers) => {
    const [a] = await pair({ sharedBuffers });
    await a.close();
    const closed = errorWith('ERR_CLOSED');
    for (const call of [
      () => a.trySend('x'),
      () => a.tryReceive(),
      () => a.tryReceiveInto(new Uint8Array(8)),
      () => a.tryRead(() => {}),
      () => a.receiveSync(),
      () => a.cork(),
      () => a.uncork(),
      () => a.onRequest(() => 'x'),
    ]) {
      expect(call).toThrow(closed);
    }
    await expect(a.send('x')).rejects.toEqual(closed);
    await expect(a.receive()).rejects.toEqual(closed);
    await expect(a.request('x')).rejects.toEqual(closed);
    expect(a.state).toBe('closed');
    expect(a.stats().messagesSent).toBe(0);
    await a.close();
  },
);
