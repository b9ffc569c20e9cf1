'use strict';
// How the end of a process treats what was sent in its last tick.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { channelPair, listen, openChannel } = require('../../lib/index.js');
const { closing, library, newPath, runScript, success } = require('./support.js');

test('what was sent in the tick that calls process.exit() is published', async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    const { spawn } = require('node:child_process');
    (async () => {
      if (process.argv[1] === 'child') {
        const channel = await openChannel(3);
        for (let i = 0; i < 3; i++) channel.send(String(i));
        process.exit();
      }
      const { channel, port } = channelPair();
      const child = spawn(process.execPath, [...process.execArgv, 'child'], { stdio: ['ignore', 'inherit', 'inherit', port.fd] });
      port.close();
      const received = [];
      const end = (await channel);
      try {
        for await (const message of end) received.push(String(message));
      } catch (error) {
        if (error.code !== 'ERR_PEER_DIED') throw error;
      }
      if (received.join() !== '0,1,2') console.log(received);
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

test.each(['shared-memory', 'socket'])(
  "over %s, a listener of 'exit' can send, however much was sent in that turn",
  async (transport) => {
    const options = JSON.stringify({ transport });
    const path = newPath();
    const server = closing(await listen(path, { transport: /** @type {any} */ (transport) }));
    const counter = `${path}-received`;
    writeFileSync(counter, '0');
    const { ended } = runScript(`
      const { connect } = require(${library});
      const { readFileSync } = require('node:fs');
      connect(${JSON.stringify(path)}, ${options}).then((channel) => {
        const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        process.on('exit', () => {
          for (let n = 0; n < 3; n++) channel.send(String(n));
        });
        setImmediate(() => {
          for (let n = 1; n <= 12; n++) {
            channel.trySend(Buffer.alloc(30_000));
            if (n <= 8) while (Number(readFileSync(${JSON.stringify(counter)})) < n) sleep(); // so that the kernel has room
          }
          process.exit();
        });
      });`);
    const channel = closing(await server.accept());
    const received = [];
    try {
      for await (const { length } of channel) writeFileSync(counter, String(received.push(length)));
    } catch {} // it has exited
    expect(received.slice(-4)).toEqual([30_000, 1, 1, 1]);
    await ended;
    rmSync(counter);
  },
);

// The file was made before what removes it.
describe.each(['shared-memory', 'socket'])('over %s', (transport) => {
  test.each([0, 1, 2, 3, 5, 8, 13])(
    'process.exit() %i microtasks after listen() or channelPair() leaves no file',
    async (ticks) => {
      const folder = mkdtempSync(join(tmpdir(), 'exit-'));
      const options = JSON.stringify({ transport });
      const calls = [`listen(${JSON.stringify(join(folder, 'x.sock'))}, ${options})`, `channelPair(${options})`];
      for (const call of calls) {
        const script = `
        process.env.TMPDIR = ${JSON.stringify(folder)};
        const { channelPair, listen } = require(${library});
        ${call};
        (async () => {
          for (let tick = 0; tick < ${ticks}; tick++) await undefined;
          process.exit();
        })();`;
        expect(await runScript(script).ended).toEqual(success);
        expect(readdirSync(folder)).toEqual([]);
      }
      rmSync(folder, { recursive: true });
    },
  );
});

// The 'exit' handler closed the listening socket while libuv polled it, and libuv aborted the process.
test.each(['process.exit()', "throw new Error('enough')"])(
  'a worker with an open server ends by %s, alone',
  async (end) => {
    const script = `
    const { Worker } = require('node:worker_threads');
    const source = ${JSON.stringify(`require(${library}).listen(${JSON.stringify(newPath())}).then(() => { ${end}; });`)};
    const worker = new Worker(source, { eval: true });
    worker.on('error', () => {});
    worker.on('exit', () => setTimeout(() => console.log('still here'), 50));`;
    expect(await runScript(script).ended).toEqual({ ...success, output: 'still here\n' });
  },
);

test('what was sent in a corked channel is published when the program ends', async () => {
  const script = `
    const { openChannel } = require(${library});
    openChannel(3).then(async (channel) => {
      channel.cork();
      await channel.send('one');
      process.exit();
    });`;
  const { channel, port } = channelPair();
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'inherit', 'inherit', port.fd] });
  port.close();
  const end = closing(await channel);
  expect(String(await end.receive())).toBe('one');
  await once(child, 'exit');
});

