'use strict';
// What a peer can make this side hold: each test is an attack that made it hold hundreds of megabytes, or work for seconds.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { KIND } = require('../../lib/channel/layout.js');
const { native } = require('../../lib/channel/native.js');
const { AuthRingReader, AuthRingWriter } = require('../../lib/channel/ring-auth.js');
const { channelPair } = require('../../lib/index.js');
const { CAPACITY, rawPeer } = require('./raw-peer.js');
const { pause, runScript } = require('./support.js');
const { root } = require('../support.js');

const EMPTY = new Uint8Array(0);
const SMALL = new Uint8Array(1);
const FILLER = new Uint8Array(1000); // takes its memory from a slab
const FILLERS = 60; // which fill most of one, and of the ring

/** @typedef {Awaited<ReturnType<typeof rawPeer>>} Peer */

/** @param {Peer} peer @param {number} kind @param {number} number @param {Uint8Array} payload */
async function send(peer, kind, number, payload) {
  while (!peer.send(kind, number, payload)) await pause(0);
}

/**
 * Send a frame that the test is about, then requests that are answered. An honest peer keeps to its window: it waits for the answers.
 * @param {Peer} peer @param {number} kind @param {number} first number of the first one
 */
async function sendAmongFillers(peer, kind, first) {
  await send(peer, kind, first, SMALL);
  for (let i = 1; i <= FILLERS; i++) await send(peer, KIND.REQUEST, first + i, FILLER);
  for (let answers = 0; answers < FILLERS; ) {
    if (peer.read() >= 0) answers++;
    else await pause(0);
  }
}

/** The memory behind some Buffers, in bytes. @param {Buffer[]} buffers */
const memoryOf = (buffers) =>
  [...new Set(buffers.map(({ buffer }) => buffer))].reduce((bytes, { byteLength }) => bytes + byteLength, 0);

test('requests that stay open keep their own memory, and not that of those between them', async () => {
  const OPEN = 300;
  const peer = await rawPeer();
  /** @type {Buffer[]} */ const kept = [];
  peer.a.onRequest((/** @type {Buffer} */ request) => {
    if (request.length !== SMALL.length) return EMPTY;
    kept.push(request);
    return new Promise(() => {});
  });
  for (let i = 0; i < OPEN; i++) await sendAmongFillers(peer, KIND.REQUEST, 1 + i * (1 + FILLERS));
  while (kept.length < OPEN) await pause(1);
  expect(memoryOf(kept)).toBeLessThan(100 * FILLERS * FILLER.length);
  await peer.close();
});

test('messages in the inbox keep their own memory, and not that of the requests between them', async () => {
  const MESSAGES = 100;
  const peer = await rawPeer();
  peer.a.onRequest(() => EMPTY);
  for (let i = 0; i < MESSAGES; i++) await sendAmongFillers(peer, KIND.MESSAGE, 1 + i * (1 + FILLERS));
  /** @type {Buffer[]} */ const messages = [];
  while (messages.length < MESSAGES) messages.push(/** @type {Buffer} */ (await peer.a.receive()));
  expect(memoryOf(messages)).toBeLessThan(3 * FILLERS * FILLER.length);
  await peer.close();
});

test('taking messages from the inbox moves those that are left only now and then', async () => {
  const MESSAGES = 30_000;
  const peer = await rawPeer({ capacity: 64 * CAPACITY });
  peer.a.onRequest(() => EMPTY);
  for (let i = 0; i < MESSAGES; i++) await send(peer, KIND.MESSAGE, 0, SMALL);
  while (peer.a.stats().messagesReceived < MESSAGES) await pause(1);
  let moved = 0;
  const { slice } = Array.prototype;
  const spy = jest.spyOn(Array.prototype, 'slice').mockImplementation(
    /** @this {any} */ function count(...range) {
      const part = slice.apply(this, range);
      moved += part.length;
      return part;
    },
  );
  for (let i = 0; i < MESSAGES; i++) if (peer.a.tryReceive() === null) throw new Error(`no message ${i}`);
  spy.mockRestore();
  expect(moved).toBeLessThan(2 * MESSAGES);
  await peer.close();
});

test('a response to a request that has not been sent is ignored', async () => {
  const peer = await rawPeer();
  while (peer.a.trySend(FILLER) /* fill the ring */);
  let response = null;
  const answered = peer.a.request(FILLER).then((/** @type {Buffer} */ bytes) => {
    response = String(bytes);
  });
  peer.send(KIND.RESPONSE, 1, Buffer.from('too early'));
  peer.send(KIND.MESSAGE, 0, SMALL);
  await peer.a.receive(); // behind the response
  await pause(1);
  expect(response).toBeNull();
  for (let sent = 0; sent < 1; ) {
    if (peer.read() === 1) sent++;
    else await pause(0);
  }
  peer.send(KIND.RESPONSE, 1, Buffer.from('in time'));
  await answered;
  expect(response).toBe('in time');
  await peer.close();
});

