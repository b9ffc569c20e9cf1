'use strict';
// A peer that sleeps is woken although ringing its doorbell fails at first, as it does when the memory cgroup is full.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { native } = require('../../lib/channel/native.js');
const { built } = require('../support.js');
const { closing, crossings, library, newPath, pair, pause, peer, success, watch } = require('./support.js');

const LIMIT_MS = 20_000;

const { ring } = native;
afterEach(() => {
  native.ring = ring;
});

/** Lets the next rings of this process fail. Returns a function: how often has it rung since? @param {number} count */
function failRings(count) {
  let rings = 0;
  native.ring = (fd) => (rings++ < count ? false : ring(fd));
  return () => rings;
}

/** A channel to a process that sends each message back. @param {any} [options] */
async function echo(options) {
  const path = newPath();
  const server = closing(await crossings.listen(path, options));
  peer('echo', path);
  return closing(await server.accept());
}

/** Makes round trips until the peer slept before one, so that three rings failed. @param {any} channel @param {() => Promise<any>} answer */
async function wakeAfterFailures(channel, answer) {
  for (let number = 0; ; number++) {
    const rings = failRings(3);
    channel.trySend(`message ${number}`);
    expect(String(await answer())).toBe(`message ${number}`);
    if (rings() > 3) return;
    await pause(20);
  }
}

test.each(['spin-then-sleep', 'spin', 'sleep'])('by a process that awaits the answer, wait: %s', async (wait) => {
  const channel = await echo({ wait });
  await wakeAfterFailures(channel, () => channel.receive());
});

test('by a thread that blocks for the answer', async () => {
  const channel = await echo();
  await wakeAfterFailures(channel, async () => channel.receiveSync({ timeout: LIMIT_MS }));
});

test('by a loop of try calls', async () => {
  const channel = await echo();
  await wakeAfterFailures(channel, async () => {
    const limit = performance.now() + LIMIT_MS;
    let answer = null;
    while (answer === null && performance.now() < limit) answer = channel.tryReceive();
    return answer;
  });
});

// Its timer does not run meanwhile. Each call rang only the doorbell of its own channel again.
test.each([
  ['receiveSync()', (/** @type {any} */ other) => other.receiveSync({ timeout: LIMIT_MS })],
  ["receiveSync() with wait: 'spin'", (/** @type {any} */ other) => other.receiveSync({ timeout: LIMIT_MS }), 'spin'],
  [
    'a loop of tryReceive()',
    (/** @type {any} */ other) => {
      const limit = performance.now() + LIMIT_MS;
      let answer = null;
      while (answer === null && performance.now() < limit) answer = other.tryReceive();
      return answer;
    },
  ],
])('by %s on another channel, over which the answer comes', async (_, receive, wait = 'sleep') => {
  const [asking, answering] = [crossings.channelPair({ wait: 'sleep' }), crossings.channelPair({ wait })];
  const worker = new Worker(
    `const { workerData: { asked, answers } } = require('node:worker_threads');
     const { openChannel } = require(${library});
     (async () => {
       const [from, to] = await Promise.all([asked, answers].map((port) => openChannel(port, { wait: 'sleep' })));
       for await (const question of from) to.trySend(question);
       await to.close();
     })();`,
    { eval: true, workerData: { asked: asking.port.take(), answers: answering.port.take() } },
  );
  const channel = closing(await asking.channel);
  const other = closing(await answering.channel);
  for (let number = 0, rings = () => 0; rings() === 0; number++) {
    await pause(20); // asleep
    rings = failRings(3);
    channel.trySend(`message ${number}`);
    expect(String(receive(other))).toBe(`message ${number}`);
  }
  await channel.close();
  await once(worker, 'exit');
});

// Each failure started another one, which took 250 bytes.
test('a loop of trySend() while rings fail starts one timer', async () => {
  const [a, b] = await pair({ capacity: 65536, wait: 'sleep' });
  const received = b.receive();
  await pause(5); // asleep
  const rings = failRings(Number.POSITIVE_INFINITY);
  while (a.trySend(Buffer.alloc(1000)));
  for (let i = 0; i < 1000; i++) a.trySend(Buffer.alloc(1000));
  const before = rings();
  expect(before).toBeGreaterThan(1000);
  await pause(8); // a retry comes after 5
  expect(rings() - before).toBeLessThan(10);
  native.ring = ring;
  await received;
});

test('by the next message', async () => {
  const channel = await echo();
  for (let rings = () => 0; rings() === 0; ) {
    await pause(20);
    rings = failRings(1);
    channel.trySend('one');
    const first = rings();
    channel.trySend('two');
    expect(rings()).toBe(2 * first); // the first found the peer asleep and failed, so the second rang, too
    expect([String(await channel.receive()), String(await channel.receive())]).toEqual(['one', 'two']);
  }
});

// Only every 65,536th attempt rang again.
test('by a loop of trySend() while the ring is full', async () => {
  const [a, b] = await pair({ capacity: 65536, wait: 'sleep' });
  const received = b.receive();
  await pause(5); // asleep
  const failing = failRings(1000);
  a.trySend('first');
  while (a.trySend(Buffer.alloc(1000)));
  expect(failing()).toBeGreaterThan(60); // each message
  const rings = failRings(3);
  for (let attempt = 0; attempt < 100; attempt++) a.trySend(Buffer.alloc(1000));
  expect(rings()).toBe(4); // and the last one woke it
  expect(String(await received)).toBe('first');
});

test.each(['wait', 'poll', 'send'])('by a program in C that then calls %s', async (how) => {
  expect(await watch(spawn(built('crossings-unrung'), [how])).ended).toEqual(success);
});
