'use strict';
// Descriptors whose close() waits for an hour: the event loop's thread must not be the one that closes them. If it is, the test's
// time limit ends it. See test/hostile/slow-descriptor.py.
const { spawn, spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { compile } = require('../hostile/build.js');
const { closing, crossings, folder, library, newPath, pause, success, watch } = require('./support.js');

const hostile = join(__dirname, '..', 'hostile', 'slow-descriptor.py');
const hasPython = spawnSync('python3', ['-c', 'import socket; socket.send_fds']).status === 0;
/** Only there can a socket refuse descriptors (Linux 6.16). */
const refuses =
  spawnSync('python3', ['-c', 'import socket; socket.socket(socket.AF_UNIX).setsockopt(1, 83, 0)']).status === 0;
const skipped = (/** @type {boolean} */ isPossible, /** @type {string} */ needed) =>
  isPossible ? '' : ` (skipped: needs ${needed})`;

/** Starts the script; killed after the test, since it may wait for the close(), too. @param {string[]} args */
function start(...args) {
  const watched = watch(spawn('python3', [hostile, ...args], { stdio: ['pipe', 'pipe', 'pipe'] }));
  closing({
    async close() {
      watched.child.kill('SIGKILL');
      await watched.ended;
    },
  });
  return watched;
}

(hasPython ? test : test.skip)(
  `in an inherited end that somebody else has claimed${skipped(hasPython, 'Python')}`,
  async () => {
    const script = `
    const { openChannel } = require(${library});
    openChannel(Number(process.env.END), { timeout: 1000 }).catch(({ code }) => console.log(code));`;
    const child = start('lent', process.execPath, '-e', script);
    expect(await child.ended).toEqual({ status: 0, signal: null, output: 'ERR_CLOSED\n' });
  },
);

const isPossible = hasPython && refuses;
(isPossible ? test : test.skip)(
  `with a byte for a server over sockets${skipped(isPossible, 'Python, and Linux 6.16')}`,
  async () => {
    const server = closing(await crossings.listen(newPath(), { transport: 'socket' }));
    start('stream', server.path);
    await pause(500); // the client has sent it
    const client = closing(await crossings.connect(server.path, { transport: 'socket' }));
    expect(client.closed).toBeInstanceOf(Promise);
  },
);

// It closed its descriptor while it held the lock of all threads.
test('a thread that takes long to close a channel keeps no other thread waiting', async () => {
  const preload = compile(join(folder, 'slow-shutdown.so'), ['test/hostile/slow-shutdown.c'], ['-shared', '-fPIC']);
  const slow = join(folder, 'slow');
  const script = `
    const { existsSync, writeFileSync } = require('node:fs');
    const { Worker } = require('node:worker_threads');
    const { channelPair, openChannel } = require(${library});
    const worker = new Worker(\`
      const { channelPair, openChannel } = require(${library});
      const { channel, port } = channelPair();
      Promise.all([channel, openChannel(port.take())]).then(([a, b]) => a.close().then(() => b.close()));\`, { eval: true });
    const looking = setInterval(async () => {
      if (!existsSync(${JSON.stringify(`${slow}.begun`)})) return;
      clearInterval(looking);
      const { channel, port } = channelPair();
      const ends = await Promise.all([channel, openChannel(port.take())]);
      writeFileSync(${JSON.stringify(`${slow}.go`)}, '');
      await Promise.all(ends.map((end) => end.close()));
      await new Promise((resolve) => worker.once('exit', resolve));
      if (existsSync(${JSON.stringify(`${slow}.late`)})) console.log('the other thread had to wait');
    }, 1);`;
  const child = watch(
    spawn(process.execPath, ['-e', script], { env: { ...process.env, LD_PRELOAD: preload, SLOW: slow } }),
  );
  expect(await child.ended).toEqual(success);
});
