'use strict';
// Two processes meet, part and die: listen, connect, channelPair, C peers, workers, and everybody else who might come.
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const v8 = require('node:v8');
const { runInNewContext } = require('node:vm');
const { Worker } = require('node:worker_threads');
/** @type {any} the types have a test of their own */
const crossings = require('../lib/index.js');
const { native } = require('../lib/channel/native.js');
const { message, check, sum } = require('./peers/peer.js');
const { built, root } = require('./support.js');

const { channelPair, connect, listen, openChannel } = crossings;
const folder = mkdtempSync(join(tmpdir(), 'meet-'));
let number = 0;
/** A path that nobody has used. */
const newPath = () => join(folder, `${number++}.sock`);
afterAll(() => rmSync(folder, { recursive: true }));

/** @type {any[]} */
let open = [];
afterEach(async () => {
  await Promise.all(open.map((thing) => thing.close()));
  open = [];
});

/** @template T @param {T} thing @returns {T} closed after the test */
function closing(thing) {
  open.push(thing);
  return thing;
}

/** @param {string} role @param {string} path @param {number} [count] */
function peer(role, path, count) {
  return watch(spawn(process.execPath, [join(__dirname, 'peers', 'peer.js'), role, path, String(count)]));
}

/** @param {import('node:child_process').ChildProcessWithoutNullStreams} child */
function watch(child) {
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (text) => {
    output += text;
  });
  const ended = new Promise((resolve) => child.on('close', (status, signal) => resolve({ status, signal, output })));
  const ready = new Promise((resolve) => child.stdout.once('data', resolve));
  return { child, ended, ready };
}

const well = { status: 0, signal: null, output: '' };
const code = (/** @type {string} */ name) => expect.objectContaining({ code: name });

describe('between two processes', () => {
  test.each([[10], [200_000]])('%i messages arrive whole and in order, then the end', async (count) => {
    const path = newPath();
    const sender = peer('send', path, count);
    const server = closing(await listen(path));
    const channel = closing(await server.accept());
    let i = 0;
    for await (const bytes of channel) check(bytes, i++);
    expect(i).toBe(count);
    expect(await sender.ended).toEqual(well);
  });

  test('the other way, against back-pressure', async () => {
    const path = newPath();
    const server = closing(await listen(path, { capacity: 65536 }));
    const receiver = peer('receive', path, 100_000);
    const channel = await server.accept();
    for (let i = 0; i < 100_000; i++) await channel.send(message(i));
    await channel.close();
    expect(await receiver.ended).toEqual(well);
  });

  test('ten million messages in tight loops: every number in order, and the same checksum', async () => {
    const path = newPath();
    const server = closing(await listen(path, { wait: 'spin' }));
    const sender = peer('flood', path, 10_000_000);
    const channel = closing(await server.accept());
    const words = new Uint32Array(16);
    const bytes = new Uint8Array(words.buffer);
    let checksum = 0;
    for (let i = 0; i < 10_000_000; i++) {
      let size = channel.tryReceiveInto(bytes);
      while (size < 0) size = channel.tryReceiveInto(bytes);
      if (words[0] !== i) throw new Error(`message ${words[0]} came where ${i} was due`);
      checksum = sum(checksum, words, size / 4);
    }
    expect(Number(String(await channel.receive()))).toBe(checksum);
    expect(await sender.ended).toEqual(well);
  });

  test('back-pressure keeps memory flat', async () => {
    const path = newPath();
    const server = closing(await listen(path, { capacity: 65536 }));
    const echo = peer('echo', path);
    const channel = await server.accept();
    const bytes = Buffer.alloc(1000);
    v8.setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 20_000; i++) {
      await channel.send(bytes);
      channel.tryReceive();
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (let i = 0; i < 3; i++) collect();
    await new Promise((resolve) => setTimeout(resolve, 20)); // buffers are swept beside us
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 << 20); // of 20 MB that were sent
    await channel.close();
    expect((await echo.ended).status).toBe(0);
  });

  test('start order does not matter', async () => {
    const path = newPath();
    const early = connect(path);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const server = closing(await listen(path));
    const [channel, other] = await Promise.all([early, server.accept()]);
    closing(channel);
    closing(other);
    channel.trySend('hello');
    expect((await other.receive()).toString()).toBe('hello');
    expect(other.peer).toEqual({ uid: process.getuid?.(), pid: process.pid });
  });

  test('one listener has many clients, each its own channel', async () => {
    const path = newPath();
    const server = closing(await listen(path));
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(path)));
    const served = await Promise.all(clients.map(() => server.accept()));
    for (const channel of [...clients, ...served]) closing(channel);
    for (const [i, channel] of served.entries()) channel.trySend(`to ${i}`);
    const got = await Promise.all(clients.map(async (client) => String(await client.receive())));
    expect(got.sort()).toEqual(served.map((_, i) => `to ${i}`).sort());
  });
});

