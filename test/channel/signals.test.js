'use strict';
// Many calls that share one AbortSignal.
const { getEventListeners } = require('node:events');
jest.mock('../../lib/channel/clock.js', () => {
  const clock = jest.requireActual('../../lib/channel/clock.js');
  return { ...clock, nextTick: jest.fn(clock.nextTick) };
});
const nextTick = /** @type {jest.Mock} */ (/** @type {any} */ (require('../../lib/channel/clock.js')).nextTick);
const { onAbort } = require('../../lib/channel/signals.js');
const { pair } = require('./support.js');

const CALLS = 50;

test('the calls that share a signal share one listener, which goes with the last of them', async () => {
  const [a, b] = await pair();
  const { signal } = new AbortController();
  const received = Array.from({ length: CALLS }, () => a.receive({ signal }));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (let i = 0; i < CALLS - 1; i++) await b.send('x');
  await received[CALLS - 2];
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await b.send('x');
  await received[CALLS - 1];
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  const again = a.receive({ signal });
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await b.send('y');
  expect(String(await again)).toBe('y');
});

test('an abort ends all of them, in their order, and no others', async () => {
  const [a, b] = await pair();
  const controller = new AbortController();
  const { signal } = controller;
  /** @type {number[]} */ const ended = [];
  const received = Array.from({ length: CALLS }, (_, i) =>
    a.receive({ signal }).catch((/** @type {unknown} */ reason) => {
      ended.push(i);
      return reason;
    }),
  );
  const other = a.receive({ signal: new AbortController().signal });
  controller.abort('enough');
  expect(await Promise.all(received)).toEqual(Array(CALLS).fill('enough'));
  expect(ended).toEqual(ended.map((_, i) => i));
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await b.send('x');
  expect(String(await other)).toBe('x');
});

test('one that is stopped by another is not ended, and one that throws ends no other', () => {
  const controller = new AbortController();
  /** @type {string[]} */ const ended = [];
  nextTick.mockImplementationOnce(() => {});
  onAbort(controller.signal, () => {
    stop();
    throw new Error('thrown');
  });
  const stop = onAbort(controller.signal, () => ended.push('stopped'));
  onAbort(controller.signal, (reason) => ended.push(String(reason)));
  controller.abort('enough');
  const [rethrow] = nextTick.mock.calls.at(-1);
  expect(ended).toEqual(['enough']);
  expect(rethrow).toThrow('thrown');
});

// The npm package node-abort-controller, for example: its listeners are called as another object, and its signals have no reason.
test('a substitute for AbortSignal ends them, too', async () => {
  class AbortSignal {
    aborted = false;
    /** @type {Set<() => void>} */ listeners = new Set();
    addEventListener(/** @type {string} */ _type, /** @type {() => void} */ listener) {
      this.listeners.add(listener);
    }
    removeEventListener(/** @type {string} */ _type, /** @type {() => void} */ listener) {
      this.listeners.delete(listener);
    }
  }
  const [a, b] = await pair();
  const signal = new AbortSignal();
  const received = a.receive({ signal });
  await b.send('x');
  expect(String(await received)).toBe('x');
  expect(signal.listeners.size).toBe(0);
  const ended = a.receive({ signal });
  signal.aborted = true;
  for (const listener of signal.listeners) Reflect.apply(listener, {}, [new Event('abort')]);
  await expect(ended).rejects.toMatchObject({ name: 'AbortError' });
  await expect(a.receive({ signal })).rejects.toMatchObject({ name: 'AbortError' });
});

test('a call that begins while an event named abort is dispatched is ended by the abort that follows', () => {
  const controller = new AbortController();
  const { signal } = controller;
  /** @type {unknown[]} */ const ended = [];
  const stop = onAbort(signal, () => {
    onAbort(signal, (reason) => ended.push(reason));
    stop();
  });
  signal.dispatchEvent(new Event('abort'));
  controller.abort('enough');
  expect(ended).toEqual(['enough']);
});
