'use strict';
// Waiting for a message or for room: order, back-pressure, wake-ups, aborts, and receiveSync.
const { errorWith, pair, pause } = require('./support.js');

describe('send', () => {
  test('waits for room, preserves order and loses nothing', async () => {
    const [a, b] = await pair({ capacity: 65536 });
    const text = (/** @type {number} */ i) => `message ${i} ${'.'.repeat(i % 100)}`;
    const all = Array.from({ length: 5000 }, (_, i) => a.send(text(i)));
    for (let i = 0; i < 5000; i++) expect((await b.receive()).toString()).toBe(text(i));
    await Promise.all(all);
  });

  test('trySend does not overtake a waiting send', async () => {
    const [a, b] = await pair({ capacity: 65536 });
    while (a.trySend(Buffer.alloc(1000)));
    const waiting = a.send(Buffer.alloc(30_000));
    expect(a.trySend('small')).toBe(false);
    while (b.tryReceive());
    await waiting;
    expect(a.trySend('small')).toBe(true);
  });
});

describe('receive', () => {
  test('waits, and waiting calls are served in order', async () => {
    const [a, b] = await pair();
    const both = Promise.all([b.receive(), b.receive()]);
    await pause(20);
    a.trySend('first');
    a.trySend('second');
    expect((await both).map(String)).toEqual(['first', 'second']);
  });

  test.each(['spin-then-sleep', 'spin', 'sleep'])('with wait: %p, is woken by every message', async (wait) => {
    const [a, b] = await pair({ wait });
    for (let i = 0; i < 50; i++) {
      const next = b.receive();
      if (i % 5 === 0) await pause(2);
      a.trySend(`message ${i}`);
      expect((await next).toString()).toBe(`message ${i}`);
    }
  });

  test('timers fire while a channel waits', async () => {
    const [a, b] = await pair();
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    const waiting = b.receive();
    while (ticks < 5) await new Promise((resolve) => setImmediate(resolve));
    a.trySend('x');
    await waiting;
    clearInterval(ticking);
  });

  test('timers fire while a stream of messages is read', async () => {
    const [a, b] = await pair();
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    let received = 0;
    const reading = (async () => {
      for await (const message of b) {
        if (String(message) === 'last') break;
        received++;
      }
    })();
    // If the channel starved the timers, this loop would never end.
    while (ticks < 3 || received < 1000) await a.send('burst');
    await a.send('last');
    await reading;
    clearInterval(ticking);
  });
});

describe('an abort signal', () => {
  test('ends a receive and leaves the message to the next one', async () => {
    const [a, b] = await pair();
    const stop = new AbortController();
    const aborted = b.receive({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    a.trySend('not lost');
    expect((await b.receive()).toString()).toBe('not lost');
  });

  test('ends a send, whose message is never sent', async () => {
    const [a, b] = await pair({ capacity: 65536 });
    while (a.trySend(Buffer.alloc(1000)));
    const stop = new AbortController();
    const aborted = a.send(Buffer.alloc(30_000), { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    while (b.tryReceive());
    await a.send('next');
    expect((await b.receive()).toString()).toBe('next');
  });

  test('that is already aborted rejects every call', async () => {
    const [a] = await pair();
    const signal = AbortSignal.abort(new Error('already'));
    await expect(a.receive({ signal })).rejects.toThrow('already');
    await expect(a.send('x', { signal })).rejects.toThrow('already');
    await expect(a.request('x', { signal })).rejects.toThrow('already');
  });
});

describe('receiveSync', () => {
  test('returns a message that is already there', async () => {
    const [a, b] = await pair();
    a.trySend('there');
    expect(b.receiveSync().toString()).toBe('there');
  });

  test('throws ERR_TIMEOUT when none arrives in time', async () => {
    const [, b] = await pair();
    expect(() => b.receiveSync({ timeout: 5 })).toThrow(errorWith('ERR_TIMEOUT'));
  });

  test('returns null once the peer has closed', async () => {
    const [a, b] = await pair();
    await a.close();
    expect(b.receiveSync()).toBeNull();
  });
});
