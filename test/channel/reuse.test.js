'use strict';
// messages() and batches() with the option reuse: the messages are right until the next ones are asked for, and their memory and
// their Buffers are used again.
const fc = require('fast-check');
const { errorWith, pair } = require('./support.js');

const CAPACITY = 65536;

/** Bytes that show where they belong. @param {number} size @param {number} seed */
const bytesOf = (size, seed) => Buffer.from(Array.from({ length: size }, (_, i) => (i * 7 + seed * 31 + size) & 0xff));

/**
 * Sends messages of these sizes, and receives them by an iterator that a test has opened.
 * @param {any} a
 * @param {AsyncIterator<any>} iterator of batches, or of messages
 * @param {number[]} sizes
 */
async function exchange(a, iterator, sizes) {
  const all = sizes.map(bytesOf);
  const sending = (async () => {
    for (const message of all) await a.send(message);
  })();
  for (let received = 0; received < all.length; ) {
    const { value } = await iterator.next();
    for (const message of Array.isArray(value) ? value : [value]) {
      if (!message.equals(all[received])) throw new Error(`message ${received} of ${sizes} differs`);
      received++;
    }
  }
  await sending;
}

describe.each([false, true])('authenticate: %p', (authenticate) => {
  const options = { capacity: CAPACITY, authenticate };

  test.each(['messages', 'batches'])('%s of any sizes arrive unchanged', async (call) => {
    const [a, b] = await pair(options);
    const iterator = b[call]({ reuse: true });
    const size = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(0, 1, 7, 8, 64) },
      { weight: 8, arbitrary: fc.nat(300) },
      { weight: 2, arbitrary: fc.nat(5000) },
      { weight: 1, arbitrary: fc.constantFrom(1024, 1025, a.maxMessageBytes) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 100 }), (sizes) => exchange(a, iterator, sizes)),
      { numRuns: 60 },
    );
  });
});

/** The next batch of messages of these sizes. @param {any} a @param {AsyncIterator<Buffer[]>} iterator @param {number[]} sizes */
async function nextBatch(a, iterator, sizes) {
  for (const [i, size] of sizes.entries()) a.trySend(bytesOf(size, i));
  return (await iterator.next()).value;
}

test('messages with the place and the size of earlier ones are the same Buffers, and others are not', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  const batches = b.batches({ reuse: true });
  const before = await nextBatch(a, batches, [64, 0, 10, 64, 8]);
  const after = await nextBatch(a, batches, [64, 0, 12, 64, 9]);
  expect(after.map((/** @type {Buffer} */ message, /** @type {number} */ i) => message === before[i])).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
  expect(new Set([...before, ...after].map(({ buffer }) => buffer)).size).toBe(1);
  expect(after).not.toBe(before);

  const messages = b.messages({ reuse: true });
  const [first] = await nextBatch(a, { next: async () => ({ value: [(await messages.next()).value] }) }, [64]);
  a.trySend(bytesOf(64, 1));
  expect((await messages.next()).value).toBe(first);
});

test('without the option, messages stay as they are', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  const [messages, batches] = [b.messages(), b.batches()];
  /** @type {Buffer[]} */ const kept = [];
  for (let i = 0; i < 20; i++) {
    a.trySend(bytesOf(64, i));
    kept.push(i % 2 ? (await messages.next()).value : (await batches.next()).value[0]);
  }
  for (const [i, message] of kept.entries()) expect(message.equals(bytesOf(64, i))).toBe(true);
});

test('a peer with a larger ring makes the memory no larger, and its messages arrive', async () => {
  const [a, b] = await pair({ capacity: 2 ** 20 }, { capacity: CAPACITY });
  const batches = b.batches({ reuse: true });
  const [own] = await nextBatch(a, batches, [300_000]);
  expect(own.equals(bytesOf(300_000, 0))).toBe(true);
  const [small] = await nextBatch(a, batches, [100]);
  expect(small.buffer.byteLength).toBe(CAPACITY);
  expect(own.buffer).not.toBe(small.buffer);
});

