'use strict';
// A channel within this process, both ends by hand: what each call promises.
const { channelPair, openChannel, CrossingsError, structured } = require('../lib/index.js');
const { native } = require('../lib/channel/native.js');

/** @type {any[]} */
let open = [];

/** Both ends of a channel. @param {any} [left] @param {any} [right] @returns {Promise<any[]>} */
async function pair(left = {}, right = left) {
  const { channel, port } = channelPair(left);
  const other = await openChannel(port.take(), right);
  const ends = [await channel, other];
  open.push(...ends);
  return ends;
}

afterEach(async () => {
  await Promise.all(open.map((channel) => channel.close()));
  open = [];
});

const kinds = native.hasSharedBuffers ? [true, false] : [false];

describe.each(kinds)('with SharedArrayBuffer: %s', (sharedBuffers) => {
  test('messages of every kind of bytes arrive as the same bytes', async () => {
    const [a, b] = await pair({ sharedBuffers });
    const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 16);
    for (const message of [
      Buffer.from(bytes),
      bytes,
      bytes.buffer,
      new DataView(bytes.buffer),
      new Float64Array(bytes.buffer),
      new Uint16Array(bytes.buffer),
    ]) {
      a.trySend(message);
      expect(b.tryReceive()).toEqual(Buffer.from(bytes));
    }
    a.trySend(new DataView(bytes.buffer, 3, 5));
    expect(b.tryReceive()).toEqual(Buffer.from(bytes.subarray(3, 8)));
    a.trySend('grüße');
    expect(b.tryReceive().toString()).toBe('grüße');
    a.trySend('');
    expect(b.tryReceive()).toHaveLength(0);
    expect(b.tryReceive()).toBeNull();
  });

  test('every bit of arbitrary bytes survives, at every size and offset of the target', async () => {
    const [a, b] = await pair({ sharedBuffers });
    const target = Buffer.alloc(700);
    for (let size = 0; size < 600; size += size < 80 ? 1 : 37) {
      // All ones and odd patterns among them: as doubles these would be NaNs with a payload.
      const message = Buffer.from(Array.from({ length: size }, (_, i) => (i % 3 ? 0xff : (i * 151 + size) & 0xff)));
      for (const offset of [0, 1, 4, 8, 13, 16]) {
        a.trySend(message);
        target.fill(0x55);
        expect(b.tryReceiveInto(target, offset)).toBe(size);
        expect(target.subarray(offset, offset + size).equals(message)).toBe(true);
        expect(target[offset + size]).toBe(0x55);
      }
      a.trySend(message);
      expect(b.tryReceive().equals(message)).toBe(true);
    }
  });

  test('a ring that is full takes no more, and takes more once it was read', async () => {
    const [a, b] = await pair({ sharedBuffers, capacity: 65536 });
    const message = Buffer.alloc(56, 7);
    let sent = 0;
    while (a.trySend(message)) sent++;
    expect(sent).toBe(65536 / 64 - 1); // 64 bytes a frame; one place stays for the end mark
    for (let i = 0; i < sent; i++) expect(b.tryReceive()).toEqual(message);
    expect(b.tryReceive()).toBeNull();
    expect(a.trySend(message)).toBe(true);
  });

  test('the largest message passes, one byte more is refused by name', async () => {
    const [a, b] = await pair({ sharedBuffers, capacity: 65536 });
    expect(a.maxMessageBytes).toBe(65536 - 16);
    const largest = Buffer.alloc(a.maxMessageBytes, 3);
    for (let i = 0; i < 5; i++) {
      expect(a.trySend(largest)).toBe(true);
      expect(b.tryReceive().equals(largest)).toBe(true);
      expect(b.tryReceive()).toBeNull(); // tells that all was read
    }
    expect(() => a.trySend(Buffer.alloc(a.maxMessageBytes + 1))).toThrow(
      expect.objectContaining({ code: 'ERR_MESSAGE_TOO_LARGE' }),
    );
    await expect(a.send(Buffer.alloc(1 << 20))).rejects.toMatchObject({ code: 'ERR_MESSAGE_TOO_LARGE' });
  });

  test('positions wrap at 2 to the 32', async () => {
    const [a, b] = await pair({ sharedBuffers, capacity: 1 << 24 });
    const large = Buffer.alloc(6_000_000, 1);
    for (let passed = 0; passed < 2 ** 32 + 2 ** 27; passed += large.length) {
      large.writeUInt32LE(passed / large.length, 0);
      expect(a.trySend(large)).toBe(true);
      b.tryRead((/** @type {any} */ message) => {
        if (message.getUint32(0, true) !== passed / large.length) throw new Error(`wrong message at ${passed}`);
      });
      expect(b.tryReceive()).toBeNull();
    }
    a.trySend('past the wrap');
    expect(b.tryReceive().toString()).toBe('past the wrap');
  });

  test('no view of shared memory reaches the user', async () => {
    const [a, b] = await pair({ sharedBuffers });
    a.trySend('secret');
    b.tryRead((/** @type {any} */ cursor) => {
      for (const value of [...Object.values(cursor), ...Object.getOwnPropertySymbols(cursor)]) {
        expect(ArrayBuffer.isView(value)).toBe(false);
      }
      expect(Object.keys(cursor)).toEqual([]);
    });
    a.trySend('copy');
    const copy = b.tryReceive();
    copy.fill(0);
    a.trySend('next');
    expect(b.tryReceive().toString()).toBe('next');
  });

  test('after close every call throws ERR_CLOSED, and none takes the process down', async () => {
    const [a] = await pair({ sharedBuffers });
    await a.close();
    const closed = expect.objectContaining({ code: 'ERR_CLOSED' });
    for (const call of [
      () => a.trySend('x'),
      () => a.tryReceive(),
      () => a.tryReceiveInto(new Uint8Array(8)),
      () => a.tryRead(() => {}),
      () => a.receiveSync(),
      () => a.cork(),
      () => a.uncork(),
      () => a.onRequest(() => 'x'),
    ]) {
      expect(call).toThrow(closed);
    }
    await expect(a.send('x')).rejects.toEqual(closed);
    await expect(a.receive()).rejects.toEqual(closed);
    await expect(a.request('x')).rejects.toEqual(closed);
    expect(a.closed).toBe(true);
    expect(a.stats().messagesSent).toBe(0);
    await a.close();
  });
});

