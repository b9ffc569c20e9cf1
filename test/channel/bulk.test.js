'use strict';
// Much at once, by honest peers: other channels, timers and I/O get their turn in between, and a long queue costs no more for each
// call than a short one.
const { setImmediate: nextTurn } = require('node:timers/promises');
const { Requests } = require('../../lib/channel/requests.js');
const { PENDING, Waiters } = require('../../lib/channel/waiters.js');
const { closing, crossings, newPath, pair } = require('./support.js');

const CAPACITY = 2 ** 24;

// A thousand requests were copied, and their tags checked, before the clock was read.
test.each([true, false])(
  'a search for a message stops after a few large requests (authenticate: %p)',
  async (authenticate) => {
    const [a, b] = await pair({ capacity: CAPACITY, authenticate });
    const answers = Array.from({ length: 20 }, () => a.request(Buffer.alloc(100_000)).catch(() => {}));
    await Promise.resolve(); // they are published
    expect(b.tryReceive()).toBeNull();
    expect(b.stats().messagesReceived).toBe(1);
    b.onRequest(() => 'response');
    await Promise.all(answers);
    expect(b.stats().messagesReceived).toBe(20);
  },
);

// A batch took as many bytes as this side's ring holds: 256 MiB, if the program had chosen that.
test.each([undefined, (/** @type {Buffer} */ bytes) => bytes])(
  'a batch holds about 1 MiB (decode: %p)',
  async (decode) => {
    const [a, b] = await pair({ capacity: CAPACITY, decode });
    for (let i = 0; i < 100; i++) a.trySend(Buffer.alloc(100_000));
    const { value } = await b.batches().next();
    if (decode === undefined) expect(value.length).toBe(11);
    else expect(value.length).toBeLessThanOrEqual(11); // fewer if the turn ends
  },
);

// The first message did not count.
test.each([undefined, (/** @type {Buffer} */ bytes) => bytes])(
  'a batch holds one large message, not two (decode: %p)',
  async (decode) => {
    const [a, b] = await pair({ capacity: CAPACITY, decode });
    for (let i = 0; i < 2; i++) a.trySend(Buffer.alloc(1_500_000));
    const batches = b.batches();
    for (let i = 0; i < 2; i++) expect((await batches.next()).value).toHaveLength(1);
  },
);

// When a large request had been answered, all that waited behind it were written at once.
test('requests that waited are sent as long as the turn lasts', () => {
  /** @type {number[]} */ const sent = [];
  /** @type {any} */ const send = (
    /** @type {unknown} */ _payload,
    /** @type {unknown} */ _kind,
    /** @type {number} */ number,
  ) => {
    sent.push(number);
  };
  const requests = new Requests(send, { mine: 65536, peer: 65536 });
  const ask = (/** @type {number} */ size) =>
    requests.ask(new Uint8Array(size), undefined, Number.POSITIVE_INFINITY, () => {});
  ask(65000);
  for (let i = 0; i < 5; i++) ask(1000);
  expect(sent).toEqual([1]);
  requests.take({ kind: 2, number: 1, payload: Buffer.alloc(0) });
  requests.sendQueued(() => false);
  expect(sent).toEqual([1, 2]);
  let left = 2;
  requests.sendQueued(() => --left > 0);
  expect(sent).toEqual([1, 2, 3, 4]);
  requests.sendQueued(() => true);
  expect(sent).toEqual([1, 2, 3, 4, 5, 6]);
});

// The queues were Sets and Maps. V8 leaves a hole where an entry was removed, and passes over the holes to find the first entry.
test('a long queue is as fast as a short one', async () => {
  const waiters = new Waiters();
  const calls = 300_000;
  let ready = false;
  const attempt = () => {
    if (!ready) return PENDING;
    ready = false;
    return 'message';
  };
  let resolved = 0;
  for (let i = 0; i < calls; i++) waiters.add(attempt, undefined, () => {}).then(() => resolved++);
  for (let i = 0; i < calls; i++) {
    if (i % 1000 === 0) await nextTurn(); // or the test's time limit would not be noticed
    ready = true;
    waiters.serve(() => true);
  }
  await nextTurn();
  expect([resolved, waiters.size]).toEqual([calls, 0]);
}, 120_000);

test('a call in the middle of a queue can be aborted, and all others are served in order', async () => {
  const waiters = new Waiters();
  /** @type {unknown[]} */ const settled = [];
  const aborts = Array.from({ length: 5 }, () => new AbortController());
  for (const [i, { signal }] of aborts.entries()) {
    waiters
      .add(
        () => i,
        signal,
        () => settled.push(`left ${i}`),
      )
      .then(
        (value) => settled.push(value),
        () => {},
      );
  }
  for (const i of [2, 0, 4]) aborts[i].abort();
  expect([waiters.size, settled]).toEqual([2, ['left 2', 'left 0', 'left 4']]);
  waiters.serve(() => true);
  aborts[1].abort();
  await nextTurn();
  expect([waiters.size, settled.slice(3)]).toEqual([0, [1, 3]]);
});

test('accepts in the middle of the queue can be aborted, and the others are served in order', async () => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  /** @type {unknown[]} */ const settled = [];
  const aborts = Array.from({ length: 5 }, () => new AbortController());
  const accepted = aborts.map(({ signal }, i) =>
    server.accept({ signal }).then(
      (/** @type {any} */ channel) => settled.push([i, closing(channel).state]),
      (/** @type {unknown} */ reason) => settled.push([i, reason]),
    ),
  );
  await nextTurn();
  for (const i of [2, 0]) aborts[i].abort('aborted');
  for (const _ of [1, 3]) closing(await crossings.connect(path));
  await Promise.all(accepted.slice(0, 4));
  await server.close();
  await Promise.all(accepted);
  expect(settled).toEqual([
    [2, 'aborted'],
    [0, 'aborted'],
    [1, 'open'],
    [3, 'open'],
    [4, expect.objectContaining({ code: 'ERR_CLOSED' })],
  ]);
});

// The signal of a call that it aborts has no listener of it any more: to remove it again searched those of all other calls.
test('an abort removes no listener that is gone', () => {
  const removing = jest.spyOn(EventTarget.prototype, 'removeEventListener');
  try {
    /** @type {any} */ let signals;
    jest.isolateModules(() => {
      signals = require('../../lib/channel/signals.js'); // takes the methods when it is loaded
    });
    const stop = new AbortController();
    const remove = signals.onAbort(stop.signal, () => remove());
    stop.abort();
    remove();
    expect(removing).not.toHaveBeenCalled();
    signals.onAbort(new AbortController().signal, () => {})();
    expect(removing).toHaveBeenCalledTimes(1);
  } finally {
    removing.mockRestore();
  }
});
