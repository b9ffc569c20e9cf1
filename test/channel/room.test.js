'use strict';
// Room in the ring: waiting for it without sending, and a ring that is chosen for a largest message.
const { errorWith, pair, pause } = require('./support.js');

const CAPACITY = 65536;

/** Sends until the ring is full. @param {any} channel */
function fill(channel) {
  let sent = 0;
  while (channel.trySend(Buffer.alloc(1000))) sent++;
  return sent;
}

test('waitForRoom() is fulfilled once a message of this size would fit, and sends nothing', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  await a.waitForRoom(a.maxMessageBytes);
  expect(a.stats().messagesSent).toBe(0);
  const sent = fill(a);
  let hasRoom = false;
  const room = a.waitForRoom(30_000).then(() => {
    hasRoom = true;
  });
  for (let i = 0; i < 10; i++) await b.receive();
  expect(hasRoom).toBe(false);
  for (let i = 10; i < sent; i++) await b.receive();
  await room;
  expect(a.trySend(Buffer.alloc(30_000))).toBe(true);
});

test('waitForRoom() waits behind earlier sends', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  fill(a);
  /** @type {string[]} */ const order = [];
  const sent = a.send(Buffer.alloc(50_000)).then(() => order.push('send'));
  const room = a.waitForRoom().then(() => order.push('room'));
  while (order.length < 2) {
    while (b.tryReceive() !== null);
    await new Promise(setImmediate);
  }
  await Promise.all([sent, room]);
  expect(order).toEqual(['send', 'room']);
});

test('waitForRoom() ends when its signal is aborted, and when either side closes', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  fill(a);
  const stop = new AbortController();
  const aborted = a.waitForRoom(1000, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  const waiting = a.waitForRoom(1000);
  await b.close();
  await expect(waiting).rejects.toEqual(errorWith('ERR_CLOSED'));
  await expect(a.waitForRoom()).rejects.toEqual(errorWith('ERR_CLOSED'));
});

test('waitForRoom() refuses what never fits', async () => {
  const [a] = await pair({ capacity: CAPACITY });
  await expect(a.waitForRoom(a.maxMessageBytes + 1)).rejects.toEqual(errorWith('ERR_MESSAGE_TOO_LARGE'));
  for (const size of [-1, 0.5, '1', null])
    await expect(a.waitForRoom(size)).rejects.toEqual(errorWith('ERR_INVALID_ARGUMENT'));
});

test.each([
  [{ maxMessageBytes: 2 ** 20 }, 2 ** 21 - 16],
  [{ maxMessageBytes: 2 ** 20 - 16 }, 2 ** 20 - 16],
  [{ maxMessageBytes: 2 ** 20 - 16, authenticate: true }, 2 ** 21 - 24],
  [{ maxMessageBytes: 1 }, 2 ** 20 - 16],
  [{ maxMessageBytes: 65520, capacity: 65536 }, 65520],
])('%p makes messages of at least this size pass', async (options, maxMessageBytes) => {
  const [a, b] = await pair(options);
  expect(a.maxMessageBytes).toBe(maxMessageBytes);
  expect(a.trySend(Buffer.alloc(options.maxMessageBytes, 3))).toBe(true);
  expect((await b.receive()).equals(Buffer.alloc(options.maxMessageBytes, 3))).toBe(true);
});

test.each([
  [{ maxMessageBytes: 65521, capacity: 65536 }, /at most 65520 with a capacity of 65536; got 65521/],
  [{ maxMessageBytes: 2 ** 30 - 16, authenticate: true }, /at most 1073741800/],
  [{ maxMessageBytes: 2 ** 30 }, /from 0 to 1073741808/],
  [{ maxMessageBytes: -1 }, /got -1/],
  [{ maxRequests: 0 }, /a positive integer, or Infinity; got 0/],
])('%p is refused', async (options, message) => {
  await expect(pair(options)).rejects.toThrow(message);
});

test('a loop that waits for room and then sends lets timers run', async () => {
  const [a, b] = await pair();
  let isLate = true;
  setTimeout(() => {
    isLate = false;
  }, 1);
  for (let i = 0; i < 1e6 && isLate; i++) {
    await a.waitForRoom(10);
    a.trySend('x');
    b.tryReceive();
  }
  expect(isLate).toBe(false);
});

// Of what it had read, the reader announced each sixteenth of the ring only, until it looked for another message.
describe.each([{ wait: 'spin-then-sleep' }, { wait: 'sleep' }, { authenticate: true }, { transport: 'socket' }])(
  '%p: a message as large as the ring is sent after another was read',
  (options) => {
    test.each([
      ['receive', (/** @type {any} */ channel) => channel.receive()],
      ['tryReceive', (/** @type {any} */ channel) => channel.tryReceive()],
      ['tryReceiveInto', (/** @type {any} */ channel) => channel.tryReceiveInto(Buffer.alloc(100))],
      ['tryRead', (/** @type {any} */ channel) => channel.tryRead(() => {})],
      ['next', (/** @type {any} */ channel) => channel[Symbol.asyncIterator]().next()],
      ['batches', (/** @type {any} */ channel) => channel.batches({ max: 1 }).next()],
    ])('by %s(), and nobody looks for more', async (_name, readOne) => {
      const [a, b] = await pair({ capacity: CAPACITY, ...options });
      await a.send('header');
      const sent = a.send(Buffer.alloc(a.maxMessageBytes, 7));
      await pause(50); // it sleeps by now
      await readOne(b);
      await sent;
      expect((await b.receive()).equals(Buffer.alloc(a.maxMessageBytes, 7))).toBe(true);
    });
  },
);
