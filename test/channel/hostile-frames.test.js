'use strict';
// Peers that keep to the layout of the ring and nothing else: endless leftovers, floods of requests, huge refusals. Each test is a
// defect that was found by an attack.
const { MAX_OPEN_REQUESTS } = require('../../lib/channel/request-window.js');
const { KIND } = require('../../lib/channel/layout.js');
const { RingReader } = require('../../lib/channel/ring-reader.js');
const { channelPair, openChannel, structured } = require('../../lib/index.js');
const { CAPACITY, rawPeer } = require('./raw-peer.js');
const { Connection } = require('../../lib/channel/connection.js');
const { errorWith, pair, pause } = require('./support.js');

const EMPTY = new Uint8Array(0);
const TARGET = new Uint8Array(8);

describe.each([true, false])('a ring without an end, by a peer that is gone (closed: %p)', (closed) => {
  /** @param {(a: any, ended: Promise<void>) => Promise<unknown>} use @param {boolean} [leavesMessages] */
  async function expectCorrupt(use, leavesMessages = false, kind = Number(KIND.MESSAGE)) {
    const peer = await rawPeer();
    peer.fill(kind);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    /** @type {() => void} */ let haveEnded = () => {};
    const ended = /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        haveEnded = resolve;
      })
    );
    const used = use(peer.a, ended).then(
      () => null,
      (/** @type {unknown} */ error) => error,
    );
    await pause(5);
    peer.end(closed);
    haveEnded();
    const error = await used;
    if (!leavesMessages) expect(error).toEqual(errorWith('ERR_PEER_CORRUPT'));
    await pause(10);
    expect(ticks).toBeGreaterThan(0);
    clearInterval(timer);
    await peer.close();
    return error;
  }

  test('for await', async () => {
    await expectCorrupt(async (a) => {
      for await (const message of a) expect(message.length).toBe(0);
    });
  });

  test('batches', async () => {
    await expectCorrupt(async (a) => {
      for await (const batch of a.batches()) expect(batch.length).toBeLessThanOrEqual(1024);
    });
  });

  test('reused messages and batches', async () => {
    await expectCorrupt(async (a) => {
      for await (const message of a.messages({ reuse: true })) expect(message.length).toBe(0);
    });
    await expectCorrupt(async (a) => {
      for await (const batch of a.batches({ reuse: true })) expect(batch.length).toBeLessThanOrEqual(1024);
    });
  });

  // These loops received empty messages forever, because only a call that found no message checked the peer.
  test.each([
    ['tryReceiveInto', (/** @type {any} */ a) => a.tryReceiveInto(TARGET)],
    ['tryReceive', (/** @type {any} */ a) => a.tryReceive()],
    ['receiveSync', (/** @type {any} */ a) => a.receiveSync()],
    ['tryRead', (/** @type {any} */ a) => a.tryRead(() => {})],
  ])('%s in a loop that never yields', async (_name, receive) => {
    await expectCorrupt(async (a, ended) => {
      await ended; // nothing yields from here on: the event loop cannot report the end
      for (;;) receive(a);
    });
  });

  // Calls that passed over many responses and found no message did not count as unsuccessful ones.
  test('tryReceive in a loop that never yields, with responses that no request awaits', async () => {
    const receiveAll = async (/** @type {any} */ a, /** @type {Promise<void>} */ ended) => {
      await ended;
      for (;;) a.tryReceive();
    };
    await expectCorrupt(receiveAll, false, KIND.RESPONSE);
  });

  test('a pending request', async () => {
    const error = await expectCorrupt((a) => a.request('x'), true);
    expect(['ERR_CLOSED', 'ERR_PEER_DIED', 'ERR_PEER_CORRUPT']).toContain(/** @type {any} */ (error).code);
  });

  test('onRequest', async () => {
    await expectCorrupt(async (a) => {
      a.onRequest(() => 'y');
      await a.closed;
    }, true);
  });
});

