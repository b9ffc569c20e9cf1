'use strict';
// Invalid arguments: every call refuses them with ERR_INVALID_ARGUMENT and a sentence, and loses no message.
const { crossings, errorWith, newPath, pair } = require('./support.js');

const { channelPair, connect, listen, openChannel } = crossings;

const invalid = expect.objectContaining({
  name: 'CrossingsError',
  code: 'ERR_INVALID_ARGUMENT',
  message: expect.stringMatching(/\.$/),
});

test.each([
  [undefined],
  [null],
  [42],
  [3n],
  [true],
  [Symbol('x')],
  [{}],
  [[1, 2]],
  [() => {}],
  [new Date()],
  [{ length: 5 }],
])('trySend, send and request refuse the message %p', async (message) => {
  const [a] = await pair();
  expect(() => a.trySend(message)).toThrow(invalid);
  await expect(a.send(message)).rejects.toEqual(invalid);
  await expect(a.request(message)).rejects.toEqual(invalid);
});

test.each([
  [undefined, 0],
  [null, 0],
  ['text', 0],
  [[], 0],
  [new ArrayBuffer(8), 0],
  [new Float64Array(8), 0],
  [Buffer.alloc(8), -1],
  [Buffer.alloc(8), 0.5],
  [Buffer.alloc(8), Number.NaN],
  [Buffer.alloc(8), '0'],
])('tryReceiveInto refuses (%p, %p); the message can still be received', async (target, offset) => {
  const [a, b] = await pair();
  a.trySend('not lost');
  expect(() => b.tryReceiveInto(target, offset)).toThrow(invalid);
  expect(b.tryReceive().toString()).toBe('not lost');
});

test('tryReceiveInto refuses a target that is too small; the message can still be received', async () => {
  const [a, b] = await pair();
  a.trySend('too long for it');
  for (const [size, offset] of [
    [4, 0],
    [15, 1],
    [15, 99],
    [0, 0],
  ]) {
    expect(() => b.tryReceiveInto(Buffer.alloc(size), offset)).toThrow(errorWith('ERR_MESSAGE_TOO_LARGE'));
  }
  expect(b.tryReceive().toString()).toBe('too long for it');
});

test.each([
  [null],
  [42],
  ['x'],
  [[]],
  [{ capacity: 65535 }],
  [{ capacity: 100_000 }],
  [{ capacity: 2 ** 31 }],
  [{ capacity: '65536' }],
  [{ capacity: -65536 }],
  [{ capacity: Number.NaN }],
  [{ wait: 'forever' }],
  [{ spinMicros: -1 }],
  [{ spinMicros: '50' }],
  [{ timeout: 0 }],
  [{ timeout: '1s' }],
  [{ signal: {} }],
  [{ allowOtherUsers: 1 }],
  [{ encode: 'json' }],
  [{ decode: {} }],
  [{ capasity: 65536 }],
  [{ toString: 1 }],
])('channelPair, listen and connect refuse the options %p', async (options) => {
  expect(() => channelPair(options)).toThrow(invalid);
  await expect(listen(newPath(), options)).rejects.toEqual(invalid);
  await expect(connect(newPath(), options)).rejects.toEqual(invalid);
});

test.each([[undefined], [''], [42], ['x'.repeat(108)], ['a\0b']])(
  'listen and connect refuse the path %p',
  async (path) => {
    await expect(listen(path)).rejects.toEqual(invalid);
    await expect(connect(path)).rejects.toEqual(invalid);
  },
);

test.each([[-1], [1.5], ['3'], [null], [undefined], [0], [99999]])(
  'openChannel refuses the descriptor %p',
  async (fd) => {
    await expect(openChannel(fd)).rejects.toEqual(invalid);
  },
);

test('an unknown option is named in the error', () => {
  expect(() => channelPair({ capasity: 65536 })).toThrow('capasity');
});

// A misspelled limit was no limit: receiveSync() blocked its thread forever.
test.each([[5], [null], [{ timeoutMs: 5 }], [{ timeout: null }], [{ timeout: -1 }], [{ timeout: '5' }]])(
  'receiveSync(%j) and request(message, %j) are refused instead of waiting without a limit',
  async (options) => {
    const [a, b] = await pair();
    a.trySend('not lost');
    expect(() => b.receiveSync(options)).toThrow(invalid);
    await expect(a.request('x', options)).rejects.toEqual(invalid);
    expect(String(b.receiveSync())).toBe('not lost');
  },
);

test.each([
  ['send', (/** @type {any} */ channel, /** @type {any} */ options) => channel.send('x', options)],
  ['receive', (/** @type {any} */ channel, /** @type {any} */ options) => channel.receive(options)],
  ['waitForRoom', (/** @type {any} */ channel, /** @type {any} */ options) => channel.waitForRoom(1, options)],
])('%s() knows the option signal, and no other', async (_name, call) => {
  const [a] = await pair();
  await expect(call(a, { timeout: 5 })).rejects.toThrow('Unknown option "timeout". Options: signal.');
});

test("a call's own options are checked too", async () => {
  const [a] = await pair();
  await expect(a.receive(5)).rejects.toEqual(invalid);
  await expect(a.receive({ signal: 'stop' })).rejects.toEqual(invalid);
  await expect(a.request('x', { timeout: -1 })).rejects.toEqual(invalid);
  expect(() => a.receiveSync({ timeout: 'soon' })).toThrow(invalid);
  expect(() => a.onRequest('handler')).toThrow(invalid);
  expect(() => a.tryRead(null)).toThrow(invalid);
  expect(() => a.toDuplex({ objectmode: true })).toThrow(invalid);
});
