'use strict';
// request and onRequest: every request gets its own answer or one clear error.
const { errorWith, pair, pause } = require('./support.js');

test('answers match their requests, in whatever order they come', async () => {
  const [a, b] = await pair();
  b.onRequest(async (/** @type {Buffer} */ request) => {
    const ms = Number(request.toString());
    await pause(ms);
    return `waited ${ms}`;
  });
  const answers = await Promise.all([30, 1, 15].map((ms) => a.request(String(ms))));
  expect(answers.map(String)).toEqual(['waited 30', 'waited 1', 'waited 15']);
});

test('both ends can send requests and plain messages at the same time', async () => {
  const [a, b] = await pair();
  a.onRequest((/** @type {Buffer} */ request) => `a:${request}`);
  b.onRequest((/** @type {Buffer} */ request) => `b:${request}`);
  a.trySend('plain');
  const [fromB, fromA] = await Promise.all([a.request('1'), b.request('2')]);
  expect([String(fromB), String(fromA)]).toEqual(['b:1', 'a:2']);
  expect((await b.receive()).toString()).toBe('plain');
});

test("a handler's error rejects the request with the same message", async () => {
  const [a, b] = await pair();
  b.onRequest(() => {
    throw new Error('no such thing');
  });
  await expect(a.request('x')).rejects.toMatchObject({ code: 'ERR_REQUEST_FAILED', message: 'no such thing' });
});

test('a request to a peer without a handler is rejected', async () => {
  const [a, b] = await pair();
  const answer = a.request('x');
  const reading = b.receive().catch(() => {}); // rejects when b closes below
  await expect(answer).rejects.toEqual(errorWith('ERR_REQUEST_FAILED'));
  await b.close();
  await reading;
});

describe('a request that gets no answer ends', () => {
  test('when its timeout is over', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    await expect(a.request('x', { timeout: 10 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
  });

  test('when its signal is aborted', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const stop = new AbortController();
    const aborted = a.request('x', { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  test('when this end closes', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const unanswered = a.request('x');
    await a.close();
    await expect(unanswered).rejects.toEqual(errorWith('ERR_CLOSED'));
  });

  test('when the peer closes', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const unanswered = a.request('x');
    await b.close();
    await expect(unanswered).rejects.toEqual(errorWith('ERR_CLOSED'));
  });
});
