'use strict';
// Resources of the process: processor time, descriptors, mappings and memory are all given back.
const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { closing, crossings, library, newPath, pair, pause, peer, runScript, success, watch } = require('./support.js');
const { native } = require('../../lib/channel/native.js');
const { root } = require('../support.js');

const { listen } = crossings;

test('an unreferenced channel does not keep the process running', async () => {
  const path = newPath();
  const server = closing(await listen(path));
  const peerWithUnref = peer('unref', path);
  closing(await server.accept());
  expect(await peerWithUnref.ended).toEqual(success);
});

test('a waiting channel sleeps: nothing wakes it until a message arrives', async () => {
  const path = newPath();
  const server = closing(await listen(path));
  const sleeper = peer('sleep', path);
  const channel = closing(await server.accept());
  channel.trySend('start');
  await sleeper.ready;
  // A process that polls with a timer gives up its core at each turn, so this count would never stop rising.
  const switches = () =>
    Number(/voluntary_ctxt_switches:\s+(\d+)/.exec(readFileSync(`/proc/${sleeper.child.pid}/status`, 'utf8'))?.[1]);
  // And one that spins would never stop using its core.
  const ticks = () => readFileSync(`/proc/${sleeper.child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  const activity = () => `${switches()} switches, ${ticks()} ticks`;
  let before;
  let after = activity();
  for (let tries = 0; tries < 20 && before !== after; tries++) {
    before = after;
    await pause(500);
    after = activity();
  }
  expect(after).toBe(before);
  channel.trySend('stop');
  expect(await channel.receive()).toBeNull();
  expect(await sleeper.ended).toMatchObject({ status: 0 });
});

test("a channel's memory has no name in the file system", async () => {
  await pair();
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
  expect(maps.filter((line) => line.includes('memfd:crossings')).length).toBeGreaterThan(0);
  expect(maps.filter((line) => line.includes('/dev/shm'))).toEqual([]);
});

test('a thousand channels, opened and closed, leave no descriptor and no mapping', async () => {
  const script = `
    const { connect, listen } = require(${library});
    const { readdirSync, readFileSync } = require('node:fs');
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const count = () => {
      for (let i = 0; i < 3; i++) gc();
      return {
        descriptors: readdirSync('/proc/self/fd').length,
        mappings: readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('memfd:crossings')).length,
        kilobytes: process.memoryUsage().rss >> 10,
      };
    };
    (async () => {
      const server = await listen(${JSON.stringify(newPath())});
      const once = async () => {
        const [a, b] = await Promise.all([connect(server.path), server.accept()]);
        a.trySend('x');
        await b.receive();
        await Promise.all([a.close(), b.close()]);
      };
      // Descriptors and mappings are released a little after close(): wait until none of any channel is left.
      const settled = async () => {
        let now = count();
        for (let tries = 0; tries < 100 && now.mappings > 0; tries++) {
          await pause(20);
          now = count();
        }
        return now;
      };
      for (let i = 0; i < 50; i++) await once();
      const before = await settled();
      for (let i = 0; i < 1000; i++) await once();
      const after = await settled();
      await server.close();
      console.log(JSON.stringify({ before, after }));
    })();`;
  const { status, output } = await runScript(script, ['--expose-gc']).ended;
  expect({ status, output }).toMatchObject({ status: 0 });
  const { before, after } = JSON.parse(output);
  expect(after.descriptors).toBe(before.descriptors);
  expect([before.mappings, after.mappings]).toEqual([0, 0]);
  expect(after.kilobytes - before.kilobytes).toBeLessThan(40_000);
});

test('a view that outlives its mapping reads nothing and crashes nothing', async () => {
  const script = `
    const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
    const mappings = () => require('node:fs').readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('memfd:crossings')).length;
    (async () => {
      // Both kinds of buffer, used after their release.
      for (const shared of [false, true]) {
        const region = native.createRegion(65536, false, shared);
        const view = new Int32Array(region.buffer);
        view[2000] = 42;
        native.releaseRegion(region.handle, region.buffer);
        // A thread replaces the memory.
        for (let tries = 0; tries < 1000 && view.length !== 0 && view[2000] === 42; tries++)
          await new Promise((resolve) => setTimeout(resolve, 2));
        if (view.length !== 0 && view[2000] === 42) throw new Error('memory was read after its release');
        gc();
        view[1000] = 1;
      }
      // Regions that are dropped without a release are unmapped by the garbage collector.
      for (let i = 0; i < 50; i++) native.createRegion(1 << 20, false, i % 2 === 0);
      for (let tries = 0; tries < 100 && mappings() > 0; tries++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      console.log(mappings());
    })();`;
  const { status, output } = await runScript(script, ['--expose-gc']).ended;
  expect({ status, output: output.trim() }).toEqual({ status: 0, output: '0' });
});

// napi_detach_arraybuffer() aborts the process in Node 20 if the thread is being terminated.
test('the main thread detaches the memory of a closed channel, and a worker does not', async () => {
  const script = `
    const measure = \`
      const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
      const region = native.createRegion(65536, false, false);
      const before = region.buffer.byteLength;
      native.releaseRegion(region.handle, region.buffer);
      console.log(require('node:worker_threads').isMainThread, region.buffer.byteLength / before);\`;
    eval(measure);
    new (require('node:worker_threads').Worker)(measure, { eval: true });`;
  const { status, output } = await runScript(script).ended;
  expect({ status, output: output.trim() }).toEqual({ status: 0, output: 'true 0\nfalse 1' });
});

test('a server that reaches no limit forgets the channels that are closed', async () => {
  const script = `
    const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
    const { Usage } = require(${JSON.stringify(require.resolve('../../lib/channel/usage.js'))});
    const usage = new Usage({ maxChannelsPerUser: 1e9, maxBytesPerUser: 1e15 }, native);
    const region = () => native.createRegion(65536, false, false);
    const handles = [];
    const add = (close) => {
      const mine = region();
      usage.add(1, mine, mine);
      handles.push(new WeakRef(mine.handle));
      if (close) native.releaseRegion(mine.handle, mine.buffer);
    };
    for (let i = 0; i < 10; i++) add(false);
    (async () => {
      for (let i = 0; i < 500; i++) {
        add(true);
        while (!native.isFree(handles.at(-1).deref())) await new Promise(setImmediate); // another thread frees it
      }
      await new Promise(setImmediate);
      gc();
      const held = handles.filter((handle) => handle.deref()).length;
      if (held < 10 || held > 100) console.log(held + ' of 510 are held');
    })();`;
  expect(await runScript(script, ['--expose-gc']).ended).toEqual(success);
});

// Their memory was replaced by private pages, which count until the garbage collector lets go of the buffer: the process aborted.
(native.hasSharedBuffers ? test : test.skip)(
  `closed channels do not count against the limit of data${native.hasSharedBuffers ? '' : ' (skipped: needs Node 22)'}`,
  async () => {
    const script = `
    const { channelPair, openChannel } = require(${library});
    (async () => {
      for (let i = 0; i < 40; i++) {
        const { channel, port } = channelPair({ capacity: 2 ** 26 });
        const ends = [await openChannel(port.take(), { capacity: 2 ** 26 }), await channel];
        for (const end of ends) await end.close();
      }
      await new Promise((resolve) => setTimeout(resolve, 200)); // another thread replaces it
      Buffer.alloc(2 ** 28);
    })();`;
    const command = 'ulimit -d 1500000; exec "$0" -e "$1"';
    const child = watch(spawn('sh', ['-c', command, process.execPath, script], { cwd: root }));
    expect(await child.ended).toEqual(success);
  },
);