// Transferring the memory to another thread is refused. ArrayBuffer.prototype.transfer() is, too, from Node 24 on.
test.each([
  ['postMessage()', (/** @type {ArrayBuffer} */ memory) => structuredClone(memory, { transfer: [memory] })],
  ['transfer()', (/** @type {any} */ memory) => memory.transfer?.()],
])('after a program tried to transfer the memory with %s, messages arrive', async (_, transfer) => {
  const [a, b] = await pair({ capacity: CAPACITY });
  const batches = b.batches({ reuse: true });
  const sizes = [64, 0, 64];
  const [message] = await nextBatch(a, batches, sizes);
  try {
    transfer(message.buffer);
  } catch (error) {
    expect(String(error)).toMatch(/DataCloneError|not detachable/);
  }
  await exchange(a, batches, [...sizes, ...sizes, 0]);
});

test('messages that were stored for a pending request come first', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  const answer = a.request('ping');
  const pinged = b.request('ping');
  a.onRequest(() => 'pong');
  b.onRequest(() => 'pong');
  for (let i = 0; i < 3; i++) b.trySend(bytesOf(64, i));
  await Promise.all([answer, pinged]);
  b.trySend(bytesOf(64, 3));
  let i = 0;
  for await (const batch of a.batches({ reuse: true })) {
    for (const message of batch) expect(message.equals(bytesOf(64, i++))).toBe(true);
    if (i === 4) break;
  }
});

describe('in the middle of a loop', () => {
  const CALLS = ['messages', 'batches'];

  test.each(CALLS)('%s: leaving it leaves the channel open, and loses nothing', async (call) => {
    const [a, b] = await pair({ capacity: CAPACITY });
    let next = 0;
    for (let i = 0; i < 9; i++) a.trySend(bytesOf(i, i));
    while (next < 9) {
      for await (const value of b[call]({ reuse: true, ...(call === 'batches' && { max: 3 }) })) {
        for (const message of Array.isArray(value) ? value : [value]) {
          expect(message.equals(bytesOf(next, next))).toBe(true);
          next++;
        }
        break;
      }
    }
    expect(b.state).toBe('open');
  });

  test.each(CALLS)('%s: close() on this side ends it, and the messages stay readable', async (call) => {
    const [a, b] = await pair({ capacity: CAPACITY });
    for (let i = 0; i < 9; i++) a.trySend(bytesOf(64, 5));
    let values = 0;
    for await (const value of b[call]({ reuse: true })) {
      values++;
      await b.close();
      for (const message of Array.isArray(value) ? value : [value]) expect(message.equals(bytesOf(64, 5))).toBe(true);
    }
    expect(values).toBe(1);
  });

  test.each(CALLS)('%s: close() of the peer ends it after the last message', async (call) => {
    const [a, b] = await pair({ capacity: CAPACITY });
    for (let i = 0; i < 9; i++) a.trySend(bytesOf(64, i));
    await a.close();
    let next = 0;
    for await (const value of b[call]({ reuse: true }))
      for (const message of Array.isArray(value) ? value : [value])
        expect(message.equals(bytesOf(64, next++))).toBe(true);
    expect(next).toBe(9);
  });
});

test('an error from decode() comes after the messages before it', async () => {
  const decode = (/** @type {Buffer} */ bytes) => {
    if (bytes.length === 2) throw new Error('bad');
    return String(bytes);
  };
  const [a, b] = await pair({ capacity: CAPACITY, decode });
  for (const text of ['a', 'bbb', 'cc', 'dddd']) a.trySend(text);
  const batches = b.batches({ reuse: true });
  /** @type {string[]} */ const received = [];
  while (received.length < 2) received.push(...(await batches.next()).value); // one after the other where a turn is spent at once
  expect(received).toEqual(['a', 'bbb']);
  await expect(batches.next()).rejects.toThrow('bad');
  expect((await batches.next()).value).toEqual(['dddd']);
});

test('options are checked', async () => {
  const [, b] = await pair();
  for (const call of ['messages', 'batches']) {
    for (const options of [{ reuse: 1 }, { reuse: null }, { reused: true }, null, true])
      expect(() => b[call](options)).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
  }
  expect(() => b.messages({ max: 3 })).toThrow('Unknown option "max". Options: reuse.');
  await b.close();
  for (const call of ['messages', 'batches']) expect(() => b[call]({ reuse: true })).toThrow(errorWith('ERR_CLOSED'));
});