test('send waits for room, in order, and loses nothing', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  const all = Array.from({ length: 5000 }, (_, i) => a.send(`message ${i} ${'.'.repeat(i % 100)}`));
  for (let i = 0; i < 5000; i++) expect((await b.receive()).toString()).toBe(`message ${i} ${'.'.repeat(i % 100)}`);
  await Promise.all(all);
});

test('trySend does not overtake a send that waits', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  while (a.trySend(Buffer.alloc(1000)));
  const waiting = a.send(Buffer.alloc(30_000));
  expect(a.trySend('small')).toBe(false);
  while (b.tryReceive());
  await waiting;
  expect(a.trySend('small')).toBe(true);
});

test('receive waits, and is served in the order of the calls', async () => {
  const [a, b] = await pair();
  const both = Promise.all([b.receive(), b.receive()]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  a.trySend('first');
  a.trySend('second');
  expect((await both).map(String)).toEqual(['first', 'second']);
});

test.each(['spin-then-sleep', 'spin', 'sleep'])(
  'a channel that waits by %s is woken, again and again',
  async (wait) => {
    const [a, b] = await pair({ wait });
    for (let i = 0; i < 50; i++) {
      const next = b.receive();
      if (i % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
      a.trySend(`message ${i}`);
      expect((await next).toString()).toBe(`message ${i}`);
    }
  },
);

test('timers and I/O run while a channel waits, and while a burst is read', async () => {
  const [a, b] = await pair();
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  const waiting = b.receive();
  while (ticks < 5) await new Promise((resolve) => setImmediate(resolve));
  a.trySend('x');
  await waiting;
  ticks = 0;
  let read = 0;
  const reading = (async () => {
    for await (const message of b) {
      read += message.length > 0 ? 1 : 0;
      if (ticks >= 3) break;
    }
  })();
  while (ticks < 3) await a.send('burst');
  a.trySend('last');
  await reading;
  clearInterval(ticking);
  expect(read).toBeGreaterThan(1000);
});

test('corked messages show at once, uncorked', async () => {
  const [a, b] = await pair();
  a.cork();
  a.cork();
  for (let i = 0; i < 10; i++) a.trySend(String(i));
  a.uncork();
  expect(b.tryReceive()).toBeNull();
  a.uncork();
  for (let i = 0; i < 10; i++) expect(b.tryReceive().toString()).toBe(String(i));
});

test('a corked ring that is full is shown anyway, so that room can come', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  a.cork();
  while (a.trySend(Buffer.alloc(1000)));
  expect(b.tryReceive()).toHaveLength(1000);
});

describe('the cursor', () => {
  test('reads numbers, text and copies where the message lies', async () => {
    const [a, b] = await pair();
    const message = Buffer.alloc(40);
    message.writeInt32LE(-7, 0);
    message.writeDoubleBE(Math.PI, 8);
    message.writeBigUInt64LE(2n ** 63n, 16);
    message.write('text', 24);
    a.trySend(message);
    const seen = b.tryRead((/** @type {any} */ cursor) => {
      expect(cursor.length).toBe(40);
      expect(cursor.getInt32(0, true)).toBe(-7);
      expect(cursor.getFloat64(8)).toBe(Math.PI);
      expect(cursor.getBigUint64(16, true)).toBe(2n ** 63n);
      expect(cursor.toString('utf8', 24, 28)).toBe('text');
      const part = Buffer.alloc(4);
      expect(cursor.copy(part, 1, 24)).toBe(3);
      expect(part.toString('latin1', 1)).toBe('tex');
      expect(() => cursor.getUint8(40)).toThrow(RangeError);
      expect(() => cursor.copy(part, 0, 0, 41)).toThrow(CrossingsError);
    });
    expect(seen).toBe(true);
    expect(b.tryRead(() => {})).toBe(false);
  });

  test('is good only inside its function', async () => {
    const [a, b] = await pair();
    let kept = /** @type {any} */ (null);
    a.trySend('x');
    b.tryRead((/** @type {any} */ cursor) => {
      kept = cursor;
    });
    expect(() => kept.getUint8(0)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
    expect(() => kept.toString()).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  });

  test('takes its message even when its function throws', async () => {
    const [a, b] = await pair();
    a.trySend('bad');
    a.trySend('good');
    expect(() => b.tryRead(() => JSON.parse('{'))).toThrow(SyntaxError);
    expect(b.tryReceive().toString()).toBe('good');
  });

  test('survives a close inside its function', async () => {
    const [a, b] = await pair();
    a.trySend('x');
    b.tryRead(() => b.close());
    expect(b.closed).toBe(true);
  });
});

describe('requests', () => {
  test('are answered, each its own, in any order', async () => {
    const [a, b] = await pair();
    b.onRequest(async (/** @type {Buffer} */ request) => {
      const ms = Number(request.toString());
      await new Promise((resolve) => setTimeout(resolve, ms));
      return `waited ${ms}`;
    });
    const answers = await Promise.all([30, 1, 15].map((ms) => a.request(String(ms))));
    expect(answers.map(String)).toEqual(['waited 30', 'waited 1', 'waited 15']);
  });

  test('pass each other both ways, and plain messages between them', async () => {
    const [a, b] = await pair();
    a.onRequest((/** @type {Buffer} */ request) => `a:${request}`);
    b.onRequest((/** @type {Buffer} */ request) => `b:${request}`);
    a.trySend('plain');
    const [fromB, fromA] = await Promise.all([a.request('1'), b.request('2')]);
    expect([String(fromB), String(fromA)]).toEqual(['b:1', 'a:2']);
    expect((await b.receive()).toString()).toBe('plain');
  });

  test('whose handler throws are rejected with its words', async () => {
    const [a, b] = await pair();
    b.onRequest(() => {
      throw new Error('no such thing');
    });
    await expect(a.request('x')).rejects.toMatchObject({ code: 'ERR_REQUEST_FAILED', message: 'no such thing' });
  });

  test('to a peer that answers none are rejected', async () => {
    const [a, b] = await pair();
    const asked = a.request('x');
    const reading = b.receive().catch(() => {});
    await expect(asked).rejects.toMatchObject({ code: 'ERR_REQUEST_FAILED' });
    await b.close();
    await reading;
  });

  test('time out, abort, and end with the channel', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    await expect(a.request('x', { timeout: 10 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    const stop = new AbortController();
    const aborted = a.request('x', { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const left = a.request('x');
    await a.close();
    await expect(left).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  test('end when the peer closes', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const left = a.request('x');
    await b.close();
    await expect(left).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });
});

describe('aborting', () => {
  test('a receive leaves the message for the next', async () => {
    const [a, b] = await pair();
    const stop = new AbortController();
    const aborted = b.receive({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    a.trySend('kept');
    expect((await b.receive()).toString()).toBe('kept');
  });

  test('a send sends nothing', async () => {
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

  test('beforehand rejects at once', async () => {
    const [a] = await pair();
    const signal = AbortSignal.abort(new Error('already'));
    await expect(a.receive({ signal })).rejects.toThrow('already');
    await expect(a.send('x', { signal })).rejects.toThrow('already');
    await expect(a.request('x', { signal })).rejects.toThrow('already');
  });
});

describe('closing', () => {
  test('leaves what was sent to be read, then ends', async () => {
    const [a, b] = await pair();
    for (let i = 0; i < 100; i++) a.trySend(String(i));
    await a.close();
    const read = [];
    for await (const message of b) read.push(String(message));
    expect(read).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
    expect(await b.receive()).toBeNull();
    expect(b.tryReceive()).toBeNull();
    expect(() => b.trySend('x')).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  });

  test('rejects those who wait, and ends a loop quietly', async () => {
    const [a] = await pair({ capacity: 65536 });
    const received = a.receive();
    while (a.trySend(Buffer.alloc(1000)));
    const sent = a.send(Buffer.alloc(30_000));
    const loop = (async () => {
      for await (const _ of a);
      return 'ended';
    })();
    await a.close();
    await expect(received).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await expect(sent).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    expect(await loop).toBe('ended');
  });

  test('rejects a peer that waits for room', async () => {
    const [a, b] = await pair({ capacity: 65536 });
    while (a.trySend(Buffer.alloc(1000)));
    const sent = a.send(Buffer.alloc(30_000));
    await b.close();
    await expect(sent).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  test('happens by Symbol.dispose and Symbol.asyncDispose', async () => {
    const [a, b] = await pair();
    a[Symbol.dispose]();
    await b[Symbol.asyncDispose]();
    expect([a.closed, b.closed]).toEqual([true, true]);
  });
});

describe('receiveSync', () => {
  test('gives what is there, times out, and ends', async () => {
    const [a, b] = await pair();
    a.trySend('there');
    expect(b.receiveSync().toString()).toBe('there');
    expect(() => b.receiveSync({ timeout: 5 })).toThrow(expect.objectContaining({ code: 'ERR_TIMEOUT' }));
    await a.close();
    expect(b.receiveSync()).toBeNull();
  });
});

test('structured values pass with the ready-made option', async () => {
  const [a, b] = await pair({ ...structured });
  const value = {
    list: [1, 2n, new Date(0)],
    map: new Map([['k', new Set([1])]]),
    bytes: new Uint8Array([1, 2]),
    nothing: undefined,
  };
  a.trySend(value);
  expect(b.tryReceive()).toEqual(value);
  b.onRequest((/** @type {any} */ { x }) => ({ twice: x * 2 }));
  expect(await a.request({ x: 21 })).toEqual({ twice: 42 });
});

test('stats count what happened', async () => {
  const [a, b] = await pair({ wait: 'sleep' });
  const waiting = b.receive();
  await new Promise((resolve) => setTimeout(resolve, 10));
  a.trySend('12345');
  await waiting;
  expect(a.stats()).toMatchObject({ messagesSent: 1, bytesSent: 5, doorbellsRung: 1, messagesReceived: 0 });
  expect(b.stats()).toMatchObject({ messagesReceived: 1, bytesReceived: 5, doorbellsAnswered: 1 });
});

describe('a peer that lies', () => {
  /** The bytes of an end's own region, as no user could get at them. @param {(words: Int32Array) => void} lie */
  async function liar(lie) {
    const [mine, other] = native.socketPair();
    const channel = openChannel(mine);
    const region = native.createRegion(1 << 20, false, false);
    native.sendHello(other, region.handle);
    const victim = await channel;
    open.push(victim);
    lie(new Int32Array(region.buffer));
    return victim;
  }

  test.each([
    ['a frame larger than the ring', 0x7fffffff],
    ['a frame of negative size', -5],
    ['a frame one byte too large', (1 << 20) - 16 + 2],
  ])('about %s is found out, and every call says so', async (_, signal) => {
    const victim = await liar((words) => {
      words[4096 / 4] = signal;
    });
    const corrupt = expect.objectContaining({ code: 'ERR_PEER_CORRUPT' });
    const waiting = victim.receive();
    await expect(waiting).rejects.toEqual(corrupt);
    expect(() => victim.tryReceive()).toThrow(corrupt);
    expect(() => victim.trySend('x')).toThrow(corrupt);
  });

  test('about the kind of a frame is found out', async () => {
    const victim = await liar((words) => {
      words[4096 / 4 + 1] = 99;
      words[4096 / 4] = 9;
    });
    expect(() => victim.tryReceive()).toThrow(expect.objectContaining({ code: 'ERR_PEER_CORRUPT' }));
  });

  test.each([-8, 3, 0x7ffffff8])('about how far it has read (%i) is found out', async (position) => {
    const victim = await liar((words) => {
      words[32] = position;
    });
    expect(() => {
      while (victim.trySend(Buffer.alloc(8000)));
    }).toThrow(expect.objectContaining({ code: 'ERR_PEER_CORRUPT' }));
  });
});

describe('hostile arguments are refused with a code and a sentence', () => {
  const bad = expect.objectContaining({
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
  ])('trySend(%p)', async (message) => {
    const [a] = await pair();
    expect(() => a.trySend(message)).toThrow(bad);
    await expect(a.send(message)).rejects.toEqual(bad);
    await expect(a.request(message)).rejects.toEqual(bad);
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
  ])('tryReceiveInto(%p, %p) keeps the message', async (target, offset) => {
    const [a, b] = await pair();
    a.trySend('kept');
    expect(() => b.tryReceiveInto(/** @type {any} */ (target), /** @type {any} */ (offset))).toThrow(bad);
    expect(b.tryReceive().toString()).toBe('kept');
  });

  test('a target that is too small keeps the message', async () => {
    const [a, b] = await pair();
    a.trySend('too long for it');
    for (const [size, offset] of [
      [4, 0],
      [15, 1],
      [15, 99],
      [0, 0],
    ]) {
      expect(() => b.tryReceiveInto(Buffer.alloc(size), offset)).toThrow(
        expect.objectContaining({ code: 'ERR_MESSAGE_TOO_LARGE' }),
      );
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
  ])('channelPair(%p)', (options) => {
    expect(() => channelPair(/** @type {any} */ (options))).toThrow(bad);
  });

  test.each([[-1], [1.5], ['3'], [null], [undefined], [0], [99999]])('openChannel(%p)', async (fd) => {
    await expect(openChannel(/** @type {any} */ (fd))).rejects.toEqual(bad);
  });

  test('options of calls', async () => {
    const [a] = await pair();
    await expect(a.receive(5)).rejects.toEqual(bad);
    await expect(a.receive({ signal: 'stop' })).rejects.toEqual(bad);
    await expect(a.request('x', { timeout: -1 })).rejects.toEqual(bad);
    expect(() => a.receiveSync({ timeout: 'soon' })).toThrow(bad);
    expect(() => a.onRequest('handler')).toThrow(bad);
    expect(() => a.tryRead(null)).toThrow(bad);
    expect(() => a.toDuplex({ objectmode: true })).toThrow(bad);
  });
});
