'use strict';
// Authenticated channels: both sides must ask for one, everything works as on an ordinary channel, and a frame that is not what
// the peer signed, where it signed it, is refused.
const { spawn, spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { native } = require('../../lib/channel/native.js');
const { CLOSED_WORD, HEADER_BYTES, KIND, frameBytes } = require('../../lib/channel/layout.js');
const { AuthRingReader, AuthRingWriter } = require('../../lib/channel/ring-auth.js');
const { closing, crossings, errorWith, folder, newPath, pair, watch } = require('./support.js');
const { C_INTERFACE } = require('../native.js');
const { root } = require('../support.js');

const { channelPair, connect, listen, openChannel } = crossings;
const CAPACITY = 65536;
const SIGNED = { authenticate: true };

/** @param {number} size @param {number} seed */
function bytesOf(size, seed) {
  const bytes = Buffer.allocUnsafe(size);
  for (let i = 0; i < size; i++) bytes[i] = i * 7 + seed * 31;
  return bytes;
}

describe('an authenticated channel', () => {
  test('shows that it is one', async () => {
    const [a, b] = await pair(SIGNED);
    expect([a.authenticated, b.authenticated]).toEqual([true, true]);
    const [c] = await pair();
    expect(c.authenticated).toBe(false);
  });

  test('delivers messages of every size, received in every way', async () => {
    const [a, b] = await pair({ ...SIGNED, capacity: CAPACITY });
    const target = new Uint8Array(CAPACITY);
    const sizes = [...Array(140).keys(), 255, 256, 257, 1000, 4096, 5000, 20_000, 65_000, a.maxMessageBytes];
    for (const size of sizes) {
      const message = bytesOf(size, size);
      expect(a.trySend(message)).toBe(true);
      expect(b.tryReceive()).toEqual(message);
      expect(a.trySend(message)).toBe(true);
      expect(b.tryReceiveInto(target, 8 * (size % 2))).toBe(size);
      expect(Buffer.from(target.subarray(8 * (size % 2), 8 * (size % 2) + size))).toEqual(message);
      expect(a.trySend(message)).toBe(true);
      let seen = '';
      expect(b.tryRead((/** @type {any} */ cursor) => (seen = cursor.toString('hex')))).toBe(true);
      expect(seen).toBe(message.toString('hex'));
      expect(a.trySend(message)).toBe(true);
      expect(await b.receive()).toEqual(message);
    }
    const { messagesReceived, bytesReceived } = b.stats();
    expect({ messagesReceived, bytesReceived }).toEqual({
      messagesReceived: a.stats().messagesSent,
      bytesReceived: a.stats().bytesSent,
    });
    expect(bytesReceived).toBe(4 * sizes.reduce((sum, size) => sum + size, 0));
  });

  test('delivers bursts, batches and requests while the ring wraps around', async () => {
    const [a, b] = await pair({ ...SIGNED, capacity: CAPACITY });
    b.onRequest((/** @type {Buffer} */ request) => Buffer.concat([request, Buffer.from('!')]));
    /** @type {Promise<Buffer>[]} */ const answers = [];
    const sending = (async () => {
      for (let i = 0; i < 3000; i++) {
        await a.send(bytesOf(i % 200, i));
        if (i % 10 === 0) answers.push(a.request(`request ${i}`));
      }
    })();
    let i = 0;
    for await (const batch of b.batches()) {
      for (const message of batch) expect(message).toEqual(bytesOf(i % 200, i++));
      if (i === 3000) break;
    }
    await sending;
    const texts = (await Promise.all(answers)).map(String);
    expect(texts).toEqual(Array.from({ length: 300 }, (_, n) => `request ${n * 10}!`));
  });

  test('takes messages that are 8 bytes shorter, and says so', async () => {
    const [a] = await pair(SIGNED);
    const [plain] = await pair();
    expect(a.maxMessageBytes).toBe(plain.maxMessageBytes - 8);
    expect(() => a.trySend(new Uint8Array(a.maxMessageBytes + 1))).toThrow(errorWith('ERR_MESSAGE_TOO_LARGE'));
  });
});

describe('when only one side asks', () => {
  const message = expect.stringMatching(/option authenticate/);
  const refused = expect.objectContaining({ code: 'ERR_PROTOCOL', message });

  test.each([
    ['the server', SIGNED, {}],
    ['the client', {}, SIGNED],
  ])('%s, both learn why, and no channel is opened', async (_, ofServer, ofClient) => {
    const path = newPath();
    const server = closing(await listen(path, ofServer));
    await expect(connect(path, ofClient)).rejects.toEqual(refused);
    expect(server.refusals).toEqual({ count: 1, last: refused });
  });

  test.each([
    ['the first', SIGNED, {}],
    ['the second', {}, SIGNED],
  ])('%s end of a pair, both learn why', async (_, ofFirst, ofSecond) => {
    const { channel, port } = channelPair(ofFirst);
    const first = channel.catch((/** @type {unknown} */ error) => error);
    await expect(openChannel(port.take(), ofSecond)).rejects.toEqual(refused);
    expect(await first).toEqual(refused);
  });

  test('a peer of an earlier release, which sends no key, is refused, and refuses', async () => {
    const [ours, theirs] = native.socketPair();
    const region = native.createRegion(CAPACITY, false, false); // the hello of 16 bytes
    native.sendHello(theirs, region.handle);
    await expect(openChannel(ours, SIGNED)).rejects.toEqual(refused);
    native.releaseRegion(region.handle, region.buffer);
    native.closeFd(theirs);
  });

  test('the option takes true and false only', () => {
    expect(() => channelPair({ authenticate: 1 })).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
  });
});

/** A victim of an authenticated channel, and the memory that it reads, in this process's hands. */
async function victim() {
  const [ours, fd] = native.socketPair();
  const mine = native.createRegion(CAPACITY, false, true, true);
  native.sendHello(fd, mine.handle);
  const channel = closing(await openChannel(ours, { ...SIGNED, capacity: CAPACITY }));
  const theirs = /** @type {any} */ (native.receiveHello(fd, true, CAPACITY, true));
  return {
    channel,
    mine,
    theirs,
    bytes: new Uint8Array(mine.buffer),
    words: new Int32Array(mine.buffer),
    writer: new AuthRingWriter(mine, theirs, theirs.key),
    close() {
      native.closeFd(fd);
      native.releaseRegion(mine.handle, mine.buffer);
      native.releaseRegion(theirs.handle, theirs.buffer);
    },
  };
}

describe('a frame that its peer did not sign there is refused:', () => {
  const TEXT = 'twenty bytes of text';
  const corrupt = errorWith('ERR_PEER_CORRUPT');

  /** Write and publish a message, change the memory, and return what the victim receives. @param {(peer: any, at: number) => void} change */
  async function receiveAfter(change) {
    const peer = await victim();
    const at = HEADER_BYTES + (peer.writer.position & (CAPACITY - 1));
    peer.writer.write(Buffer.from(TEXT), KIND.MESSAGE);
    peer.writer.publish();
    change(peer, at);
    try {
      return String(peer.channel.tryReceive());
    } finally {
      peer.close();
    }
  }

  test('each single bit of the header, the tag and the payload', async () => {
    expect(await receiveAfter(() => {})).toBe(TEXT);
    const bits = (8 + 8 + TEXT.length) * 8;
    for (let bit = 0; bit < bits; bit++) {
      const received = receiveAfter(({ bytes }, at) => {
        bytes[at + (bit >> 3)] ^= 1 << (bit & 7);
      });
      await expect(received).rejects.toEqual(corrupt);
    }
  });

  test('a bit of the padding behind it means nothing', async () => {
    const received = receiveAfter(({ bytes }, at) => {
      bytes[at + 16 + TEXT.length] ^= 1;
    });
    expect(await received).toBe(TEXT);
  });

  test('a frame without room for a tag', async () => {
    for (const size of [0, 7]) {
      const received = receiveAfter(({ words }, at) => {
        words[at >> 2] = size + 1;
      });
      await expect(received).rejects.toEqual(corrupt);
    }
  });

  test('the same frame a second time, and two frames in each other’s places', async () => {
    const peer = await victim();
    const size = frameBytes(0, 8 + TEXT.length);
    const start = HEADER_BYTES;
    peer.writer.write(Buffer.from(TEXT), KIND.MESSAGE);
    peer.writer.publish();
    const first = peer.bytes.slice(start, start + size);
    expect(String(peer.channel.tryReceive())).toBe(TEXT);
    peer.bytes.set(first, start + size);
    expect(() => peer.channel.tryReceive()).toThrow(corrupt);
    peer.close();

    const swapped = await victim();
    for (const text of [TEXT, TEXT.toUpperCase()]) swapped.writer.write(Buffer.from(text), KIND.MESSAGE);
    swapped.writer.publish();
    const one = swapped.bytes.slice(start, start + size);
    swapped.bytes.copyWithin(start, start + size, start + 2 * size);
    swapped.bytes.set(one, start + size);
    expect(() => swapped.channel.tryReceive()).toThrow(corrupt);
    swapped.close();
  });

  test('the victim’s own frame, sent back to it', async () => {
    const peer = await victim();
    peer.channel.trySend(TEXT);
    const size = frameBytes(0, 8 + TEXT.length);
    peer.bytes.set(new Uint8Array(peer.theirs.buffer).subarray(HEADER_BYTES, HEADER_BYTES + size), HEADER_BYTES);
    expect(() => peer.channel.tryReceive()).toThrow(corrupt);
    peer.close();
  });

  test('a request whose number was changed', async () => {
    const peer = await victim();
    let handled = 0;
    peer.channel.onRequest(() => handled++);
    peer.writer.write(Buffer.from(TEXT), KIND.REQUEST, 1);
    peer.words[(HEADER_BYTES + 16) >> 2] = 2;
    peer.writer.publish();
    expect(() => peer.channel.tryReceive()).toThrow(corrupt);
    expect(peer.channel.state).toBe('peer-corrupt');
    expect(handled).toBe(0);
    peer.close();
  });

  test('memory that changes after the check changes nothing', async () => {
    const peer = await victim();
    peer.writer.write(Buffer.from(TEXT), KIND.MESSAGE);
    peer.writer.publish();
    let seen = '';
    peer.channel.tryRead((/** @type {any} */ cursor) => {
      peer.bytes.fill(0, HEADER_BYTES, HEADER_BYTES + 64);
      seen = cursor.toString();
    });
    expect(seen).toBe(TEXT);
    expect(peer.channel.tryReceive()).toBe(null);
    peer.close();
  });

  // The fast path checked the tag, and then the slow path checked it again: a peer could change the frame in between.
  test.each(['peek', 'peekMessage'])(
    'a frame that is right after its tag was wrong is refused by %s()',
    async (call) => {
      const peer = await victim();
      const { mine, theirs } = peer;
      const reader = /** @type {any} */ (new AuthRingReader(theirs, mine, theirs.key));
      const writer = new AuthRingWriter(mine, theirs, theirs.key);
      writer.write(Buffer.from(TEXT), KIND.MESSAGE);
      writer.publish();
      peer.bytes[HEADER_BYTES + 16] ^= 1;
      expect(reader.peekMessage()).toBe(-2);
      peer.bytes[HEADER_BYTES + 16] ^= 1;
      if (call === 'peek') expect(() => reader.peek()).toThrow(corrupt);
      else expect(reader.peekMessage()).toBe(-2);
      Atomics.store(peer.words, HEADER_BYTES >> 2, 0);
      expect(() => reader.peek()).toThrow(corrupt);
      peer.close();
    },
  );

  test('after the peer has closed, too, and the channel stays corrupt', async () => {
    const peer = await victim();
    peer.writer.write(Buffer.from(TEXT), KIND.MESSAGE);
    peer.writer.publish();
    peer.bytes[HEADER_BYTES + 16] ^= 1;
    Atomics.store(peer.words, CLOSED_WORD, 1);
    await expect(peer.channel.receive()).rejects.toEqual(corrupt);
    peer.bytes[HEADER_BYTES + 16] ^= 1;
    await expect(peer.channel.receive()).rejects.toEqual(corrupt);
    peer.close();
  });
});

describe('with a peer in C', () => {
  const program = join(folder, 'authenticated-peer');
  beforeAll(() => {
    const sources = ['test/authenticated-peer.c', ...C_INTERFACE];
    const flags = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-pthread', '-o', program];
    const { status, stderr } = spawnSync(process.env.CC || 'cc', [...flags, ...sources], {
      cwd: root,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
  });

  test('each side accepts what the other signs', async () => {
    const server = closing(await listen(newPath(), SIGNED));
    const echo = watch(spawn(program, [server.path, 'yes']));
    const channel = closing(await server.accept());
    for (let i = 0; i < 1000; i++) {
      const message = bytesOf(i < 300 ? i : (i * 37) % 5000, i);
      await channel.send(message);
      expect(message.equals(await channel.receive())).toBe(true);
    }
    await channel.close();
    expect(await echo.ended).toMatchObject({ status: 0 });
  });

  test.each([
    ['no', SIGNED],
    ['yes', {}],
  ])('if only one side asks (C: %s), both refuse', async (asks, options) => {
    const server = closing(await listen(newPath(), options));
    const { status, output } = await watch(spawn(program, [server.path, asks])).ended;
    expect({ status, output }).toEqual({ status: 1, output: expect.stringMatching(/only one side authenticates/) });
    expect(server.refusals).toEqual({ count: 1, last: errorWith('ERR_PROTOCOL') });
  });
});