test('a peer with more open requests than the window is corrupt, also while nobody handles them', async () => {
  const peer = await rawPeer();
  let error;
  peer.a.receive().catch((/** @type {unknown} */ failure) => {
    error = failure;
  });
  // The peer never reads: the refusals fill the ring, and the others wait for room.
  const most = CAPACITY / 64 + MAX_OPEN_REQUESTS;
  for (let sent = 0; error === undefined && sent <= most; ) {
    if (peer.send(KIND.REQUEST, sent + 1, EMPTY)) sent++;
    else await pause(0);
  }
  while (error === undefined) await pause(1);
  expect(error).toEqual(errorWith('ERR_PEER_CORRUPT'));
  expect(peer.a.state).toBe('peer-corrupt');
  await peer.close();
});

test('a peer whose open requests are larger than its ring is corrupt', async () => {
  const peer = await rawPeer();
  peer.a.onRequest(() => new Promise(() => {}));
  const payload = new Uint8Array(10_000);
  for (let sent = 0; sent < 7; ) {
    if (peer.send(KIND.REQUEST, sent + 1, payload)) sent++;
    else await pause(0);
  }
  expect(await peer.a.closed).toBe('peer-corrupt');
  await peer.close();
});

test('a refusal keeps only the start of a long reason', async () => {
  const peer = await rawPeer();
  const asked = peer.a.request('x').catch((/** @type {unknown} */ error) => error);
  peer.send(KIND.REFUSAL, 1, new Uint8Array(50_000).fill(0x61));
  const error = /** @type {any} */ (await asked);
  expect(error).toEqual(errorWith('ERR_REQUEST_FAILED'));
  expect(error.message.length).toBeLessThanOrEqual(4000);
  await peer.close();
});

test('responses that no request awaits, and second responses, are ignored', async () => {
  const peer = await rawPeer();
  const asked = peer.a.request('x');
  for (let i = 0; i < 400; i++) peer.send(KIND.RESPONSE, 1000 + i, EMPTY);
  for (let i = 0; i < 100; i++) peer.send(KIND.RESPONSE, 1, Buffer.from([i]));
  peer.send(KIND.MESSAGE, 0, Buffer.from('after'));
  expect([...(await asked)]).toEqual([0]);
  expect(String(await peer.a.receive())).toBe('after');
  await peer.close();
});

test('requests that time out before they are sent are not sent', async () => {
  const [a, b] = await pair();
  let handled = 0;
  b.onRequest(() => {
    handled++;
    return new Promise(() => {});
  });
  const timeouts = Array.from({ length: MAX_OPEN_REQUESTS + 1000 }, () => a.request('x', { timeout: 20 }));
  for (const each of await Promise.allSettled(timeouts)) {
    expect(each).toEqual({ status: 'rejected', reason: errorWith('ERR_TIMEOUT') });
  }
  await pause(20);
  expect(handled).toBeLessThanOrEqual(MAX_OPEN_REQUESTS);
  const message = b.receive();
  await a.send('after');
  expect(String(await message)).toBe('after');
});

