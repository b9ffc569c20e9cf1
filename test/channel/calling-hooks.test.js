'use strict';
// A hook of async_hooks that uses the channel while a call is at work: each message comes once, and each request is answered.
const { createHook } = require('node:async_hooks');
const { Worker } = require('node:worker_threads');
const { native } = require('../../lib/channel/native.js');
const { closing, crossings, library, newPath } = require('./support.js');

const TYPES = ['Immediate', 'Timeout', 'PROMISE'];

/** A channel to a worker that runs `code` with its `channel`. @param {string} code @param {object} [options] */
async function toWorker(code, options = {}) {
  const { channel, port } = crossings.channelPair(options);
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
    require(${library}).openChannel(workerData.ticket, workerData.options).then(async (channel) => {
      setInterval(() => {}, 1000); // it does not end by itself
      ${code}
    });`,
    { eval: true, workerData: { ticket: port.take(), options } },
  );
  return { channel: closing(await channel), worker };
}

/**
 * Calls `act` in each hook, but not within itself.
 * @param {() => void} act
 * @param {string[]} [types]
 */
function hookThat(act, types = TYPES) {
  let isInside = false;
  const run = { calls: 0, failure: /** @type {unknown} */ (undefined) };
  const hook = createHook({
    init(_id, type) {
      if (isInside || !types.includes(type)) return;
      isInside = true;
      run.calls++;
      try {
        act();
      } catch (error) {
        run.failure ??= error; // what a hook throws ends the process
      }
      isInside = false;
    },
  });
  return Object.assign(run, { enable: () => hook.enable(), disable: () => hook.disable() });
}

const nextMs = () => new Promise((resolve) => setTimeout(resolve, 1));

describe('a hook that receives', () => {
  test('while a request polls for its response: the response comes', async () => {
    const { channel, worker } = await toWorker('channel.onRequest((request) => Buffer.alloc(20_000, request));');
    const hook = hookThat(() => channel.tryReceive());
    hook.enable();
    try {
      for (let i = 0; i < 1000; i++) {
        const response = await channel.request(Buffer.from([i]));
        expect([response.length, response[0]]).toEqual([20_000, i & 255]);
      }
    } finally {
      hook.disable();
    }
    expect(hook).toMatchObject({ failure: undefined });
    expect(hook.calls).toBeGreaterThan(1000);
    expect(channel.stats().looksAnswered).toBeGreaterThan(0);
    await worker.terminate();
  });

  // The turn begins when a doorbell has taken long, and is put off. Here, each ring calls such a hook.
  test('while a doorbell is rung: each message comes once', async () => {
    const count = 2000;
    const { channel, worker } = await toWorker(
      `for (let i = 0; i < ${count}; i++) {
        for (let k = 0; k < 5; k++) channel.request(Buffer.alloc(400)).catch(() => {});
        const message = Buffer.alloc(300);
        message.writeUInt32LE(i);
        await channel.send(message);
      }`,
      { capacity: 65536, wait: 'sleep' },
    );
    channel.onRequest((/** @type {Buffer} */ request) => request);
    /** @type {number[]} */ const numbers = [];
    const take = () => {
      const message = channel.tryReceive();
      if (message !== null) numbers.push(message.readUInt32LE(0));
      return message !== null;
    };
    const { ring } = native;
    let isInside = false;
    let taken = 0;
    const rings = jest.spyOn(native, 'ring').mockImplementation((/** @type {any[]} */ ...args) => {
      if (!isInside) {
        isInside = true;
        taken += Number(take());
        isInside = false;
      }
      return Reflect.apply(ring, native, args);
    });
    try {
      while (numbers.length < count) {
        for (let k = 0; k < 30 && take(); k++);
        await nextMs();
      }
    } finally {
      rings.mockRestore();
    }
    // One that is taken while the room of another one is reported comes before it.
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(taken).toBeGreaterThan(0);
    await worker.terminate();
  });

  test('with receiveSync() while others wait for room: each message is sent once', async () => {
    const count = 300;
    const { channel, worker } = await toWorker(
      `const numbers = [];
      while (numbers.length < ${count}) {
        for (let message = channel.tryReceive(); message !== null; message = channel.tryReceive()) numbers.push(message.readUInt32LE(0));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      parentPort.postMessage(numbers);`,
      { capacity: 65536 },
    );
    const hook = hookThat(() => {
      expect(() => channel.receiveSync({ timeout: 0 })).toThrow(expect.objectContaining({ code: 'ERR_TIMEOUT' }));
    });
    const answer = new Promise((resolve) => worker.once('message', resolve));
    hook.enable();
    try {
      for (let i = 0; i < count; i += 10) {
        for (let k = 0; k < 10; k++) {
          const message = Buffer.alloc(20_000);
          message.writeUInt32LE(i + k);
          channel.send(message);
        }
        await nextMs();
      }
    } finally {
      hook.disable();
    }
    expect(hook).toMatchObject({ failure: undefined });
    expect(hook.calls).toBeGreaterThan(0);
    expect(await answer).toEqual(Array.from({ length: count }, (_, i) => i));
    await worker.terminate();
  });
});

test('a hook that closes the channel as tryRead() begins: ERR_CLOSED', async () => {
  const { channel, port } = crossings.channelPair();
  const peer = closing(await crossings.openChannel(port.take()));
  const ours = closing(await channel);
  peer.trySend('x');
  const hook = hookThat(() => ours.close(), ['PROMISE']);
  const read = jest.fn();
  hook.enable();
  try {
    expect(() => ours.tryRead(read)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  } finally {
    hook.disable();
  }
  expect(hook.calls).toBeGreaterThan(0);
  expect(read).not.toHaveBeenCalled();
});

describe('a hook that makes the channel look for requests', () => {
  /** @type {[string, (channel: any) => any][]} */
  const ways = [
    ['receive()', (channel) => channel.receive()],
    ['receiveSync()', (channel) => channel.receiveSync()],
    ['tryReceive()', (channel) => channel.tryReceive()],
    [
      'tryRead()',
      (channel) => {
        let message;
        channel.tryRead((/** @type {any} */ cursor) => {
          message = cursor.toString();
        });
        return message;
      },
    ],
    [
      'tryReceiveInto()',
      (channel) => {
        const target = Buffer.alloc(4);
        return target.subarray(0, channel.tryReceiveInto(target));
      },
    ],
  ];

  // The message was in the inbox, and the ring looked empty.
  test.each(ways)('%s returns the last message before the end', async (_, receive) => {
    for (let i = 0; i < 10; i++) {
      const { channel, port } = crossings.channelPair();
      const peer = closing(await crossings.openChannel(port.take()));
      const ours = closing(await channel);
      await nextMs();
      await nextMs();
      peer.trySend('last');
      peer.close();
      expect(await ours.closed).toBe('peer-closed');
      const hook = hookThat(() => ours.onRequest(() => ''), ['Timeout']);
      hook.enable();
      let message;
      try {
        message = await receive(ours);
      } finally {
        hook.disable();
      }
      expect(String(message)).toBe('last');
      expect(await ours.receive()).toBe(null);
    }
  });

  test('receiveSync() does not sleep on it', async () => {
    const { channel, worker } = await toWorker(
      `channel.onRequest(() => '');
      for (let k = 0; k < 300; k++) channel.trySend(channel.receiveSync());`,
      { wait: 'sleep' },
    );
    channel.onRequest(() => '');
    const hook = hookThat(() => channel.ref(), ['Timeout']);
    hook.enable();
    try {
      for (let i = 0; i < 300; i++) {
        channel.trySend('x');
        expect(String(channel.receiveSync({ timeout: 15_000 }))).toBe('x');
        if (i % 3 === 0) await nextMs();
      }
    } finally {
      hook.disable();
    }
    await worker.terminate();
  });
});

// A listener of a signal that is aborted already is not called.
test.each(['receive', 'request', 'send', 'waitForRoom'])(
  'a hook that aborts %s() within the call: it is rejected',
  async (method) => {
    const { channel, port } = crossings.channelPair({ capacity: 65536 });
    closing(await crossings.openChannel(port.take()));
    const ours = closing(await channel);
    if (method !== 'receive') while (ours.trySend(Buffer.alloc(1000)));
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const calls = new Map([
      ['receive', () => ours.receive(options)],
      ['request', () => ours.request('x', options)],
      ['send', () => ours.send(Buffer.alloc(1000), options)],
      ['waitForRoom', () => ours.waitForRoom(1000, options)],
    ]);
    const hook = hookThat(() => controller.abort(new Error('aborted')), ['PROMISE']);
    hook.enable();
    const result = calls.get(method)?.();
    hook.disable();
    await expect(result).rejects.toThrow('aborted');
    expect(hook).toMatchObject({ failure: undefined });
  },
);

test('a hook that closes a server within accept(): ERR_CLOSED', async () => {
  for (let count = 1; count < 5; count++) {
    const server = await crossings.listen(newPath());
    let left = count;
    const hook = hookThat(() => --left === 0 && server.close(), ['PROMISE']);
    hook.enable();
    const accepted = server.accept();
    hook.disable();
    server.close();
    await expect(accepted).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    expect(hook).toMatchObject({ failure: undefined });
  }
});

test('a hook that aborts a request while its timer starts: the request is rejected, and its room in the window is free', async () => {
  const { channel, worker } = await toWorker(`channel.onRequest(() => 'response');`, { maxRequests: 1 });
  let aborted = 0;
  for (let i = 0; i < 20; i++) {
    const controller = new AbortController();
    const hook = hookThat(() => controller.abort(new Error('aborted')), ['Timeout']);
    hook.enable();
    const response = channel.request('request', { signal: controller.signal, timeout: 10_000 });
    hook.disable();
    if (hook.calls === 0)
      await response; // it polled, and needed no timer
    else await expect(response).rejects.toThrow('aborted');
    aborted += Math.min(1, hook.calls);
    expect(hook).toMatchObject({ failure: undefined });
    expect(String(await channel.request('request'))).toBe('response');
  }
  expect(aborted).toBeGreaterThan(0);
  await worker.terminate();
});

// Each turn began with twice as many immediates as the one before.
test('a hook that uses a channel which always polls: there is one immediate for each turn', async () => {
  const { channel, worker } = await toWorker('', { wait: 'spin' });
  const hook = hookThat(() => channel.ref(), ['Immediate']);
  channel.receive().catch(() => {}); // nothing comes, so it polls
  hook.enable();
  try {
    for (let turns = 0; turns < 500; turns++) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    hook.disable();
  }
  expect(hook.calls).toBeLessThan(5000);
  await worker.terminate();
});

test('a hook that receives while the timer starts which announces what was read, without a guard against itself', async () => {
  const { channel, worker } = await toWorker(`for (let i = 0; i < 10; i++) await channel.send('x');`);
  let calls = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'Timeout') {
        calls++;
        channel.tryReceive();
      }
    },
  });
  while (!channel.stats().messagesReceived) {
    await nextMs();
    hook.enable();
    channel.tryReceive();
    hook.disable();
  }
  expect(calls).toBeLessThan(100);
  await worker.terminate();
});
