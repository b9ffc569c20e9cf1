'use strict';
// Leaving an iterator early, and batches among frames that are dropped.
const { KIND } = require('../../lib/channel/layout.js');
const { CLOSED, errorOf } = require('../../lib/channel/life.js');
const turn = require('../../lib/channel/turn.js');
const { rawPeer } = require('./raw-peer.js');
const { library, pair, pause, runScript, success } = require('./support.js');

describe.each([
  ['for await', (/** @type {any} */ channel) => channel[Symbol.asyncIterator](), String],
  ['messages({reuse})', (/** @type {any} */ channel) => channel.messages({ reuse: true }), String],
  ['batches()', (/** @type {any} */ channel) => channel.batches(), String],
])('%s: return()', (_, iterate) => {
  // It took the next message, which nobody got.
  test('ends the next() that waits, and the channel keeps its messages', async () => {
    const [a, b] = await pair();
    const iterator = iterate(b);
    const waiting = [iterator.next(), iterator.next()];
    await pause(5);
    expect(await iterator.return()).toEqual({ value: undefined, done: true });
    for (const each of waiting) expect(await each).toEqual({ value: undefined, done: true });
    a.trySend('one');
    expect(String(await b.receive())).toBe('one');
  });

  test('ends all of them before one could get a message', async () => {
    const [a, b] = await pair();
    const iterator = iterate(b);
    const waiting = [iterator.next(), iterator.next()];
    await pause(5);
    a.trySend('one');
    await iterator.return();
    for (const each of waiting) expect(await each).toEqual({ value: undefined, done: true });
    expect(String(await b.receive())).toBe('one');
  });

  test('leaves the calls of others alone', async () => {
    const [a, b] = await pair();
    const [left, other] = [iterate(b), iterate(b)];
    const ended = left.next();
    const waiting = other.next();
    await left.return();
    a.trySend('one');
    expect(await ended).toEqual({ value: undefined, done: true });
    expect(String((await waiting).value)).toBe('one');
  });
});

test('calls that were ended are forgotten', async () => {
  const { Group, Waiters, PENDING } = require('../../lib/channel/waiters.js');
  const waiters = new Waiters();
  const group = new Group();
  const waiting = [1, 2, 3].map(() => waiters.addTo(group, () => PENDING));
  waiters.endGroup(group, 'ended');
  expect(await Promise.all(waiting)).toEqual(['ended', 'ended', 'ended']);
  expect([waiters.size, group.size]).toEqual([0, 0]);
});

test('a program ends although it has left an iterator whose next() waited', async () => {
  const script = `const { channelPair, openChannel } = require(${library});
    (async () => {
      const { channel, port } = channelPair();
      const other = await openChannel(port.take());
      const iterator = (await channel)[Symbol.asyncIterator]();
      iterator.next();
      setTimeout(() => iterator.return(), 5);
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

test('a return() in decode does not lose the message that is being decoded', async () => {
  /** @type {any} */ let iterator;
  const decode = (/** @type {Buffer} */ bytes) => {
    iterator.return();
    return String(bytes);
  };
  const [a, b] = await pair({}, { decode });
  iterator = b[Symbol.asyncIterator]();
  const waiting = iterator.next();
  await pause(5);
  a.trySend('one');
  expect(await waiting).toEqual({ value: 'one', done: false });
});

// A ring without an end, full of responses that nobody awaits and a few messages, made one batch pass over a million frames.
test('a batch counts the frames that it has passed over', async () => {
  const peer = await rawPeer();
  try {
    const dropped = 127;
    const write = () => {
      for (let i = 0; i < dropped; i++) if (!peer.send(KIND.RESPONSE, 1_000_000, Buffer.alloc(0))) return false;
      return peer.send(KIND.MESSAGE, 0, Buffer.alloc(0));
    };
    for (let i = 0; i < 7; i++) expect(write()).toBe(true);
    const first = await peer.a.batches()[Symbol.asyncIterator]().next();
    expect(first.value.length).toBeLessThanOrEqual(5); // 128 frames count as 16 KiB, a quarter of the capacity
  } finally {
    await peer.close();
  }
});

test('requests that were set aside are kept if dispatching one fails because the stack is full', async () => {
  const { Responder } = require('../../lib/channel/responder.js');
  const peer = await rawPeer({ wait: 'sleep' });
  try {
    for (let number = 1; number <= 5; number++) peer.send(KIND.REQUEST, number, Buffer.from('x'));
    const respond = jest.spyOn(Responder.prototype, 'respond').mockImplementationOnce(() => {
      throw new RangeError('Maximum call stack size exceeded');
    });
    const mocks = [jest.spyOn(turn, 'take').mockReturnValue(true), jest.spyOn(turn, 'isSpent').mockReturnValue(false)];
    expect(() => peer.a.onRequest(() => Buffer.from('answer'))).toThrow(RangeError);
    for (const mock of [...mocks, respond]) mock.mockRestore();
    peer.a.onRequest(() => Buffer.from('answer'));
    await pause(20);
    expect(Array.from({ length: 6 }, () => peer.read())).toEqual([1, 2, 3, 4, 5, -1]);
  } finally {
    await peer.close();
  }
});

// The second batch hid it, and the message was gone without a trace.
test('an error of decode in the middle of a batch goes to the next call that waits', async () => {
  const decode = (/** @type {Buffer} */ bytes) => {
    if (String(bytes) === 'bad') throw new Error('cannot be decoded');
    return String(bytes);
  };
  const mocks = [jest.spyOn(turn, 'take').mockReturnValue(true), jest.spyOn(turn, 'isSpent').mockReturnValue(false)]; // no batch is cut short
  const [a, b] = await pair({}, { decode });
  const batches = b.batches();
  const [first, second, third] = [batches.next(), batches.next(), batches.next()];
  await pause(5);
  a.cork();
  for (const text of ['one', 'bad', 'two', 'three']) a.trySend(text);
  a.uncork();
  expect(await first).toEqual({ value: ['one'], done: false });
  await expect(second).rejects.toThrow('cannot be decoded');
  expect(await third).toEqual({ value: ['two', 'three'], done: false });
  for (const mock of mocks) mock.mockRestore();
});

// Nobody learned of it: the message was taken from the ring, and the next call never came.
test.each([new Error('cannot be decoded'), errorOf(CLOSED)])(
  'an error of decode (%p) in a batch is thrown by return() if the loop ends after that batch',
  async (reason) => {
    const decode = (/** @type {Buffer} */ bytes) => {
      if (String(bytes) === 'bad') throw reason;
      return String(bytes);
    };
    const mocks = [jest.spyOn(turn, 'take').mockReturnValue(true), jest.spyOn(turn, 'isSpent').mockReturnValue(false)]; // no batch is cut short
    const [a, b] = await pair({}, { decode });
    for (const text of ['one', 'bad', 'two']) a.trySend(text);
    /** @type {unknown[]} */ const received = [];
    const loop = async () => {
      for await (const batch of b.batches()) {
        received.push(...batch);
        break;
      }
    };
    await expect(loop()).rejects.toBe(reason);
    expect(await b.receive()).toBe('two');
    expect(received).toEqual(['one']);
    for (const mock of mocks) mock.mockRestore();
  },
);
