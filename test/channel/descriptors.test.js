'use strict';
// Descriptors that are passed about: whose they are, who may open a channel on one, and that none is left behind.
const { spawn, spawnSync } = require('node:child_process');
const { readdirSync, readlinkSync } = require('node:fs');
const net = require('node:net');
const { Worker } = require('node:worker_threads');
const { closing, crossings, errorWith, library, newPath, pair, runScript, success, watch } = require('./support.js');
const { built } = require('../support.js');

const { channelPair, connect, listen, openChannel } = crossings;
const nativeModule = JSON.stringify(require.resolve('../../lib/channel/native.js'));
const invalid = errorWith('ERR_INVALID_ARGUMENT');
/** Sockets and memory. A runtime without uv_poll also waits with an epoll and an eventfd, a little longer than the last channel lives. */
const countDescriptors = () => {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return 'anon_inode: the folder itself, closed since';
    }
  });
  return links.filter((link) => !link.startsWith('anon_inode:')).length;
};

describe('openChannel refuses a descriptor', () => {
  test('of a channel that is open, or about to open, and leaves the channel alone', async () => {
    // In a process of its own, which must not abort.
    const script = `
      const { openChannel } = require(${library});
      const { native } = require(${nativeModule});
      (async () => {
        const [ours, theirs] = native.socketPair();
        const opening = openChannel(ours);
        const codes = [await openChannel(ours).catch((error) => error.code)];
        const other = await openChannel(theirs);
        const channel = await opening;
        for (const fd of [ours, theirs]) codes.push(await openChannel(fd).catch((error) => error.code));
        await new Promise((resolve) => setTimeout(resolve, 50));
        channel.trySend('hello');
        codes.push(String(await other.receive()));
        await channel.close();
        await other.close();
        console.log(codes.join());
      })();`;
    const output = 'ERR_INVALID_ARGUMENT,ERR_INVALID_ARGUMENT,ERR_INVALID_ARGUMENT,hello\n';
    expect(await runScript(script).ended).toEqual({ ...success, output });
  });

  // It was refused, but also forgotten: close() left it open, and the peer was never told.
  test('of a client or a server in the middle of its handshake, which are still told of the end', async () => {
    const server = await listen(newPath());
    const before = countDescriptors();
    const connecting = connect(server.path);
    const fds = readdirSync('/proc/self/fd').map(Number);
    for (let turn = 0; turn < 5; turn++) {
      for (const fd of fds) await expect(openChannel(fd)).rejects.toEqual(invalid);
      fds.splice(0, fds.length, ...readdirSync('/proc/self/fd').map(Number));
    }
    const [a, b] = await Promise.all([connecting, server.accept()]);
    await a.close();
    expect(await b.receive()).toBe(null);
    await b.close();
    expect(countDescriptors()).toBe(before);
    await server.close();
  });

  test('of a channel of another thread', async () => {
    const [a, b] = await pair();
    const fds = readdirSync('/proc/self/fd').map(Number);
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { openChannel } = require(${library});
      (async () => {
        const codes = [];
        for (const fd of workerData) codes.push(await openChannel(fd, { timeout: 100 }).then(() => 'opened', (error) => error.code));
        parentPort.postMessage(codes);
      })();`;
    const worker = new Worker(source, { eval: true, workerData: fds });
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    const codes = await new Promise((resolve) => worker.once('message', resolve));
    await exited;
    expect(new Set(codes)).toEqual(new Set(['ERR_INVALID_ARGUMENT']));
    a.trySend('hello');
    expect(String(await b.receive())).toBe('hello');
  });

  test('of a server, and the server goes on', async () => {
    const before = new Set(readdirSync('/proc/self/fd'));
    const server = closing(await listen(newPath()));
    for (const fd of readdirSync('/proc/self/fd').filter((each) => !before.has(each)))
      await expect(openChannel(Number(fd))).rejects.toEqual(invalid);
    const client = closing(await connect(server.path));
    closing(await server.accept());
    client.trySend('hello');
  });

  test('of a port that has not been taken', async () => {
    const { channel, port } = channelPair();
    await expect(openChannel(port.fd)).rejects.toEqual(invalid);
    closing(await openChannel(port.take()));
    closing(await channel);
  });

  test('of a net.Socket', async () => {
    const path = newPath();
    const server = net.createServer().listen(path);
    await new Promise((resolve) => server.once('listening', resolve));
    const socket = net.connect(path);
    await new Promise((resolve) => socket.once('connect', resolve));
    await expect(openChannel(/** @type {any} */ (socket)._handle.fd)).rejects.toEqual(invalid);
    socket.destroy();
    server.close();
  });

  test('of standard input, whatever it is', async () => {
    const script = `require(${library}).openChannel(0).catch((error) => console.log(error.code))`;
    for (const stdin of /** @type {const} */ (['pipe', 'ignore'])) {
      const { stdout } = spawnSync(process.execPath, ['-e', script], { stdio: [stdin, 'pipe', 'inherit'] });
      expect(String(stdout)).toBe('ERR_INVALID_ARGUMENT\n');
    }
  });
});

// Another thread closed it, and until then its number could be opened, and was closed, once more. By then it was a file's.
test('a descriptor that a channel was opened on is free once the channel is closed', async () => {
  const PORTS = 20;
  const pairs = Array.from({ length: PORTS }, () => channelPair());
  const script = `
    const { openChannel } = require(${library});
    (async () => {
      for (let fd = 3; fd < 3 + ${PORTS}; fd++) {
        const channel = await openChannel(fd);
        await channel.close();
        const code = await openChannel(fd).catch((error) => error.code);
        if (code !== 'ERR_INVALID_ARGUMENT') console.log(fd, code);
      }
    })();`;
  const stdio = ['pipe', 'pipe', 'pipe', ...pairs.map(({ port }) => port.fd)];
  const child = watch(spawn(process.execPath, ['-e', script], { stdio: /** @type {any} */ (stdio) }));
  for (const { port } of pairs) port.close();
  const channels = await Promise.all(pairs.map(({ channel }) => channel));
  expect(await child.ended).toEqual(success);
  await Promise.all(channels.map((channel) => channel.close()));
});

// It waited for threads that a hostile client of another server kept, and hid the death of the child.
test('the copy of an end that a child has inherited is closed at once', async () => {
  const before = countDescriptors();
  const { channel, port } = channelPair();
  expect(port.fd).toBeGreaterThan(2);
  port.close();
  expect(countDescriptors()).toBeLessThanOrEqual(before + 2); // the other end, and the memory that waits to be sent
  await expect(channel).rejects.toEqual(errorWith('ERR_PEER_DIED'));
});

describe('a port that was taken for a worker', () => {
  /** Ends at once and opens nothing. */
  async function workerThatOpensNothing(/** @type {number} */ workerData) {
    const worker = new Worker('', { eval: true, workerData });
    await new Promise((resolve) => worker.once('exit', resolve));
  }

  test('and never opened leaves no descriptor once its time has run out', async () => {
    await workerThatOpensNothing(0); // what a first worker leaves open is none of ours
    const before = countDescriptors();
    for (let i = 0; i < 20; i++) {
      const { channel, port } = channelPair({ timeout: 100 });
      const failed = expect(channel).rejects.toEqual(errorWith('ERR_TIMEOUT'));
      await workerThatOpensNothing(port.take());
      await failed;
    }
    expect(countDescriptors()).toBe(before);
  });

  test('and never opened can be closed, and then the channel fails at once', async () => {
    const before = countDescriptors();
    const { channel, port } = channelPair({ timeout: Number.POSITIVE_INFINITY });
    await workerThatOpensNothing(port.take());
    port.close();
    await expect(channel).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    expect(countDescriptors()).toBe(before);
  });

  test('and has been opened is not affected by close()', async () => {
    const { channel, port } = channelPair();
    const other = closing(await openChannel(port.take()));
    port.close();
    const ours = closing(await channel);
    ours.trySend('hello');
    expect(String(await other.receive())).toBe('hello');
  });

  test('can be opened once', async () => {
    const { channel, port } = channelPair();
    const ticket = port.take();
    closing(await openChannel(ticket));
    closing(await channel);
    await expect(openChannel(ticket)).rejects.toEqual(errorWith('ERR_CLOSED'));
  });
});

test('a channel that is closed before the other end was taken leaves no descriptor of a taken port', async () => {
  const before = countDescriptors();
  const stop = new AbortController();
  const { channel, port } = channelPair({ signal: stop.signal });
  const ticket = port.take();
  stop.abort(new Error('enough'));
  await expect(channel).rejects.toThrow('enough');
  await expect(openChannel(ticket)).rejects.toEqual(errorWith('ERR_CLOSED'));
  expect(countDescriptors()).toBe(before);
});

describe('an inherited descriptor is not inherited further', () => {
  test('by a process that a Node program starts', async () => {
    const { channel, port } = channelPair();
    const script = `
      require(${library}).openChannel(3).then(async (channel) => {
        const grandchild = require('node:child_process').spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
        await channel.send(String(grandchild.pid));
        process.kill(process.pid, 'SIGKILL');
      });`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'inherit', 'inherit', port.fd] });
    port.close();
    const ours = closing(await channel);
    const grandchild = Number(String(await ours.receive()));
    const killed = new Promise((resolve) => child.once('exit', resolve));
    await expect(ours.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    process.kill(grandchild, 'SIGKILL');
    await killed;
  });

  test('by a process that a C program starts', async () => {
    const { channel, port } = channelPair();
    // The C program below opens the channel, starts a process, reports its id and is killed.
    const child = spawn(built('crossings-heir'), [], { stdio: ['ignore', 'inherit', 'inherit', port.fd] });
    port.close();
    const ours = closing(await channel);
    const grandchild = Number(String(await ours.receive()));
    await expect(ours.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    process.kill(grandchild, 'SIGKILL');
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once('exit', resolve));
  });
});

test('a handshake that fails because this process has no descriptors left does not blame the peer', async () => {
  const script = `
    const { openSync } = require('node:fs');
    const { native } = require(${nativeModule});
    const [ours, theirs] = native.socketPair();
    const region = native.createRegion(65536, false, false);
    native.sendHello(theirs, region.handle);
    try {
      for (;;) openSync('/dev/null');
    } catch {}
    try {
      native.receiveHello(ours, false);
    } catch ({ code, message }) {
      console.log(code, message);
    }`;
  const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 100; exec "$0" -e "$1"', process.execPath, script]);
  expect(String(stdout)).toMatch(/^ERR_SYSTEM .*Too many open files/);
});

test.each([
  ['a socket pair', 'native.socketPair()'],
  ['a region', 'native.createRegion(65536, false, true)'],
])('a worker that is terminated just before it makes %s leaves nothing', async (_, call) => {
  // The addon itself: the functions of lib/ would end at once, because V8 looks for a termination where they begin.
  const script = `
    const { native } = require(${nativeModule});
    const { readdirSync, readFileSync, readlinkSync } = require('node:fs');
    const { Worker } = require('node:worker_threads');
    const addon = Object.keys(require.cache).find((name) => name.endsWith('.node'));
    const source = \`
      const native = require(\${JSON.stringify(addon)});
      const [ours] = native.socketPair();
      require('node:worker_threads').parentPort.postMessage(0);
      native.waitReadable(ours, 1000);
      ${call};\`;
    const isOpen = (fd) => {
      try {
        return /^socket|memfd:crossings/.test(readlinkSync('/proc/self/fd/' + fd));
      } catch {
        return false; // the descriptor of the folder itself
      }
    };
    const left = () => [
      ...readdirSync('/proc/self/fd').filter((fd) => fd > 2 && isOpen(fd)),
      ...readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('memfd:crossings')),
    ];
    const worker = new Worker(source, { eval: true });
    worker.once('message', async () => {
      await worker.terminate();
      // A thread unmaps regions.
      for (let tries = 0; tries < 500 && left().length > 0; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(addon !== undefined, left());
    });`;
  expect(await runScript(script).ended).toEqual({ ...success, output: 'true []\n' });
});