test('requests that wait for room when they time out are not sent', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  while (a.trySend(Buffer.alloc(1000)) /* fill the ring */);
  await expect(a.request(Buffer.alloc(2000), { timeout: 5 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
  const stop = new AbortController();
  const aborted = a.request(Buffer.alloc(2000), { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  const answered = a.request('last');
  while (b.tryReceive() !== null /* make room */);
  let handled = 0;
  b.onRequest(() => `${++handled}`);
  expect(String(await answered)).toBe('1');
});

test('more requests than the window admits are all answered, in both directions at once', async () => {
  const [a, b] = await pair({ capacity: CAPACITY });
  const response = Buffer.alloc(3000);
  a.onRequest(() => response);
  b.onRequest(async () => response);
  const count = MAX_OPEN_REQUESTS + 2000;
  const ask = (/** @type {any} */ channel) => Promise.all(Array.from({ length: count }, () => channel.request('x')));
  const [fromB, fromA] = await Promise.all([ask(a), ask(b)]);
  for (const each of [...fromA, ...fromB]) if (each.length !== 3000) throw new Error(`${each.length}`);
});

test('the inbox limit depends on the capacity of this side, not of the peer', async () => {
  const { channel, port } = channelPair({ capacity: CAPACITY });
  const b = await openChannel(port.take(), { capacity: 64 * CAPACITY });
  const a = await channel;
  const answered = a.request('x').catch((/** @type {unknown} */ error) => error);
  let sent = 0;
  while (b.trySend(Buffer.alloc(1000))) sent++;
  await pause(50);
  expect(sent * 1000).toBeGreaterThan(32 * CAPACITY);
  expect(a.stats().bytesReceived).toBeLessThan(2 * CAPACITY);
  await b.close();
  expect(await answered).toEqual(errorWith('ERR_CLOSED')); // a response could only come after more messages than it may keep
  let received = 0;
  for await (const message of a) received += message.length / 1000;
  expect(received).toBe(sent);
  await a.close();
});

// The peer's process had ended, and these calls waited for ever: no event came any more.
describe('a ring that seems empty to one look and not to the next, after its end', () => {
  const { isReady } = RingReader.prototype;
  afterEach(() => jest.restoreAllMocks());

  /** @param {number} times how often a look finds what is not there @param {(a: any) => Promise<unknown>} call */
  async function endDuring(times, call) {
    const peer = await rawPeer();
    const settled = call(peer.a).catch((error) => error.code);
    await pause(5);
    let left = times;
    jest.spyOn(RingReader.prototype, 'isReady').mockImplementation(
      /** @this {any} */ function flicker() {
        return (this.ended && left-- > 0) || isReady.call(this);
      },
    );
    peer.end(true);
    const result = await settled;
    await peer.close();
    return result;
  }

  test.each([1, 2, 5])('%i times', async (times) => {
    expect(await endDuring(times, (a) => a.receive())).toBeNull();
    expect(await endDuring(times, (a) => a.request('x'))).toBe('ERR_CLOSED');
  });

  test('for ever', async () => {
    const corrupt = 'ERR_PEER_CORRUPT';
    expect(await endDuring(Number.POSITIVE_INFINITY, (a) => a.receive())).toBe(corrupt);
    expect(await endDuring(Number.POSITIVE_INFINITY, (a) => a.request('x'))).toBe(corrupt);
  });
});

test('structured carries null and undefined', async () => {
  const [a, b] = await pair(structured);
  const values = [null, undefined, 0, '', null];
  for (const value of values) await a.send(value);
  await a.close();
  const received = [];
  for await (const value of b) received.push(value);
  expect(received).toEqual(values);
});

test('structured null and undefined in batches, web streams and a Node stream', async () => {
  const [a, b] = await pair(structured);
  await a.send(null);
  await a.send(undefined);
  const batched = [];
  for await (const batch of b.batches()) {
    batched.push(...batch);
    if (batched.length === 2) break; // decoding the first may take a whole turn
  }
  expect(batched).toStrictEqual([null, undefined]);
  await a.send(null);
  const reader = b.toWebStreams().readable.getReader();
  expect(await reader.read()).toEqual({ value: null, done: false });
  reader.releaseLock();
  await a.send(null);
  const stream = b.toDuplex({ objectMode: true });
  const failed = new Promise((resolve) => stream.on('error', resolve));
  stream.resume();
  expect(await failed).toEqual(errorWith('ERR_INVALID_ARGUMENT'));
  await a.close();
});

// Each of its responses was refused when it could not be sent any more, and each refusal failed with an error of its own: 0.2 s in one
// turn of the event loop for each such peer.
test.each([false, true])(
  'thousands of responses that a peer left unread end with it, without a refusal, closed: %p',
  async (closed) => {
    const REQUESTS = 5000;
    const peer = await rawPeer();
    let calls = 0;
    peer.a.onRequest((/** @type {Buffer} */ request) => {
      calls++;
      return request;
    });
    const payload = Buffer.alloc(4);
    for (let number = 1; number <= REQUESTS; number++) {
      while (!peer.send(KIND.REQUEST, number, payload)) await pause(1);
    }
    while (calls < REQUESTS) await pause(1);
    const write = jest.spyOn(Connection.prototype, 'write');
    peer.end(closed);
    expect(await peer.a.closed).toBe(closed ? 'peer-closed' : 'peer-died');
    await pause(10);
    expect(write).toHaveBeenCalledTimes(0);
    write.mockRestore();
    await peer.close();
  },
);
