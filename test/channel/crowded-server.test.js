'use strict';
// A server that has too much: too few descriptors, too many clients that say nothing, too many channels nobody accepts.
const { spawn } = require('node:child_process');
const { closing, crossings, errorWith, library, newPath, pause, success, watch } = require('./support.js');
const { root, until } = require('../support.js');
const { native } = require('../../lib/channel/native.js');

const { connect, listen } = crossings;

/** Starts Node with a script and a limit on descriptors. @param {string} script @param {number} descriptors */
const runLimited = (script, descriptors) =>
  watch(spawn('sh', ['-c', `ulimit -n ${descriptors}; exec "$0" -e "$1"`, process.execPath, script], { cwd: root }));

/** @param {string} path */
const serverScript = (path) => `
  const { openSync, closeSync } = require('node:fs');
  const { connect, listen } = require(${library});
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  /** Takes every descriptor that is left. */
  function takeAll() {
    const taken = [];
    try {
      for (;;) taken.push(openSync('/dev/null'));
    } catch (error) {
      if (error.code !== 'EMFILE') throw error;
    }
    return taken;
  }
  const opening = listen(${JSON.stringify(path)});`;

describe('a server that listens and is referenced keeps its process alive', () => {
  test('while it has no descriptors for clients; it serves them once it has', async () => {
    const path = newPath();
    const child = runLimited(
      `${serverScript(path)}
      (async () => {
        const server = await opening;
        const taken = takeAll();
        setTimeout(() => taken.forEach((fd) => closeSync(fd)), 500).unref(); // does not keep the process alive
        console.log('ready');
        const channel = await server.accept();
        if (server.refusals.last.code !== 'ERR_SYSTEM') throw new Error('no accept failed');
        console.log(String(await channel.receive()));
        await channel.close();
        await server.close();
      })();`,
      100,
    );
    await child.ready;
    const client = closing(await connect(path));
    client.trySend('hello');
    expect(await child.ended).toEqual({ ...success, output: 'ready\nhello\n' });
  });

  test('while it has more channels than it opens without being asked', async () => {
    const path = newPath();
    const child = runLimited(
      `${serverScript(path)}
      (async () => {
        const server = await opening;
        console.log('ready');
        await new Promise((resolve) => setTimeout(resolve, 2000).unref());
        for (let i = 0; i < 150; i++) await (await server.accept()).close();
        await server.close();
      })();`,
      2000,
    );
    await child.ready;
    for (let i = 0; i < 150; i++) connect(path).then(closing, () => {});
    expect(await child.ended).toEqual({ ...success, output: 'ready\n' });
  });

  test('but not if it is not referenced', async () => {
    const path = newPath();
    const child = runLimited(
      `${serverScript(path)}
      opening.then((server) => {
        server.unref();
        takeAll();
        console.log('ready');
        setTimeout(() => {}, 1000); // a client comes meanwhile
      });`,
      100,
    );
    await child.ready;
    connect(path, { timeout: 60_000 }).catch(() => {});
    expect(await child.ended).toEqual({ ...success, output: 'ready\n' });
  });
});

describe('clients that say nothing', () => {
  /** Connects and says nothing. @param {string} path */
  function stranger(path) {
    const fd = native.connect(path);
    if (fd < 0) return false;
    closing({ close: async () => native.closeFd(fd) });
    return true;
  }

  test.each([64, 500])('do not keep others out: %i of them, and no time limit', async (count) => {
    const server = closing(await listen(newPath(), { timeout: Number.POSITIVE_INFINITY }));
    for (let connected = 0; connected < count; ) {
      if (stranger(server.path)) connected++;
      else await pause(1); // the kernel's queue is full
    }
    for (let i = 0; i < 10; i++) {
      const client = closing(await connect(server.path, { timeout: 20_000 }));
      const served = closing(await server.accept());
      client.trySend('hello');
      expect((await served.receive()).toString()).toBe('hello');
    }
  });

  test('are refused, the one that has been silent longest first', async () => {
    const server = closing(await listen(newPath(), { timeout: Number.POSITIVE_INFINITY }));
    for (let connected = 0; connected < 500; ) {
      if (stranger(server.path)) connected++;
      else await pause(1);
    }
    await until(() => server.refusals.count > 0);
    expect(server.refusals.last).toEqual(errorWith('ERR_TIMEOUT'));
  });
});
