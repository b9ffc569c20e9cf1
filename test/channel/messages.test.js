'use strict';
// Messages and their bytes: what goes in comes out, whatever its type, size and position in the ring.
const { crossings, errorWith, pair } = require('./support.js');
const { native } = require('../../lib/channel/native.js');
const { until } = require('../support.js');

// Node 20 has no SharedArrayBuffer over our memory; later versions are tested with and without it.
const kinds = native.hasSharedBuffers ? [true, false] : [false];

describe.each(kinds)('with sharedBuffers: %s', (sharedBuffers) => {
  test('strings and every kind of byte array arrive as the same bytes', async () => {
    const [a, b] = await pair({ sharedBuffers });
    const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 16);
    for (const message of [
      Buffer.from(bytes),
      bytes,
      bytes.buffer,
      new DataView(bytes.buffer),
      new Float64Array(bytes.buffer),
      new Uint16Array(bytes.buffer),
    ]) {
      a.trySend(message);
      expect(b.tryReceive()).toEqual(Buffer.from(bytes));
    }
    a.trySend(new DataView(bytes.buffer, 3, 5));
    expect(b.tryReceive()).toEqual(Buffer.from(bytes.subarray(3, 8)));
    a.trySend('grüße');
    expect(b.tryReceive().toString()).toBe('grüße');
    a.trySend('');
    expect(b.tryReceive()).toHaveLength(0);
    expect(b.tryReceive()).toBeNull();
  });

  test('every bit survives, at every size and every offset in the target', async () => {
    const [a, b] = await pair({ sharedBuffers });
    const target = Buffer.alloc(700);
    for (let size = 0; size < 600; size += size < 80 ? 1 : 37) {
      // Includes runs of ones and odd patterns. Read as doubles these are NaNs with a payload, which a copy may lose.
      const message = Buffer.from(Array.from({ length: size }, (_, i) => (i % 3 ? 0xff : (i * 151 + size) & 0xff)));
      for (const offset of [0, 1, 4, 8, 13, 16]) {
        a.trySend(message);
        target.fill(0x55);
        expect(b.tryReceiveInto(target, offset)).toBe(size);
        expect(target.subarray(offset, offset + size).equals(message)).toBe(true);
        expect(target[offset + size]).toBe(0x55);
      }
      a.trySend(message);
      expect(b.tryReceive().equals(message)).toBe(true);
    }
  });

  test('trySend returns false when the ring is full, and succeeds after messages are read', async () => {
    const [a, b] = await pair({ sharedBuffers, capacity: 65536 });
    const message = Buffer.alloc(56, 7);
    let sent = 0;
    while (a.trySend(message)) sent++;
    expect(sent).toBe(65536 / 64 - 1); // 64 bytes per frame; one frame's room is left for the end mark
    for (let i = 0; i < sent; i++) expect(b.tryReceive()).toEqual(message);
    expect(b.tryReceive()).toBeNull();
    expect(a.trySend(message)).toBe(true);
  });

  test('a message of maxMessageBytes passes, and one more byte is refused', async () => {
    const [a, b] = await pair({ sharedBuffers, capacity: 65536 });
    expect(a.maxMessageBytes).toBe(65536 - 16);
    const largest = Buffer.alloc(a.maxMessageBytes, 3);
    for (let i = 0; i < 5; i++) {
      expect(a.trySend(largest)).toBe(true);
      expect(b.tryReceive().equals(largest)).toBe(true);
      expect(b.tryReceive()).toBeNull(); // publishes the read position, which makes room
    }
    expect(() => a.trySend(Buffer.alloc(a.maxMessageBytes + 1))).toThrow(errorWith('ERR_MESSAGE_TOO_LARGE'));
    await expect(a.send(Buffer.alloc(1 << 20))).rejects.toEqual(errorWith('ERR_MESSAGE_TOO_LARGE'));
  });

  test('positions in the ring wrap at 2^32', async () => {
    const [a, b] = await pair({ sharedBuffers, capacity: 1 << 24 });
    const large = Buffer.alloc(6_000_000, 1);
    for (let passed = 0; passed < 2 ** 32 + 2 ** 27; passed += large.length) {
      large.writeUInt32LE(passed / large.length, 0);
      expect(a.trySend(large)).toBe(true);
      b.tryRead((/** @type {any} */ message) => {
        if (message.getUint32(0, true) !== passed / large.length) throw new Error(`wrong message at ${passed}`);
      });
      expect(b.tryReceive()).toBeNull();
    }
    a.trySend('past the wrap');
    expect(b.tryReceive().toString()).toBe('past the wrap');
  });

  test('no view of shared memory reaches the user', async () => {
    const [a, b] = await pair({ sharedBuffers });
    a.trySend('secret');
    b.tryRead((/** @type {any} */ cursor) => {
      for (const value of [...Object.values(cursor), ...Object.getOwnPropertySymbols(cursor)]) {
        expect(ArrayBuffer.isView(value)).toBe(false);
      }
      expect(Object.keys(cursor)).toEqual([]);
    });
    a.trySend('copy');
    const copy = b.tryReceive();
    copy.fill(0);
    a.trySend('next');
    expect(b.tryReceive().toString()).toBe('next');
  });
});