describe('a peer that dies', () => {
  test('is noticed by whoever waits', async () => {
    const path = newPath();
    const server = closing(await listen(path));
    const idle = peer('idle', path);
    const channel = closing(await server.accept());
    const waiting = channel.receive();
    await idle.ready;
    idle.child.kill('SIGKILL');
    await expect(waiting).rejects.toEqual(code('ERR_PEER_DIED'));
    expect(() => channel.trySend('x')).toThrow(code('ERR_PEER_DIED'));
    expect(() => channel.tryReceive()).toThrow(code('ERR_PEER_DIED'));
    await expect(channel.request('x')).rejects.toEqual(code('ERR_PEER_DIED'));
  });

  test('is noticed by a sender without room, a requester, and receiveSync', async () => {
    for (const wait of [
      async (/** @type {any} */ channel) => {
        while (channel.trySend(Buffer.alloc(5000)));
        await channel.send(Buffer.alloc(50_000));
      },
      (/** @type {any} */ channel) => channel.request('x'),
      async (/** @type {any} */ channel) => channel.receiveSync(),
    ]) {
      const path = newPath();
      const server = closing(await listen(path, { capacity: 65536 }));
      const idle = peer('idle', path);
      const channel = closing(await server.accept());
      await idle.ready;
      execFileSync('sh', ['-c', `(sleep 0.2; kill -9 ${idle.child.pid}) >/dev/null 2>&1 &`]);
      await expect(wait(channel)).rejects.toEqual(code('ERR_PEER_DIED'));
    }
  });

  test('leaves what it had sent to be read', async () => {
    const path = newPath();
    const server = closing(await listen(path));
    const script = `require('./lib').connect(${JSON.stringify(path)}).then((c) => { c.trySend('last words'); process.kill(process.pid, 'SIGKILL'); })`;
    const dying = watch(spawn(process.execPath, ['-e', script], { cwd: root }));
    const channel = closing(await server.accept());
    await dying.ended;
    expect((await channel.receive()).toString()).toBe('last words');
    await expect(channel.receive()).rejects.toEqual(code('ERR_PEER_DIED'));
  });
});