test('while many responses wait for room, further requests wait', async () => {
  const REQUESTS = 100;
  const response = new Uint8Array(16_384);
  const peer = await rawPeer();
  let calls = 0;
  peer.a.onRequest(() => {
    calls++;
    return response;
  });
  for (let number = 1; number <= REQUESTS; number++) await send(peer, KIND.REQUEST, number, EMPTY);
  await pause(20);
  expect(calls).toBeLessThanOrEqual((2 * CAPACITY) / response.length + 1);
  const numbers = [];
  while (numbers.length < REQUESTS) {
    const number = peer.read();
    if (number >= 0) numbers.push(number);
    else await pause(0);
  }
  expect(numbers).toEqual(Array.from({ length: REQUESTS }, (_, index) => index + 1));
  expect(calls).toBe(REQUESTS);
  await peer.close();
});

test('an authenticated reader gives back the memory of a large message', () => {
  const LARGE = 3 * 2 ** 20;
  const key = [1, 2, 3, 4];
  const mine = native.createRegion(2 ** 22, false, true);
  const theirs = native.createRegion(2 ** 22, false, true);
  const writer = new AuthRingWriter(mine, theirs, key);
  const reader = new AuthRingReader(theirs, mine, key);
  for (let i = 0; i < 3; i++) {
    for (const size of [LARGE, 100]) {
      expect(writer.write(new Uint8Array(size).fill(i), KIND.MESSAGE)).toBe(true);
      writer.publish();
      expect(reader.peek()).toBe(size);
      expect(reader.sourceBytes[reader.payloadOffset() + size - 1]).toBe(i);
      expect(reader.sourceBytes.length).toBeLessThan(1.1 * LARGE);
      reader.consume(size);
      expect(reader.sourceBytes.length).toBeLessThanOrEqual(2 ** 20);
    }
  }
  for (const { handle, buffer } of [mine, theirs]) native.releaseRegion(handle, buffer);
});

// The pages that replace a SharedArrayBuffer's, until it is collected, counted against `ulimit -d`. At this limit V8 ends the process.
test("a peer's region takes no memory that is counted, once the channel is closed", async () => {
  const LARGE = 2 ** 28;
  const dataBytes = () => 1024 * Number(/VmData:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  const { channel, port } = channelPair({ capacity: LARGE });
  const fd = native.redeemTicket(port.take());
  const mine = native.createRegion(CAPACITY, false, true);
  native.sendHello(fd, mine.handle);
  const a = await channel;
  const peer = /** @type {any} */ (native.receiveHello(fd, true));
  const before = dataBytes();
  native.releaseRegion(peer.handle, peer.buffer);
  expect(dataBytes() - before).toBeLessThan(LARGE);
  native.closeFd(fd);
  await a.close();
  native.releaseRegion(mine.handle, mine.buffer);
});

// A peer that ended left 24 rings of 256 MiB, and their pages were freed in one turn of the event loop: it took a second.
// A peer can make that take long although its ring is small: by pages beyond the end of its file, and by attributes.
test.each([2 ** 24, 2 ** 16])('the pages of a region are freed by another thread: capacity %i', (capacity) => {
  const folder = mkdtempSync(join(tmpdir(), 'held-'));
  const file = join(folder, 'recording.json');
  const script = `
    const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
    for (const shared of [false, true]) {
      const { handle, buffer } = native.createRegion(${capacity}, false, shared);
      native.releaseRegion(handle, buffer);
    }
    setTimeout(() => {}, 50);`;
  const command = ['trace', '--no-lines', '--json', file, '--', process.execPath, '-e', script];
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'server', 'cli.js'), ...command], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  /** @type {any[]} */ const events = JSON.parse(readFileSync(file, 'utf8')).events;
  rmSync(folder, { recursive: true });
  const size = String(2 * capacity + 4096);
  const mapped = events.filter(({ name, args }) => name === 'mmap' && args[1] === size && args[2] === 'PROT_NONE');
  // The first call at the same address afterwards: later ones may free the zero pages that have replaced it.
  const freed = mapped.map(({ end, result }) =>
    events.find(
      ({ t, name, args }) =>
        t > end && args[0] === result && args[1] === size && (name === 'munmap' || args[3].includes('MAP_ANONYMOUS')),
    ),
  );
  expect(mapped.map(({ pid, tid }) => tid === pid)).toEqual([true, true]);
  expect(freed.map(({ pid, tid }) => tid === pid)).toEqual([false, false]);
});

test('a closed channel holds no message that it has sent', async () => {
  const script = `
    const { crossings } = require(${JSON.stringify(require.resolve('./transport.js'))});
    (async () => {
      const { channel, port } = crossings.channelPair();
      const [a, b] = await Promise.all([channel, crossings.openChannel(port.take())]);
      const sent = (() => {
        const message = Buffer.alloc(100_000);
        a.trySend(message);
        return new WeakRef(message);
      })();
      await a.close();
      await b.close();
      await new Promise(setImmediate);
      gc();
      console.log(sent.deref() === undefined, a.state);
    })();`;
  const { status, output } = await runScript(script, ['--expose-gc']).ended;
  expect({ status, output: output.trim() }).toEqual({ status: 0, output: 'true closed' });
});
