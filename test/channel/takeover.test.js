'use strict';
// A server's socket file: of several servers that find a stale one, a single one takes it over, and each removes only its own.
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, readdirSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { inCi } = require('../in-ci.js');
const { closing, crossings, library, newPath, runScript, success } = require('./support.js');
const { native } = require('../../lib/channel/native.js');

const { connect, listen } = crossings;

/** Leaves a socket file without a listener, as a killed server does. @param {string} path */
function leaveStale(path) {
  native.closeFd(native.listen(path, false));
}

describe('of two servers that take over a stale socket file at once', () => {
  const ROUNDS = inCi ? 300 : 100;

  /** A thread that listens at the path in each round, at the moment that the shared word announces the round. */
  const RIVAL = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { listen } = require(${library});
    const word = new Int32Array(workerData.shared);
    let server;
    parentPort.on('message', async (round) => {
      if (round < 0) {
        await server?.close();
        server = undefined;
        return parentPort.postMessage('closed');
      }
      Atomics.add(word, 1, 1);
      while (Atomics.load(word, 0) < round);
      try {
        server = await listen(workerData.path);
        parentPort.postMessage('listening');
      } catch (error) {
        parentPort.postMessage(error.code);
      }
    });`;

  test(`exactly one listens, at the path, in each of ${ROUNDS} rounds`, async () => {
    const folder = newPath();
    mkdirSync(folder);
    const path = join(folder, 'feed.sock');
    const shared = new SharedArrayBuffer(8);
    const word = new Int32Array(shared);
    const rivals = [0, 1].map(() => new Worker(RIVAL, { eval: true, workerData: { path, shared } }));
    const answers = () => Promise.all(rivals.map((rival) => new Promise((resolve) => rival.once('message', resolve))));
    /** @type {string[]} */
    const wrong = [];
    for (let round = 1; round <= ROUNDS; round++) {
      leaveStale(path);
      const outcomes = answers();
      for (const rival of rivals) rival.postMessage(round);
      while (Atomics.load(word, 1) < 2 * round) await new Promise((resolve) => setImmediate(resolve));
      Atomics.store(word, 0, round);
      const outcome = (await outcomes).sort().join();
      const fd = native.connect(path);
      if (fd >= 0) native.closeFd(fd);
      if (outcome !== 'ERR_ADDRESS_IN_USE,listening' || fd < 0) wrong.push(`${outcome}, connected: ${fd >= 0}`);
      const closed = answers();
      for (const rival of rivals) rival.postMessage(-1);
      await closed;
      if (existsSync(path)) wrong.push('the file is still there');
    }
    await Promise.all(rivals.map((rival) => rival.terminate()));
    expect(wrong).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

// A user who can read the folder can hold its lock. The program flock is in util-linux.
const hasFlock = spawnSync('flock', ['--version']).error === undefined;
const reason = hasFlock ? '' : ' (skipped: there is no program "flock")';
(hasFlock ? test : test.skip)(`a process that keeps the folder locked does not keep servers out${reason}`, async () => {
  const folder = newPath();
  mkdirSync(folder);
  const path = join(folder, 'feed.sock');
  leaveStale(path);
  const locker = spawn('flock', [folder, '-c', 'echo locked; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => locker.once('close', resolve));
  await new Promise((resolve) => locker.stdout.once('data', resolve));
  const server = closing(await listen(path));
  closing(await connect(server.path));
  locker.stdin.end();
  await ended;
});

test('servers that listen in the same folder at the same time do not disturb each other', async () => {
  const folder = newPath();
  mkdirSync(folder);
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { listen } = require(${library});
    (async () => {
      for (let i = 0; i < 300; i++) await (await listen(workerData + i)).close();
      parentPort.postMessage('done');
    })();`;
  const done = ['a', 'b'].map((name) => {
    const worker = new Worker(source, { eval: true, workerData: join(folder, name) });
    return new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('exit', resolve);
    });
  });
  expect(await Promise.all(done)).toEqual([0, 0]);
  expect(readdirSync(folder)).toEqual([]);
});

test('a server on a relative path removes its file after the process has changed its directory', async () => {
  const folder = newPath();
  mkdirSync(folder);
  const script = `
    process.chdir(${JSON.stringify(folder)});
    const { connect, listen } = require(${library});
    (async () => {
      const first = await listen('first.sock');
      await listen('second.sock');
      process.chdir('/');
      const client = await connect(first.path); // absolute
      await client.close();
      await first.close(); // the second is closed by the exit
      process.exit();
    })();`;
  expect(await runScript(script).ended).toEqual(success);
  expect(readdirSync(folder)).toEqual([]);
});

test('a server whose file another server has replaced leaves that file alone', async () => {
  const first = await listen(newPath());
  rmSync(first.path);
  const second = closing(await listen(first.path));
  await first.close();
  const client = closing(await connect(second.path));
  closing(await second.accept());
  client.trySend('still there');
});

test('a server in a worker that is terminated leaves no file', async () => {
  const path = newPath();
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    require(${library}).listen(workerData).then((server) => { globalThis.server = server; parentPort.postMessage('ready'); });`;
  const worker = new Worker(source, { eval: true, workerData: path });
  await new Promise((resolve) => worker.once('message', resolve));
  expect(existsSync(path)).toBe(true);
  await worker.terminate();
  expect(existsSync(path)).toBe(false);
});