describe('listening', () => {
  test('makes a socket file for this user only, and removes it', async () => {
    const path = newPath();
    const server = await listen(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await server.close();
    expect(existsSync(path)).toBe(false);
    await expect(server.accept()).rejects.toEqual(code('ERR_CLOSED'));
  });

  test('opens it to others only when asked', async () => {
    const path = newPath();
    closing(await listen(path, { allowOtherUsers: true }));
    expect(statSync(path).mode & 0o777).toBe(0o666);
  });

  test('is refused where somebody listens already, who stays', async () => {
    const path = newPath();
    const server = closing(await listen(path));
    await expect(listen(path)).rejects.toEqual(code('ERR_ADDRESS_IN_USE'));
    const client = closing(await connect(path));
    closing(await server.accept()); // the attempt above may have come first
    client.trySend('still there');
  });

  test('takes over a socket file that nobody answers on', async () => {
    const path = newPath();
    const script = `require('./lib').listen(${JSON.stringify(path)}).then(() => process.kill(process.pid, 'SIGKILL'))`;
    await watch(spawn(process.execPath, ['-e', script], { cwd: root })).ended;
    expect(existsSync(path)).toBe(true);
    closing(await listen(path));
    closing(await connect(path));
  });

  test('leaves anything else that stands at the path alone', async () => {
    const path = newPath();
    writeFileSync(path, 'mine');
    await expect(listen(path)).rejects.toEqual(code('ERR_ADDRESS_IN_USE'));
    expect(readFileSync(path, 'utf8')).toBe('mine');
    const other = net.createServer().listen(newPath());
    await new Promise((resolve) => other.once('listening', resolve));
    await expect(listen(/** @type {string} */ (other.address()))).rejects.toEqual(code('ERR_ADDRESS_IN_USE'));
    other.close();
  });

  test('ends with the process, file and all', async () => {
    const path = newPath();
    const script = `require('./lib').listen(${JSON.stringify(path)}).then(() => process.exit(0))`;
    expect(await watch(spawn(process.execPath, ['-e', script], { cwd: root })).ended).toEqual(well);
    expect(existsSync(path)).toBe(false);
  });

  test('accept can be aborted, and the loop over clients ends with the server', async () => {
    const server = await listen(newPath());
    const stop = new AbortController();
    const aborted = server.accept({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const loop = (async () => {
      for await (const _ of server);
      return 'ended';
    })();
    await server.close();
    expect(await loop).toBe('ended');
  });

  test.each([[undefined], [''], [42], ['x'.repeat(108)], ['a\0b']])('at %p is refused', async (path) => {
    await expect(listen(/** @type {any} */ (path))).rejects.toEqual(code('ERR_INVALID_ARGUMENT'));
    await expect(connect(/** @type {any} */ (path))).rejects.toEqual(code('ERR_INVALID_ARGUMENT'));
  });

  test('in a folder that is not there is refused by the system, in words', async () => {
    await expect(listen('/no/such/folder/x.sock')).rejects.toMatchObject({
      code: 'ERR_SYSTEM',
      message: expect.stringContaining('/no/such'),
    });
  });
});

describe('connecting', () => {
  test('gives up after its timeout, and when aborted', async () => {
    await expect(connect(newPath(), { timeout: 30 })).rejects.toEqual(code('ERR_TIMEOUT'));
    const stop = new AbortController();
    const aborted = connect(newPath(), { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  test('to something that does not speak is given up', async () => {
    const mute = closing(await listenMute());
    await expect(connect(mute.path, { timeout: 50 })).rejects.toEqual(code('ERR_TIMEOUT'));
  });
});

/** A socket of the right kind on which nobody ever says a word. */
async function listenMute() {
  const path = newPath();
  const fd = native.listen(path, false);
  return { path, close: async () => native.unlisten(path, fd) };
}

describe('strangers', () => {
  /** Whoever comes first must not keep the next one out. @param {(path: string) => Promise<any>} stranger @param {any} [options] */
  async function survives(stranger, options = {}) {
    const path = newPath();
    const server = closing(await listen(path, options));
    const left = await stranger(path);
    const client = closing(await connect(path));
    const channel = closing(await server.accept());
    client.trySend('hello');
    expect((await channel.receive()).toString()).toBe('hello');
    return { server, left };
  }

  /** A socket of ours in the hand of somebody hostile. @param {string} path @param {(fd: number) => any} act */
  const raw = async (path, act) => {
    const fd = native.connect(path);
    closing({ close: async () => native.closeFd(fd) });
    return act(fd);
  };

  test('that say nothing hold nobody up, and are dropped in time', async () => {
    const { server } = await survives(
      async (path) => {
        for (let i = 0; i < 10; i++) await raw(path, () => {});
      },
      { timeout: 60 },
    );
    while (server.refusals.count < 10) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(server.refusals.last).toEqual(code('ERR_TIMEOUT'));
  });

  test('that talk nonsense, or leave at once, are turned away', async () => {
    const { server } = await survives((path) => raw(path, (fd) => native.ring(fd)));
    while (server.refusals.count < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(server.refusals.last).toEqual(code('ERR_PROTOCOL'));
    await survives(async (path) => native.closeFd(native.connect(path)));
  });

  // Only root can become somebody else, who must be able to read this checkout.
  const other = { uid: 65534, gid: 65534, cwd: '/', encoding: /** @type {const} */ ('utf8') };
  const library = JSON.stringify(join(root, 'lib'));
  const canBeOther =
    process.getuid?.() === 0 && spawnSync(process.execPath, ['-e', `require(${library})`], other).status === 0;
  if (!canBeOther) console.log('Peers of another user cannot be tried here (not root, or a private checkout): skipped');

  /** What somebody else finds who connects. @param {string} path @param {object} [options] */
  const connectAsOther = (path, options) => {
    const script = `require(${library}).connect(${JSON.stringify(path)}, ${JSON.stringify(options ?? {})})
      .then((channel) => channel.receive(), (error) => error.code).then(console.log, (error) => console.log(error.code)).then(() => process.exit())`;
    return watch(spawn(process.execPath, ['-e', script], other)).ended.then(({ output }) => output.trim());
  };

  (canBeOther ? describe : describe.skip)('of another user', () => {
    beforeAll(() => chmodSync(folder, 0o755));

    test('cannot even open the socket file', async () => {
      const server = closing(await listen(newPath()));
      expect(await connectAsOther(server.path)).toBe('ERR_SYSTEM');
    });

    test("are turned away by the kernel's word where the file lets them in", async () => {
      const server = closing(await listen(newPath()));
      chmodSync(server.path, 0o666);
      expect(await connectAsOther(server.path, { allowOtherUsers: true })).toBe('ERR_PEER_DIED');
      expect(server.refusals.last).toEqual(code('ERR_NOT_AUTHORIZED'));
    });

    test('trust us as little, unless told to', async () => {
      const server = closing(await listen(newPath(), { allowOtherUsers: true }));
      expect(await connectAsOther(server.path)).toBe('ERR_NOT_AUTHORIZED');
    });

    test('come in where both sides allow it', async () => {
      const server = closing(await listen(newPath(), { allowOtherUsers: true }));
      const outcome = connectAsOther(server.path, { allowOtherUsers: true });
      const channel = closing(await server.accept());
      expect(channel.peer.uid).toBe(65534);
      await channel.close();
      expect(await outcome).toBe('null');
    });
  });
});

describe('a peer in C', () => {
  test('feeds a Node consumer, in either start order', async () => {
    for (const late of [false, true]) {
      const path = newPath();
      const before = late ? null : spawn(built('crossings-producer'), [path, '5000']);
      const server = closing(await listen(path));
      const producer = watch(before ?? spawn(built('crossings-producer'), [path, '5000']));
      const channel = closing(await server.accept());
      let i = 0;
      for await (const bytes of channel) expect(bytes.toString()).toBe(`message ${i++}`);
      expect(i).toBe(5000);
      expect(await producer.ended).toEqual(well);
    }
  });

  test('is fed by a Node producer', async () => {
    const path = newPath();
    const consumer = watch(spawn(built('crossings-consumer'), [path]));
    const channel = await connect(path);
    for (let i = 0; i < 5000; i++) await channel.send(`line ${i}`);
    await channel.close();
    const { status, output } = await consumer.ended;
    expect(status).toBe(0);
    expect(output).toBe(Array.from({ length: 5000 }, (_, i) => `line ${i}\n`).join(''));
  });

  test('notices that its Node peer died, and says so', async () => {
    const path = newPath();
    const consumer = watch(spawn(built('crossings-consumer'), [path]));
    const idle = peer('idle', path);
    await idle.ready;
    idle.child.kill('SIGKILL');
    const { status, output } = await consumer.ended;
    expect(status).toBe(1);
    expect(output).toContain('the peer died without closing the channel');
  });

  test('gives up in words when nobody listens', async () => {
    const { status, output } = await watch(spawn(built('crossings-producer'), ['/no/such/place.sock', '1'])).ended;
    expect(status).toBe(1);
    expect(output).toContain('timed out');
  });
});

describe('channelPair', () => {
  test('hands an end to a worker, several at once', async () => {
    const workers = Array.from({ length: 3 }, async () => {
      const { channel, port } = channelPair();
      const source = `
        const { workerData } = require('node:worker_threads');
        const { openChannel } = require(${JSON.stringify(join(root, 'lib'))});
        (async () => {
          const channel = await openChannel(workerData);
          for await (const message of channel) await channel.send(message);
          await channel.close();
        })();`;
      const worker = new Worker(source, { eval: true, workerData: port.take() });
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      const end = await channel;
      for (let i = 0; i < 2000; i++) {
        end.trySend(message(i));
        check(await end.receive(), i);
      }
      await end.close();
      return exited;
    });
    expect(await Promise.all(workers)).toEqual([0, 0, 0]);
  });

  test.each([0, 1, 5, 50])('notices a worker that is terminated (%i ms later)', async (ms) => {
    const { channel, port } = channelPair();
    const source = `require(${JSON.stringify(join(root, 'lib'))}).openChannel(require('node:worker_threads').workerData).then((c) => c.receive())`;
    const worker = new Worker(source, { eval: true, workerData: port.take() });
    const end = closing(await channel);
    await new Promise((resolve) => setTimeout(resolve, ms));
    const told = expect(end.receive()).rejects.toEqual(code('ERR_PEER_DIED'));
    await worker.terminate();
    await told;
  });

  test('hands an end to a child process', async () => {
    const { channel, port } = channelPair();
    const child = spawn(process.execPath, [join(__dirname, 'peers', 'peer.js'), 'echo', 'fd', '3'], {
      stdio: ['ignore', 'inherit', 'inherit', port.fd],
    });
    port.close();
    const end = await channel;
    for (let i = 0; i < 500; i++) {
      await end.send(message(i));
      check(await end.receive(), i);
    }
    expect(end.peer.pid).toBe(process.pid); // a socketpair is made by one process: the kernel knows no other
    await end.close();
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
  });

  test('an end that nobody opens times out', async () => {
    const { channel, port } = channelPair({ timeout: 30 });
    await expect(channel).rejects.toEqual(code('ERR_TIMEOUT'));
    port.close();
    expect(() => port.fd).toThrow(code('ERR_CLOSED'));
  });

  test('receiveSync serves a worker that sleeps', async () => {
    const { channel, port } = channelPair();
    const source = `
      const { openChannel } = require(${JSON.stringify(join(root, 'lib'))});
      openChannel(require('node:worker_threads').workerData, { spinMicros: 0 }).then((c) => {
        for (let m; (m = c.receiveSync()) !== null; ) c.trySend(m);
        return c.close();
      });`;
    const worker = new Worker(source, { eval: true, workerData: port.take() });
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    const end = await channel;
    for (let i = 0; i < 50; i++) {
      if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 3));
      end.trySend(message(i));
      check(await end.receive(), i);
    }
    await end.close();
    expect(await exited).toBe(0);
  });
});

describe('life and death of the process', () => {
  test('an idle process can end: unref', async () => {
    const path = newPath();
    const server = closing(await listen(path));
    const idle = peer('unref', path);
    closing(await server.accept());
    expect(await idle.ended).toEqual(well);
  });

  test('an idle channel takes no processor time', async () => {
    const path = newPath();
    const server = closing(await listen(path));
    const sleeper = peer('sleep', path);
    const channel = closing(await server.accept());
    channel.trySend('start');
    await new Promise((resolve) => setTimeout(resolve, 200));
    // Switches of its own will are waits: were it to poll, it would be woken all the time.
    const switches = () =>
      Number(/voluntary_ctxt_switches:\s+(\d+)/.exec(readFileSync(`/proc/${sleeper.child.pid}/status`, 'utf8'))?.[1]);
    const before = switches();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(switches() - before).toBeLessThanOrEqual(2);
    channel.trySend('stop');
    await channel.receive();
    expect(await sleeper.ended).toEqual(well);
  });

  test('a thousand times connected and closed, descriptors and maps are where they were', async () => {
    const script = `
      const { connect, listen } = require('./lib');
      const { readdirSync, readFileSync } = require('node:fs');
      const held = () => {
        for (let i = 0; i < 3; i++) gc();
        return { fds: readdirSync('/proc/self/fd').length, maps: readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((l) => l.includes('memfd:crossings')).length, kb: process.memoryUsage().rss >> 10 };
      };
      (async () => {
        const server = await listen(${JSON.stringify(newPath())});
        const once = async () => {
          const [a, b] = await Promise.all([connect(server.path), server.accept()]);
          a.trySend('x');
          await b.receive();
          await Promise.all([a.close(), b.close()]);
        };
        for (let i = 0; i < 50; i++) await once();
        await new Promise((r) => setTimeout(r, 50));
        const before = held();
        for (let i = 0; i < 1000; i++) await once();
        await new Promise((r) => setTimeout(r, 50));
        const after = held();
        await server.close();
        console.log(JSON.stringify({ before, after }));
      })();`;
    const { status, output } = await watch(spawn(process.execPath, ['--expose-gc', '-e', script], { cwd: root })).ended;
    expect(status).toBe(0);
    const { before, after } = JSON.parse(output);
    expect(after.fds).toBe(before.fds);
    expect(after.maps).toBe(before.maps);
    expect(after.kb - before.kb).toBeLessThan(40_000);
  });

  test('views never outlive their mapping', async () => {
    const script = `
      const { channelPair, openChannel } = require('./lib');
      const { native } = require('./lib/channel/native.js');
      (async () => {
        // Both kinds of buffer, released and then used by somebody who kept them: nothing is read, nobody dies.
        for (const shared of [false, true]) {
          const region = native.createRegion(65536, false, shared);
          const view = new Int32Array(region.buffer);
          view[2000] = 42;
          native.releaseRegion(region.handle, region.buffer);
          if (view.length !== 0 && view[2000] === 42) throw new Error('memory was read after its release');
          gc();
          view[1000] = 1;
        }
        // Dropped without a release: the collector does it.
        for (let i = 0; i < 50; i++) native.createRegion(1 << 20, false, i % 2 === 0);
        for (let i = 0; i < 5; i++) { gc(); await new Promise((r) => setTimeout(r, 5)); }
        const maps = require('node:fs').readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((l) => l.includes('memfd:crossings'));
        console.log(maps.length);
      })();`;
    const { status, output } = await watch(spawn(process.execPath, ['--expose-gc', '-e', script], { cwd: root })).ended;
    expect({ status, output: output.trim() }).toEqual({ status: 0, output: '0' });
  });

  test('no shared memory and no socket file is left in the file system', async () => {
    expect(readdirSync('/dev/shm').filter((name) => name.includes('crossings'))).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('streams', () => {
  test('a Duplex carries messages in object mode, bytes otherwise', async () => {
    for (const objectMode of [true, false]) {
      const { channel, port } = channelPair({ capacity: 65536 });
      const far = (await openChannel(port.take(), { capacity: 65536 })).toDuplex({ objectMode });
      const near = (await channel).toDuplex({ objectMode });
      const got = /** @type {Buffer[]} */ ([]);
      far.on('data', (/** @type {Buffer} */ chunk) => got.push(chunk));
      const ended = new Promise((resolve) => far.once('end', resolve));
      const sent = Array.from({ length: 300 }, (_, i) => message(i));
      for (const chunk of sent) near.write(chunk);
      if (!objectMode) near.write(Buffer.alloc(500_000, 9)); // larger than any one message
      near.end();
      near.once('finish', () => near.destroy());
      await ended;
      if (objectMode) expect(got).toEqual(sent);
      else expect(Buffer.concat(got)).toEqual(Buffer.concat([...sent, Buffer.alloc(500_000, 9)]));
      far.destroy();
    }
  });

  test('web streams carry messages', async () => {
    const { channel, port } = channelPair();
    const far = (await openChannel(port.take())).toWebStreams();
    const near = (await channel).toWebStreams();
    const writer = near.writable.getWriter();
    await writer.write('one');
    await writer.write('two');
    await writer.close();
    const got = [];
    for await (const chunk of far.readable) got.push(String(chunk));
    expect(got).toEqual(['one', 'two']);
    await far.writable.close();
  });
});

test('the package can be imported by an ES module', () => {
  const script =
    "import crossings, { listen, connect, CrossingsError } from './lib/index.js'; console.log(typeof listen, typeof connect, typeof CrossingsError, typeof crossings.channelPair)";
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8' });
  expect(output.trim()).toBe('function function function function');
});
