'use strict';
// listen: the socket file, who may use it, and how a server ends.
const { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } = require('node:fs');
const net = require('node:net');
const { join } = require('node:path');
const { closing, crossings, errorWith, library, newPath, runScript, success } = require('./support.js');

const { connect, listen } = crossings;

describe('the socket file', () => {
  test('is open to this user only', async () => {
    const server = closing(await listen(newPath()));
    expect(statSync(server.path).mode & 0o777).toBe(0o600);
  });

  test('is open to other users with allowOtherUsers', async () => {
    const server = closing(await listen(newPath(), { allowOtherUsers: true }));
    expect(statSync(server.path).mode & 0o777).toBe(0o666);
  });

  test('is the only file a server creates, and close removes it', async () => {
    const folder = newPath();
    mkdirSync(folder);
    const server = closing(await listen(join(folder, 'feed.sock')));
    closing(await connect(server.path));
    closing(await server.accept());
    expect(readdirSync(folder)).toEqual(['feed.sock']);
    await server.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is removed when the process exits', async () => {
    const path = newPath();
    const script = `require(${library}).listen(${JSON.stringify(path)}).then(() => process.exit(0))`;
    expect(await runScript(script).ended).toEqual(success);
    expect(existsSync(path)).toBe(false);
  });

  test('of a killed server is replaced by the next server', async () => {
    const path = newPath();
    const script = `require(${library}).listen(${JSON.stringify(path)}).then(() => process.kill(process.pid, 'SIGKILL'))`;
    await runScript(script).ended;
    expect(existsSync(path)).toBe(true);
    closing(await listen(path));
    closing(await connect(path));
  });
});

describe('listen fails with ERR_ADDRESS_IN_USE', () => {
  test('where another server listens, which keeps its clients', async () => {
    const server = closing(await listen(newPath()));
    await expect(listen(server.path)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
    const client = closing(await connect(server.path));
    closing(await server.accept()); // may be the attempt above, which also connected
    client.trySend('still there');
  });

  test('where a file is, which it leaves alone', async () => {
    const path = newPath();
    writeFileSync(path, 'mine');
    await expect(listen(path)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
    expect(readFileSync(path, 'utf8')).toBe('mine');
  });

  test("where another program's socket listens", async () => {
    const path = newPath();
    const other = net.createServer().listen(path);
    await new Promise((resolve) => other.once('listening', resolve));
    await expect(listen(path)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
    other.close();
  });
});

test('listen in a folder that does not exist fails with an error that names the path', async () => {
  await expect(listen('/no/such/folder/x.sock')).rejects.toMatchObject({
    code: 'ERR_SYSTEM',
    message: expect.stringContaining('/no/such'),
  });
});

test('accept can be aborted', async () => {
  const server = closing(await listen(newPath()));
  const stop = new AbortController();
  const aborted = server.accept({ signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
});

test('close ends a loop over clients; accept then fails with ERR_CLOSED', async () => {
  const server = await listen(newPath());
  const loop = (async () => {
    for await (const _ of server);
    return 'ended';
  })();
  await server.close();
  expect(await loop).toBe('ended');
  await expect(server.accept()).rejects.toEqual(errorWith('ERR_CLOSED'));
});

// It took the next client, which nobody got.
test('return() of an iterator ends its next() that waits, and the next client is for accept()', async () => {
  const server = closing(await listen(newPath()));
  const clients = server[Symbol.asyncIterator]();
  const waiting = clients.next();
  expect(await clients.return()).toEqual({ value: undefined, done: true });
  expect(await waiting).toEqual({ value: undefined, done: true });
  const client = closing(await connect(server.path));
  const served = closing(await server.accept());
  client.trySend('hello');
  expect(String(await served.receive())).toBe('hello');
});

// Another process decides how long it fails. The error came before any timer could run. (Over sockets, connect() would wait for a hello.)
const sharedMemory = require('../../lib/index.js');
test.each([
  ['listen()', (/** @type {string} */ path) => sharedMemory.listen(path), 'ERR_ADDRESS_IN_USE'],
  ['connect()', (/** @type {string} */ path) => sharedMemory.connect(path), 'ERR_PROTOCOL'],
])('a program that tries %s again whenever it fails lets its timers run', async (_, call, code) => {
  const path = newPath();
  const other = net.createServer();
  await new Promise((resolve) => other.listen(path, () => resolve(undefined)));
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  }, 5);
  let tries = 0;
  for (; !isOver && tries < 50_000; tries++) await expect(call(path)).rejects.toEqual(errorWith(code));
  other.close();
  expect(tries).toBeLessThan(50_000);
});

// A server that answers fast enough fulfilled connect() before any timer could run.
test.each(['listen', 'connect', 'openChannel'])('%s() lets timers run, however soon it succeeds', async (name) => {
  const files = ['channel-pair', 'connect', 'server'].map((file) => require.resolve(`../../lib/channel/${file}.js`));
  const quick = { connect: async () => ({}), listen: async () => ({}), openChannel: async () => ({}) };
  /** @type {any} */ let transports;
  jest.isolateModules(() => {
    for (const file of files) jest.doMock(file, () => quick);
    transports = require('../../lib/transports.js');
  });
  for (const file of files) jest.dontMock(file);
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  }, 5);
  let tries = 0;
  for (; !isOver && tries < 50_000; tries++) await transports[name]('path');
  expect(tries).toBeLessThan(50_000);
});
