'use strict';
// A hook of async_hooks that uses the channel, such as a tracer's: it may run while this side looks for a message, and never while one is being read.
const { createHook } = require('node:async_hooks');
const { Worker } = require('node:worker_threads');
const { closing, crossings, library } = require('./support.js');

const COUNT = 200;

/** A worker that answers requests and sends numbered messages, each after others that carry none. @param {number} bytes @param {boolean} authenticate */
const sender = (bytes, authenticate) => `
  const { openChannel } = require(${library});
  openChannel(require('node:worker_threads').workerData, { authenticate: ${authenticate} }).then(async (channel) => {
    channel.onRequest((request) => request);
    for (let i = 0; i < ${COUNT}; i++) {
      for (let k = 0; k < ${bytes < 8000 ? 100 : 0}; k++) channel.request('request').catch(() => {});
      const message = Buffer.alloc(${bytes}, i);
      message.writeUInt32LE(i);
      channel.send(message).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });`;

/** @type {[string, (channel: any) => Buffer | null][]} */
const ways = [
  ['tryReceive()', (channel) => channel.tryReceive()],
  [
    'tryReceiveInto()',
    (channel) => {
      const target = Buffer.alloc(20_000);
      const size = channel.tryReceiveInto(target);
      return size < 0 ? null : target.subarray(0, size);
    },
  ],
  [
    'tryRead()',
    (channel) => {
      let message = null;
      channel.tryRead((/** @type {any} */ cursor) => {
        message = Buffer.alloc(cursor.length);
        cursor.copy(message);
      });
      return message;
    },
  ],
];

// Messages were read twice, or not at all, and the peer was taken for corrupt.
describe.each([
  [20_000, false],
  [20_000, true],
  [40, false],
])('messages of %i bytes, authenticate: %p,', (bytes, authenticate) => {
  test.each(ways)('keep their order in %s', async (_, take) => {
    const { channel, port } = crossings.channelPair({ authenticate });
    const worker = new Worker(sender(bytes, authenticate), { eval: true, workerData: port.take() });
    const ours = closing(await channel);
    ours.onRequest((/** @type {Buffer} */ request) => request);
    let isInside = false;
    let calls = 0;
    const hook = createHook({
      init(_id, type) {
        if (isInside || !['Immediate', 'Timeout', 'PROMISE'].includes(type)) return;
        isInside = true;
        calls++;
        ours.request('hook').catch(() => {});
        isInside = false;
      },
    });
    /** @type {number[]} */ const numbers = [];
    hook.enable();
    try {
      while (numbers.length < COUNT) {
        for (let message = take(ours); message !== null; message = take(ours)) numbers.push(message.readUInt32LE(0));
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    } finally {
      hook.disable();
    }
    expect(numbers).toEqual(Array.from({ length: COUNT }, (_, i) => i));
    expect(calls).toBeGreaterThan(0);
    await worker.terminate();
  });
});