describe('cork', () => {
  test('hides messages until the last uncork, then publishes them together', async () => {
    const [a, b] = await pair();
    a.cork();
    a.cork();
    for (let i = 0; i < 10; i++) a.trySend(String(i));
    a.uncork();
    expect(b.tryReceive()).toBeNull();
    a.uncork();
    for (let i = 0; i < 10; i++) expect(b.tryReceive().toString()).toBe(String(i));
  });

  test('publishes anyway when the ring is full, so that the peer can make room', async () => {
    const [a, b] = await pair({ capacity: 65536 });
    a.cork();
    while (a.trySend(Buffer.alloc(1000)));
    expect(b.tryReceive()).toHaveLength(1000);
  });
});

test('with the option `structured`, messages and answers are structured values', async () => {
  const [a, b] = await pair({ ...crossings.structured });
  const value = {
    list: [1, 2n, new Date(0)],
    map: new Map([['k', new Set([1])]]),
    bytes: new Uint8Array([1, 2]),
    nothing: undefined,
  };
  a.trySend(value);
  expect(b.tryReceive()).toEqual(value);
  b.onRequest((/** @type {any} */ { x }) => ({ twice: x * 2 }));
  expect(await a.request({ x: 21 })).toEqual({ twice: 42 });
});

test('stats counts messages, bytes and doorbells of each direction', async () => {
  const [a, b] = await pair({ wait: 'sleep' });
  // b may be awake at the moment of a message: something else woke it. Then nothing rings.
  let sent = 0;
  while (a.stats().doorbellsRung === 0) {
    const { sleeps } = b.stats();
    const waiting = b.receive();
    await until(() => b.stats().sleeps > sleeps);
    a.trySend('12345');
    sent++;
    await waiting;
  }
  const counts = { messagesSent: sent, bytesSent: 5 * sent, doorbellsRung: 1, messagesReceived: 0 };
  expect(a.stats()).toMatchObject(counts);
  expect(b.stats()).toMatchObject({ messagesReceived: sent, bytesReceived: 5 * sent });
  expect(b.stats().doorbellsAnswered).toBeGreaterThan(0);
});

// Small messages share memory. Transferring one of them used to empty the others.
test('transferring the memory of one message leaves the others as they are', async () => {
  const [a, b] = await pair();
  for (const text of ['first', 'second']) await a.send(text);
  const [first, second] = [await b.receive(), await b.receive()];
  const { port1 } = new MessageChannel();
  try {
    port1.postMessage(first, [first.buffer]); // newer versions of Node throw here
  } catch (error) {
    expect(error).toMatchObject({ name: 'DataCloneError' });
  }
  port1.close();
  expect([String(first), String(second)]).toEqual(['first', 'second']);
});
