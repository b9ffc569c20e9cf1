'use strict';
// Each of these once failed. The names say what was broken.
const { spawnSync } = require('node:child_process');
const { performance } = require('node:perf_hooks');
const { channelPair, connect, listen, openChannel } = /** @type {any} */ (require('../lib/index.js'));
const { native } = require('../lib/channel/native.js');
const { root } = require('./support.js');

/** @type {any[]} */
let open = [];
afterEach(async () => {
  await Promise.all(open.map((thing) => thing.close()));
  open = [];
});

/** @param {any} [options] */
async function pair(options) {
  const { channel, port } = channelPair(options);
  const ends = [await openChannel(port.take(), options), await channel];
  open.push(...ends);
  return ends;
}

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const waits = ['sleep', 'spin-then-sleep', 'spin'];

test('an answer that finds its requester gone ended the process', async () => {
  const [a, b] = await pair();
  b.onRequest(() => pause(30));
  const asked = expect(a.request('x')).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await pause(10);
  await a.close();
  await asked;
  await pause(50); // an unhandled rejection would fail this test
});

test.each(waits)('an answer beside a pending receive lost a message (%s)', async (wait) => {
  const [a, b] = await pair({ wait });
  b.onRequest(() => 'answer');
  const asked = a.request('x');
  const first = a.receive();
  await asked;
  for (const message of ['M1', 'M2', 'M3']) b.trySend(message);
  const got = [await first, await a.receive(), await a.receive()];
  expect(got.map(String)).toEqual(['M1', 'M2', 'M3']);
});

test.each(waits)('thousands of pending receives and sends were forgotten (%s)', async (wait) => {
  const [a, b] = await pair({ wait, capacity: 65536 });
  const received = Promise.all(Array.from({ length: 5000 }, () => b.receive()));
  await pause(5);
  const sent = Promise.all(Array.from({ length: 5000 }, (_, i) => a.send(String(i))));
  expect((await received).map(Number)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  await sent;
});

test.each(['sleep', 'spin-then-sleep', 'spin'])('an unreferenced channel missed what came (%s)', async (wait) => {
  const [a, b] = await pair({ wait });
  b.unref();
  const idle = setInterval(() => {}, 1000);
  for (let i = 0; i < 10; i++) {
    const next = b.receive();
    await pause(3);
    a.trySend(String(i));
    expect(String(await next)).toBe(String(i));
  }
  clearInterval(idle);
});

test('receiveSync swallowed the wake-up of a pending send', async () => {
  const [a, b] = await pair({ capacity: 65536, wait: 'sleep' });
  while (a.trySend(Buffer.alloc(1000)));
  const late = a.send(Buffer.alloc(5000, 1));
  await pause(10);
  while (b.tryReceive()?.length === 1000);
  b.trySend('answer');
  expect(String(a.receiveSync())).toBe('answer');
  await late;
  expect(b.tryReceive()).toHaveLength(5000);
});

test('receiveSync went past a receive that waits: now it is refused', async () => {
  const [a, b] = await pair();
  const first = b.receive();
  expect(() => b.receiveSync()).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }));
  a.trySend('one');
  expect(String(await first)).toBe('one');
});

test('receiveSync with a short timeout never saw that the peer had gone', async () => {
  const [a, b] = await pair();
  await a.close();
  expect(b.receiveSync({ timeout: 0 })).toBeNull();
});

test('a request that is too large kept the process alive', async () => {
  const [a] = await pair();
  await expect(a.request(Buffer.alloc(2 << 20))).rejects.toMatchObject({ code: 'ERR_MESSAGE_TOO_LARGE' });
  const script = `const { channelPair, openChannel } = require('./lib');
    (async () => { const { channel, port } = channelPair(); await openChannel(port.take());
      (await channel).request(Buffer.alloc(2 << 20)).catch(() => {}); })();`;
  expect(spawnSync(process.execPath, ['-e', script], { cwd: root, timeout: 20_000 }).status).toBe(0);
});

test('an answer behind a full inbox was never found', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  b.onRequest(async () => {
    for (let i = 0; i < 200; i++) await b.send(Buffer.alloc(1000, i));
    return 'at last';
  });
  const asked = a.request('x');
  for (let i = 0; i < 200; i++) expect((await a.receive())[0]).toBe(i);
  expect(String(await asked)).toBe('at last');
});

test('closing in a handler made a reader throw a raw RangeError', async () => {
  const [a, b] = await pair();
  b.onRequest(() => b.close());
  const asked = a.request('x').catch((/** @type {any} */ error) => error.code);
  await pause(5);
  expect(() => b.tryReceive()).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  expect(['ERR_CLOSED', 'ERR_REQUEST_FAILED']).toContain(await asked);
});

test('silent clients, many at once, kept the processor busy', async () => {
  const server = await listen(`/tmp/crossings-silent-${process.pid}.sock`);
  open.push(server);
  const silent = Array.from({ length: 100 }, () => native.connect(server.path));
  await pause(50);
  const before = performance.eventLoopUtilization();
  await pause(300);
  const { utilization } = performance.eventLoopUtilization(before);
  for (const fd of silent) native.closeFd(fd);
  expect(utilization).toBeLessThan(0.5); // it was 1: the loop never slept
  const client = connect(server.path);
  open.push(await client, await server.accept());
});
