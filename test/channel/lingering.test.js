'use strict';
// Peers that pass descriptors whose close() blocks for 20 seconds. Nothing that this thread does may wait for it.
const { spawn } = require('node:child_process');
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { closing, crossings, errorWith, library, newPath, pause, success, watch } = require('./support.js');
const { compile } = require('../hostile/build.js');
const { RING } = require('../native.js');
const { root, until } = require('../support.js');
const { native } = require('../../lib/channel/native.js');

const nativeModule = JSON.stringify(require.resolve('../../lib/channel/native.js'));
const LINGER_SECONDS = 20;
const MOST_MS = 10_000; // that a timer may be late: the defect makes it 20 s late
const { listen } = crossings;

const folder = mkdtempSync(join(tmpdir(), 'lingering-'));
afterAll(() => rmSync(folder, { recursive: true }));
const program = compile(join(folder, 'lingering'), ['test/hostile/lingering.c', ...RING], ['-O1']);
const countDescriptors = () => readdirSync('/proc/self/fd').length;

/** Watches how late a timer is. */
function watchTimer() {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    worst = Math.max(worst, performance.now() - last);
    last = performance.now();
  }, 20);
  return async () => {
    await pause(50); // the timer has run after everything else
    clearInterval(timer);
    return worst;
  };
}

/** Starts the client; ended after the test. @param {string} path @param {string} mode */
function attack(path, mode) {
  const watched = watch(spawn(program, [path, mode, String(LINGER_SECONDS)]));
  closing({
    async close() {
      watched.child.stdin?.end();
      expect(await watched.ended).toMatchObject({ status: 0 });
    },
  });
  return watched;
}

const modes = [
  ['in place of its region', 'hello'],
  ['as the last of 253', 'many'],
];

test.each(modes)('a client that passes one %s is refused, and stops no timer', async (_, mode) => {
  const server = closing(await listen(newPath()));
  const before = countDescriptors();
  const gap = watchTimer();
  const client = attack(server.path, mode);
  await client.ready;
  await until(() => server.refusals.count > 0);
  expect(server.refusals.last).toEqual(errorWith('ERR_PROTOCOL'));
  expect(await gap()).toBeLessThan(MOST_MS);
  client.child.stdin?.end();
  await client.ended;
  await until(() => countDescriptors() <= before);
});

// The client must have sent everything before the server sees its hello. So it is accepted late.
test.each([
  ['one', 'queued'],
  ['more than the process may have', 'crowd'],
])('a client that queues %s behind its hello is refused, and stops no timer', async (_, mode) => {
  const path = newPath();
  const script = `
    const { openChannel } = require(${library});
    const { native } = require(${nativeModule});
    const listener = native.listen(${JSON.stringify(path)}, false);
    console.log('listening');
    process.stdin.once('data', async () => {
      let last = performance.now();
      let worst = 0;
      const look = () => {
        worst = Math.max(worst, performance.now() - last);
        last = performance.now();
      };
      const timer = setInterval(look, 20);
      const opening = openChannel(native.accept(listener));
      const code = await opening.then((channel) => channel.receive()).catch((error) => error.code);
      native.unlisten(listener);
      setTimeout(() => {
        look();
        console.log(code, worst < ${MOST_MS} ? 'in time' : 'late');
        process.exit();
      }, 50);
    });`;
  const command = 'ulimit -n 100; exec "$0" -e "$1"';
  const server = watch(spawn('sh', ['-c', command, process.execPath, script], { cwd: root }));
  await server.ready;
  const client = attack(path, mode);
  await client.ready;
  server.child.stdin?.end('go');
  expect(await server.ended).toEqual({ ...success, output: 'listening\nERR_PROTOCOL in time\n' });
});

test('one in the queue of a client that nobody has accepted stops no timer when the server closes', async () => {
  const path = newPath();
  const listener = native.listen(path, false);
  await attack(path, 'hello').ready;
  const gap = watchTimer();
  native.unlisten(listener);
  expect(await gap()).toBeLessThan(MOST_MS);
});

test('one that comes with the doorbell is refused by the kernel, or ends the channel', async () => {
  const server = closing(await listen(newPath()));
  const gap = watchTimer();
  const client = attack(server.path, 'bell');
  const channel = closing(await server.accept());
  const received = channel.receive().catch((/** @type {any} */ error) => error.code);
  await client.ready;
  client.child.stdin?.end();
  const { output } = /** @type {any} */ (await client.ended);
  expect([output, await received]).toEqual(
    output === 'passed\n' ? ['passed\n', 'ERR_PEER_CORRUPT'] : ['refused\n', 'ERR_PEER_DIED'],
  );
  expect(await gap()).toBeLessThan(MOST_MS);
});
