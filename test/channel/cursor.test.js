'use strict';
// tryRead: reading a message in place, without copying it.
const { crossings, errorWith, pair, pause } = require('./support.js');

test('a cursor reads numbers, text and byte ranges in place', async () => {
  const [a, b] = await pair();
  const message = Buffer.alloc(40);
  message.writeInt32LE(-7, 0);
  message.writeDoubleBE(Math.PI, 8);
  message.writeBigUInt64LE(2n ** 63n, 16);
  message.write('text', 24);
  a.trySend(message);
  const found = b.tryRead((/** @type {any} */ cursor) => {
    expect(cursor.length).toBe(40);
    expect(cursor.getInt32(0, true)).toBe(-7);
    expect(cursor.getFloat64(8)).toBe(Math.PI);
    expect(cursor.getBigUint64(16, true)).toBe(2n ** 63n);
    expect(cursor.toString('utf8', 24, 28)).toBe('text');
    const part = Buffer.alloc(4);
    expect(cursor.copy(part, 1, 24)).toBe(3);
    expect(part.toString('latin1', 1)).toBe('tex');
    expect(() => cursor.getUint8(40)).toThrow(RangeError);
    expect(() => cursor.copy(part, 0, 0, 41)).toThrow(crossings.CrossingsError);
    for (const start of [-1, part.length + 1, 1.5, Number.NaN])
      expect(() => cursor.copy(part, start)).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
  });
  expect(found).toBe(true);
});

test('a cursor copies into bytes of another realm', async () => {
  const [a, b] = await pair();
  const target = require('node:vm').runInNewContext('new Uint8Array(2)');
  a.trySend('ab');
  b.tryRead((/** @type {any} */ cursor) => cursor.copy(target));
  expect([...target]).toEqual([97, 98]);
});

test('tryRead returns false when there is no message', async () => {
  const [, b] = await pair();
  expect(b.tryRead(() => {})).toBe(false);
});

test('a cursor throws ERR_CLOSED after its callback has returned', async () => {
  const [a, b] = await pair();
  let escaped = /** @type {any} */ (null);
  a.trySend('x');
  b.tryRead((/** @type {any} */ cursor) => {
    escaped = cursor;
  });
  expect(() => escaped.getUint8(0)).toThrow(errorWith('ERR_CLOSED'));
  expect(() => escaped.toString()).toThrow(errorWith('ERR_CLOSED'));
});

// It read zeros: the memory had been released.
test.each(['in the ring', 'in the inbox'])(
  'a cursor of a message %s throws ERR_CLOSED after close()',
  async (where) => {
    const [a, b] = await pair();
    a.trySend('x');
    if (where === 'in the inbox') b.request('y').catch(() => {}); // looks for the response behind the message
    await pause(0);
    let read = false;
    b.tryRead((/** @type {any} */ cursor) => {
      b.close();
      expect(() => cursor.getUint8(0)).toThrow(errorWith('ERR_CLOSED'));
      expect(() => cursor.toString()).toThrow(errorWith('ERR_CLOSED'));
      expect(() => cursor.copy(Buffer.alloc(1))).toThrow(errorWith('ERR_CLOSED'));
      read = true;
    });
    expect(read).toBe(true);
  },
);

test('a message is consumed even when the callback throws', async () => {
  const [a, b] = await pair();
  a.trySend('bad');
  a.trySend('good');
  expect(() => b.tryRead(() => JSON.parse('{'))).toThrow(SyntaxError);
  expect(b.tryReceive().toString()).toBe('good');
});

test('the callback may close the channel', async () => {
  const [a, b] = await pair();
  a.trySend('x');
  b.tryRead(() => b.close());
  expect(b.state).toBe('closed');
});

// A message that was set aside while a request was awaited was read as if nothing else could be received in the callback.
test.each([
  ['in the ring', false],
  ['that was set aside', true],
])('inside the callback for a message %s, the other calls that receive without waiting throw', async (_, setAside) => {
  const [a, b] = await pair();
  for (const message of ['1', '2', '3']) a.trySend(message);
  a.onRequest((/** @type {Buffer} */ message) => message);
  if (setAside) await b.request('pass by');
  const refused = errorWith('ERR_INVALID_ARGUMENT');
  b.tryRead(() => {
    for (const call of [
      () => b.tryReceive(),
      () => b.tryReceiveInto(Buffer.alloc(8)),
      () => b.tryRead(() => {}),
      () => b.receiveSync(),
    ])
      expect(call).toThrow(refused);
  });
  expect([b.tryReceive(), b.tryReceive()].map(String)).toEqual(['2', '3']);
});
