'use strict';
// The Buffer and the promise that are made before the message arrives (slab.js, incoming.js), and what may arrive instead. The
// peer acts in this thread, at the moment of the first look.
const { KIND } = require('../../lib/channel/layout.js');
const { Pacer } = require('../../lib/channel/pacer.js');
const { newMemory, Slab } = require('../../lib/channel/slab.js');
const turn = require('../../lib/channel/turn.js');
const { closedByHook, rawPeer } = require('./raw-peer.js');
const { errorWith } = require('./support.js');

afterEach(() => jest.restoreAllMocks());

describe('memory that is prepared', () => {
  const source = new BigInt64Array(256);
  const bytes = new Uint8Array(source.buffer);
  const reader = {
    sourceBytes: bytes,
    /** @param {number} from @param {number} size @param {BigInt64Array} longs @param {number} to */
    copyLongs(from, size, longs, to) {
      for (let i = 0; i < size >> 3; i++) longs[(to >> 3) + i] = source[(from >> 3) + i];
    },
  };

  /** A copy of a payload whose bytes are all the same. @param {any} slab @param {number} size @param {number} skip @param {number} value */
  function copy(slab, size, skip, value, from = reader) {
    bytes.fill(value);
    return slab.copy(from, 0, size, skip);
  }

  /** @param {Buffer} buffer @param {number} length @param {number} value */
  const expectAll = (buffer, length, value) => expect(buffer).toEqual(Buffer.alloc(length, value));

  test('is what the next copy returns, if its payload is like the last one', () => {
    const slab = new Slab();
    expect(slab.prepare()).toBeNull(); // no memory yet
    copy(slab, 32, 4, 1);
    const prepared = slab.prepare();
    expect(slab.prepare()).toBe(prepared);
    expect(copy(slab, 32, 4, 2)).toBe(prepared);
    expectAll(/** @type {Buffer} */ (prepared), 28, 2);
  });

  test.each([
    ['another size', 40, 4],
    ['no bytes', 0, 0],
    ['another number of skipped bytes', 32, 0],
    ['its own memory', 2000, 4],
  ])('is not used for a payload with %s', (_, size, skip) => {
    const slab = new Slab();
    copy(slab, 32, 4, 1);
    const prepared = slab.prepare();
    const other = copy(slab, size, skip, 2);
    expect(other).not.toBe(prepared);
    expectAll(other, size - skip, 2);
    expectAll(copy(slab, size, skip, 3), size - skip, 3);
    slab.prepare();
    expectAll(copy(slab, size, skip, 4), size - skip, 4);
  });

  test('is shared by no two messages', () => {
    const slab = new Slab();
    const kept = [];
    for (let i = 0; i < 5000; i++) {
      if (i % 3 !== 0) slab.prepare();
      const size = [8, 8, 0, 16, 4, 1024][((i * 7919) >> 4) % 6];
      const skip = size >= 4 && i % 5 === 0 ? 4 : 0;
      kept.push({ message: copy(slab, size, skip, i), length: size - skip, value: i });
    }
    const torn = kept.filter(({ message, length, value }) => !message.equals(Buffer.alloc(length, value)));
    expect(torn).toEqual([]);
  });

  test('is given up when a vm timeout ends the copying', () => {
    const slab = new Slab();
    copy(slab, 32, 0, 1);
    slab.prepare();
    const ended = () => {
      throw new Error('ended');
    };
    expect(() => copy(slab, 32, 0, 2, { ...reader, copyLongs: ended })).toThrow('ended');
    expectAll(copy(slab, 32, 0, 3), 32, 3);
  });

  const { transfer } = /** @type {any} */ (ArrayBuffer.prototype);

  /** Not before Node 22, and no longer in Node 26. */
  function canTransfer() {
    try {
      return transfer.call(newMemory(8)).byteLength === 8;
    } catch {
      return false;
    }
  }

  (canTransfer() ? test : test.skip)('is given up when a receiver transfers the memory', () => {
    const slab = new Slab();
    transfer.call(copy(slab, 32, 0, 1).buffer);
    expect(slab.prepare()).toBeNull();
    const next = copy(slab, 32, 0, 2);
    slab.prepare();
    transfer.call(next.buffer);
    expectAll(copy(slab, 32, 0, 3), 32, 3);
  });
});

describe('a receive() that polls', () => {
  /** @type {Awaited<ReturnType<typeof rawPeer>>} */ let peer;
  /** @type {any} */ let a;

  /** @param {string} text @param {number} [kind] */
  const send = (text, kind = Number(KIND.MESSAGE)) => peer.send(kind, 99, Buffer.from(text));

  /** @param {object} [options] */
  async function open(options = {}) {
    peer = await rawPeer({ wait: 'spin-then-sleep', ...options });
    a = peer.a;
    jest.spyOn(Pacer.prototype, 'mayLook', 'get').mockReturnValue(true);
    jest.spyOn(turn, 'take').mockReturnValue(true);
    send('first');
    await a.receive();
  }

  /** Make a call whose peer does something at the first look. @template T @param {() => T} call @param {() => void} then @returns {T} */
  function duringLook(call, then) {
    const look = jest.spyOn(Pacer.prototype, 'look').mockImplementationOnce((end) => {
      then();
      return end.isReady();
    });
    const result = call();
    expect(look).toHaveBeenCalled();
    look.mockRestore();
    return result;
  }

  afterEach(() => peer.close());

  test('gets messages of any size, each in its own memory', async () => {
    await open();
    const texts = ['a', 'bb', 'bb', '', 'ccc', 'ccc', 'd'.repeat(2000), 'ccc', 'e', 'e'];
    const received = [];
    for (const text of texts)
      received.push(
        await duringLook(
          () => a.receive(),
          () => send(text),
        ),
      );
    const iterator = a.messages();
    for (const text of texts)
      received.push(
        (
          await duringLook(
            () => iterator.next(),
            () => send(text),
          )
        ).value,
      );
    expect(received.map(String)).toEqual([...texts, ...texts]);
    expect(received.every(Buffer.isBuffer)).toBe(true);
  });

  test('waits on if a request comes, or nothing', async () => {
    await open();
    const nothing = () => {};
    for (const then of [() => send('query', KIND.REQUEST), nothing, nothing]) {
      const message = duringLook(() => a.receive(), then);
      send('later');
      expect(String(await message)).toBe('later');
    }
  });

  test('gets what decode() returns, null too', async () => {
    await open({ decode: (/** @type {Buffer} */ bytes) => (bytes.length === 0 ? null : `<${bytes}>`) });
    const values = [];
    for (const text of ['abcde', 'abcde', '', '', 'x'])
      values.push(
        await duringLook(
          () => a.receive(),
          () => send(text),
        ),
      );
    expect(values).toEqual(['<abcde>', '<abcde>', null, null, '<x>']);
  });

  test('fills batches with messages that are there, and no others', async () => {
    await open();
    const batches = a.batches();
    const { value } = await duringLook(
      () => batches.next(),
      () => {
        send('first');
        send('other');
      },
    );
    expect(value.map(String)).toEqual(['first', 'other']);
    expect(a.tryReceive()).toBeNull();
  });

  test.each([
    ['polls', true],
    ['sleeps', false],
  ])('is rejected if a hook closes the channel while the promise is made, before it %s', async (_, mayLook) => {
    await open();
    jest.spyOn(Pacer.prototype, 'mayLook', 'get').mockReturnValue(mayLook);
    await expect(closedByHook(a, () => a.receive())).rejects.toEqual(errorWith('ERR_CLOSED'));
  });
});
