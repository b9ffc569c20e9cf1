'use strict';
// The handshake: both ends find each other in either start order, and a stranger cannot hold up the next client.
const { existsSync } = require('node:fs');
const net = require('node:net');
const { setImmediate: turnOfLoop } = require('node:timers/promises');
const { closing, crossings, errorWith, newPath, pause, runScript } = require('./support.js');
const { until } = require('../support.js');
const { native } = require('../../lib/channel/native.js');
const { writeHello } = require('../../lib/fallback/wire.js');

const { connect, listen } = crossings;

test('connect waits for a server that starts later', async () => {
  const path = newPath();
  const early = connect(path);
  await pause(100);
  const server = closing(await listen(path));
  const [client, served] = await Promise.all([early, server.accept()]);
  closing(client);
  closing(served);
  client.trySend('hello');
  expect((await served.receive()).toString()).toBe('hello');
});

test("`peer` has the other process's user and process id, from the kernel", async () => {
  const server = closing(await listen(newPath()));
  const client = closing(await connect(server.path));
  const served = closing(await server.accept());
  expect(served.peer).toEqual({ uid: process.getuid?.(), pid: process.pid });
  expect(client.peer).toEqual(served.peer);
});

test('connect gives up after its timeout, and when it is aborted', async () => {
  await expect(connect(newPath(), { timeout: 30 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
  const stop = new AbortController();
  const aborted = connect(newPath(), { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
});

// The timer came first in the loop's next turn, although the server's hello had arrived long ago.
test('connect does not give up if the program was busy, and the server has answered meanwhile', async () => {
  const path = newPath();
  const script = `const { listen } = require('./lib/index.js');
    listen(${JSON.stringify(path)}).then(async (server) => {
      const channel = await server.accept();
      console.log(await channel.closed);
      await channel.close();
      await server.close();
    });`;
  const { ended } = runScript(script);
  await until(() => existsSync(path));
  await turnOfLoop(); // timers come next
  const connecting = connect(path, { timeout: 200 });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  await (await connecting).close();
  expect((await ended).output).toBe('peer-closed\n');
});

test('over a socket, connect does not give up if the program was busy, and the server has answered meanwhile', async () => {
  const path = newPath();
  /** @type {net.Socket | undefined} */ let socket;
  const server = net.createServer((accepted) => {
    socket = accepted.on('error', () => {}); // the client has given up
  });
  await new Promise((resolve) => server.listen(path, () => resolve(undefined)));
  closing({ close: async () => void server.close() });
  const connecting = connect(path, { timeout: 200, transport: 'socket' });
  while (socket === undefined) await turnOfLoop();
  for (let i = 0; i < 5; i++) await turnOfLoop(); // the handshake has begun
  socket.write(writeHello(65536, null));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  closing(await connecting);
  socket.destroy();
});

test('connect gives up on a server that never answers', async () => {
  const path = newPath();
  const fd = native.listen(path, false);
  closing({ close: async () => native.unlisten(fd) });
  await expect(connect(path, { timeout: 50 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
});

test('a hello that cannot be seen yet is looked for again and again, but not all the time', async () => {
  const { receiveHello } = native;
  const server = closing(await listen(newPath()));
  let looks = 0;
  native.receiveHello = () => {
    looks++;
    return null;
  };
  try {
    const client = connect(server.path);
    client.catch(() => {}); // if this test fails
    await pause(200);
    expect(looks).toBeGreaterThan(1);
    expect(looks).toBeLessThan(200); // two sides, one look every 5 ms; without a pause, thousands
    native.receiveHello = receiveHello;
    closing(await server.accept());
    closing(await client);
  } finally {
    native.receiveHello = receiveHello;
  }
});

describe('a server', () => {
  /** A connection that has not shaken hands. @param {string} path */
  function stranger(path) {
    const fd = native.connect(path);
    closing({ close: async () => native.closeFd(fd) });
    return fd;
  }

  /** Fails unless an honest client gets through. @param {any} server */
  async function expectService(server) {
    const client = closing(await connect(server.path));
    const served = closing(await server.accept());
    client.trySend('hello');
    expect((await served.receive()).toString()).toBe('hello');
  }

  test('serves others while silent clients wait, and drops those after its timeout', async () => {
    const server = closing(await listen(newPath(), { timeout: 500 }));
    for (let i = 0; i < 10; i++) stranger(server.path);
    await expectService(server);
    await until(() => server.refusals.count === 10);
    expect(server.refusals.last).toEqual(errorWith('ERR_TIMEOUT'));
  });

  test('refuses a client that does not speak the protocol', async () => {
    const server = closing(await listen(newPath()));
    native.ring(stranger(server.path));
    await expectService(server);
    await until(() => server.refusals.count === 1);
    expect(server.refusals.last).toEqual(errorWith('ERR_PROTOCOL'));
  });

  test('serves others after a client that disconnects at once', async () => {
    const server = closing(await listen(newPath()));
    native.closeFd(native.connect(server.path));
    await expectService(server);
  });
});