describe("a listener of 'beforeExit'", () => {
  /** @param {string} listener */
  const script = (listener) => `
    const { channelPair, openChannel } = require(${library});
    (async () => {
      const { channel, port } = channelPair();
      const [a, b] = await Promise.all([channel, openChannel(port.take())]);
      let calls = 0;
      process.on('beforeExit', async () => {
        if (++calls > 100) process.exit(1);
        ${listener}
      });
    })();`;

  // Each call started a turn, whose end kept the process alive: the listener was called for ever.
  const many = (/** @type {string} */ call) => `for (let i = 0; i < 1000; i++) ${call}`;
  test.each([
    'a.send("bye")',
    'a.waitForRoom()',
    'a.unref().receive()',
    many('a.send("bye"); while (b.tryReceive() !== null);'),
    many('a.waitForRoom()'),
  ])('that calls %s lets the program end', async (call) => {
    expect(await runScript(script(`${call};`)).ended).toEqual(success);
  });

  test('can wait for a message', async () => {
    const listener = `
      if (calls > 1) return;
      const received = (async () => { for (let i = 0; i < 3; i++) console.log(String(await b.receive())); })();
      for (let i = 0; i < 3; i++) await a.send(String(i));
      await received;`;
    expect(await runScript(script(listener)).ended).toEqual({ ...success, output: '0\n1\n2\n' });
  });
});

// The pauses of the loop kept the process alive: for seconds with one channel, for ever with eight.
test('a loop that sends through unreferenced channels does not keep the process alive', async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    const { spawn } = require('node:child_process');
    const receive = async () => {
      for await (const message of await openChannel(3));
    };
    const send = async () => {
      const { channel, port } = channelPair();
      const stdio = ['ignore', 'inherit', 'inherit', port.fd];
      spawn(process.execPath, [...process.execArgv, 'child'], { stdio }).unref();
      port.close();
      const end = await channel;
      end.unref();
      await end.send('first');
      setImmediate(async () => {
        for (;;) await end.send('more');
      });
    };
    if (process.argv[1] === 'child') receive().catch(() => {});
    else Promise.all(Array.from({ length: 8 }, send)).then(() => setTimeout(() => {}, 100));`;
  expect(await runScript(script).ended).toEqual(success);
});

// They were in a pause that ref() did not know.
test.each(['end.send("last")', 'end.waitForRoom()'])(
  '%s on an unreferenced channel keeps the process alive after ref()',
  async (call) => {
    const script = `
      const { channelPair, openChannel } = require(${library});
      const { port, channel } = channelPair();
      Promise.all([channel, openChannel(port.take())]).then(async ([end, other]) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        end.unref();
        const until = performance.now() + 3;
        while (performance.now() < until) end.send('more');
        const pending = ${call};
        end.ref();
        await pending;
        console.log('settled');
        process.exit();
      });`;
    for (let run = 0; run < 5; run++)
      expect(await runScript(script).ended).toEqual({ ...success, output: 'settled\n' });
  },
);

test('close() ends the pauses of an unreferenced channel', async () => {
  const { port, channel } = channelPair();
  const [end, other] = await Promise.all([channel, openChannel(port.take())]);
  closing(other);
  end.unref();
  const until = performance.now() + 3;
  let pending = end.send('first');
  while (performance.now() < until) pending = end.send('more');
  let settled = false;
  pending.then(() => {
    settled = true;
  });
  end.close();
  for (let i = 0; i < 10; i++) await null;
  expect(settled).toBe(true);
});
