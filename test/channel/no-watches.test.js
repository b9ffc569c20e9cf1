'use strict';
// The kernel limits how many descriptors all processes of a user watch with epoll. Where another process has used that up, libuv
// aborts a process that watches one more.
const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { compile } = require('../hostile/build.js');
const { folder, library, success, watch } = require('./support.js');

/** @type {string} */ let preload;
beforeAll(() => {
  preload = compile(join(folder, 'no-watches.so'), ['test/hostile/no-watches.c'], ['-shared', '-fPIC']);
});

/** @param {string} script */
const runWithout = (script) =>
  watch(spawn(process.execPath, ['-e', script], { env: { ...process.env, LD_PRELOAD: preload } })).ended;

test('a channel that may not watch its peer again goes on, and so it does afterwards', async () => {
  const script = `
    const assert = require('node:assert');
    const { channelPair, openChannel } = require(${library});
    const count = async (from, to, messages) => {
      for (let i = 0; i < messages; i++) {
        const received = to.receive();
        await new Promise(setImmediate); // it sleeps
        await from.send(String(i));
        assert.equal(String(await received), String(i));
      }
    };
    (async () => {
      const pairs = await Promise.all(Array.from({ length: 100 }, async () => {
        const { channel, port } = channelPair({ wait: 'sleep' });
        return Promise.all([channel, openChannel(port.take(), { wait: 'sleep' })]);
      }));
      for (const isRefused of [true, false]) {
        if (isRefused) process.env.NO_WATCHES = '1';
        else delete process.env.NO_WATCHES;
        await Promise.all(pairs.map(([a, b]) => count(a, b, 20)));
      }
      process.env.NO_WATCHES = '1';
      await pairs[0][0].close();
      await pairs[0][1].receive().catch(({ code }) => assert.equal(code, 'ERR_CLOSED'));
      await Promise.all(pairs.flat().map((end) => end.close()));
    })();`;
  expect(await runWithout(script)).toEqual(success);
});

test('a channel that was refused keeps the process alive only while it is referenced', async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    (async () => {
      const pairs = await Promise.all(Array.from({ length: 100 }, async () => {
        const { channel, port } = channelPair({ wait: 'sleep' });
        return Promise.all([channel, openChannel(port.take(), { wait: 'sleep' })]);
      }));
      process.env.NO_WATCHES = '1';
      for (const [a, b] of pairs) {
        a.unref();
        b.receive().then(() => b.unref());
      }
      await new Promise(setImmediate);
      setTimeout(() => {
        for (const [a] of pairs) a.trySend('x');
      }, 50);
    })();`;
  expect(await runWithout(script)).toEqual(success);
});

test('a new channel is refused with a sentence', async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    process.env.NO_WATCHES = '1';
    const { channel, port } = channelPair({ timeout: 2000 });
    Promise.allSettled([channel, openChannel(port.take(), { timeout: 2000 })]).then((results) => {
      for (const { reason } of results) console.log(reason.code, reason.message);
    });`;
  const { status, output } = await runWithout(script);
  expect(status).toBe(0);
  expect(output).toMatch(/ERR_SYSTEM Cannot poll a descriptor: no space left on device/);
});
