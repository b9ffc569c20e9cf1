'use strict';
// Long days in Node, one process each: node --expose-gc node.js ROLE JSON. Roles: send, receive (numbered messages over the
// inherited descriptor 3), serve, connect (many clients in a row, with one message each way). Each prints what it holds after
// 10 % and after 100 % of its work, one line of JSON each.
const { readFileSync, readdirSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { frameBytes } = require('../../../lib/channel/layout.js');
const { connect, listen, openChannel } = /** @type {any} */ (require('../../../lib/index.js'));
const { LARGE_WORDS, LAPS, WAYS, fillWords } = require('./messages.js');

const MAPPINGS = 4; // of an open channel: each region's ring is mapped twice, one after the other
const SETTLE_MS = 10_000; // descriptors and mappings of closed channels are released a little later
const [, , role, json] = process.argv;
const task = JSON.parse(json);
const OPTIONS = { capacity: task.capacity };

function count() {
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    mappings: maps.filter((line) => line.includes('memfd:crossings')).length,
  };
}

/** Reports what this process holds, once what is about to be released has been. @param {number} percent @param {number} channels open ones */
async function report(percent, channels) {
  const endsAt = performance.now() + SETTLE_MS;
  const collect = async () => {
    for (let i = 0; i < 3; i++) {
      global.gc?.();
      await pause(1);
    }
  };
  await collect();
  while (count().mappings > MAPPINGS * channels && performance.now() < endsAt) await collect();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const kib = (/** @type {number} */ bytes) => Math.round(bytes / 1024);
  const memory = { residentKiB: kib(rss), heapKiB: kib(heapUsed), buffersKiB: kib(arrayBuffers) };
  process.stdout.write(`${JSON.stringify({ role: `Node ${role}`, percent, ...memory, ...count() })}\n`);
}

/** Both sides report after the same lap, so that neither waits for the other. @param {number} lap @param {number} channels */
async function reportLap(lap, channels) {
  if (lap + 1 === LAPS / 10) await report(10, channels);
  if (lap + 1 === LAPS) await report(100, channels);
}

/** Message `i` as bytes, in the same memory each time. */
const words = new Uint32Array(LARGE_WORDS);
const views = Array.from({ length: LARGE_WORDS + 1 }, (_, length) => new Uint8Array(words.buffer, 0, length * 4));

async function send() {
  const channel = await openChannel(3, OPTIONS);
  const { perWay, largeEvery } = task;
  let i = 0;
  for (let lap = 0; lap < LAPS; lap++) {
    for (const way of WAYS) {
      for (let left = perWay[way]; left > 0; left--) {
        const length = fillWords(words, i++, largeEvery);
        if (!channel.trySend(views[length])) await channel.send(views[length]);
      }
    }
    await reportLap(lap, 1);
  }
  await channel.receive(); // the other side closes first
  await channel.close();
}

/** @type {Record<string, (channel: any, count: number, check: (bytes: Uint8Array, size: number) => void) => Promise<void>>} */
const RECEIVE = {
  async into(channel, count, check) {
    const target = Buffer.alloc(LARGE_WORDS * 4);
    for (let left = count; left > 0; ) {
      const size = channel.tryReceiveInto(target);
      if (size >= 0) {
        check(target, size);
        left--;
      } else {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  },
  async loop(channel, count, check) {
    let left = count;
    for await (const bytes of channel) {
      check(bytes, bytes.length);
      if (--left === 0) break;
    }
  },
  async batches(channel, count, check) {
    let left = count;
    while (left > 0) {
      const { value } = await channel.batches({ max: Math.min(left, 1024) }).next();
      for (const bytes of value) check(bytes, bytes.length);
      left -= value.length;
    }
  },
  async await(channel, count, check) {
    for (let left = count; left > 0; left--) {
      const bytes = await channel.receive();
      check(bytes, bytes.length);
    }
  },
  async read(channel, count, check) {
    const target = Buffer.alloc(LARGE_WORDS * 4);
    const copy = (/** @type {any} */ cursor) => check(target, cursor.copy(target));
    for (let left = count; left > 0; ) {
      if (channel.tryRead(copy)) left--;
      else await new Promise((resolve) => setImmediate(resolve));
    }
  },
};

async function receive() {
  const channel = await openChannel(3, OPTIONS);
  const { perWay, largeEvery } = task;
  let i = 0;
  let frames = 0;
  const check = (/** @type {Uint8Array} */ bytes, /** @type {number} */ size) => {
    const length = fillWords(words, i, largeEvery);
    const same =
      size === length * 4 &&
      Buffer.compare(bytes.length === size ? bytes : bytes.subarray(0, size), views[length]) === 0;
    if (!same) throw new Error(`message ${i} was lost or torn: ${size} bytes`);
    frames += frameBytes(frames % OPTIONS.capacity, size);
    i++;
  };
  for (let lap = 0; lap < LAPS; lap++) {
    for (const way of WAYS) await RECEIVE[way](channel, perWay[way], check);
    await reportLap(lap, 1);
  }
  process.stdout.write(`${JSON.stringify({ frameBytes: frames, messages: i })}\n`);
  await channel.close();
}

/** @param {number} i */
function numberBytes(i) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(i));
  return bytes;
}

/** @param {any} channel @param {number} i */
async function receiveNumber(channel, i) {
  const got = await channel.receive();
  if (!numberBytes(i).equals(got)) throw new Error(`connection ${i} received ${got?.toString('hex')}`);
}

/** @param {number} done @param {number} channels */
async function reportConnects(done, channels) {
  if (done === task.count / 10) await report(10, channels);
  if (done === task.count) await report(100, channels);
}

const roles = {
  send,
  receive,
  async serve() {
    const server = await listen(task.path, OPTIONS);
    for (let i = 0; i < task.count; i++) {
      const channel = await server.accept();
      await receiveNumber(channel, i);
      await reportConnects(i + 1, 1); // while the client waits: there is no other one
      await channel.send(numberBytes(i));
      await channel.close();
    }
    await server.close();
  },
  async connect() {
    for (let i = 0; i < task.count; i++) {
      const channel = await connect(task.path, { ...OPTIONS, timeout: 60_000 });
      await channel.send(numberBytes(i));
      await receiveNumber(channel, i);
      await channel.close();
      await reportConnects(i + 1, 0);
    }
  },
};

/** @type {any} */ (roles)[role]();
