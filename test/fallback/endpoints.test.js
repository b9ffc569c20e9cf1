'use strict';
// Where channels over sockets meet: files, tickets, and sides that do not fit together.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} = require('node:fs');
const { Server } = require('node:net');
const { join } = require('node:path');
const { PassThrough } = require('node:stream');
const { tmpdir } = require('node:os');
const { Worker } = require('node:worker_threads');
const { KIND } = require('../../lib/channel/layout.js');
const { RingWriter } = require('../../lib/channel/ring-writer.js');
const { createMemory } = require('../../lib/fallback/memory.js');
const { Receiver } = require('../../lib/fallback/receiver.js');
const { SocketBell } = require('../../lib/fallback/socket-bell.js');
const { until } = require('../support.js');
const {
  closing,
  crossings,
  errorWith,
  folder,
  library,
  newPath,
  pause,
  peerArguments,
  runScript,
  success,
  watch,
} = require('../channel/support.js');

const { channelPair, connect, listen, openChannel } = crossings;
const SOCKET = { transport: 'socket', capacity: 65536 };
const invalid = errorWith('ERR_INVALID_ARGUMENT');

/** A script in a process of its own. @param {string} script @param {Record<string, string>} [env] */
const run = (script, env = {}) => watch(spawn(process.execPath, ['-e', script], { env: { ...process.env, ...env } }));

/** peer.js over sockets. @param {string} role @param {string} path @param {number} [count] */
const peer = (role, path, count = 0) =>
  watch(
    spawn(process.execPath, peerArguments(role, path, count), {
      env: { ...process.env, CROSSINGS_TEST_TRANSPORT: 'socket' },
    }),
  );

/** A server, and the one client that it accepts. @param {string} role @param {number} [count] */
async function withPeer(role, count) {
  const server = closing(await listen(newPath(), SOCKET));
  const { ended, child } = peer(role, server.path, count);
  return { channel: closing(await server.accept()), ended, child };
}

describe('two processes', () => {
  test('exchange messages in order, to the last one', async () => {
    const { channel, ended } = await withPeer('echo');
    const sent = (async () => {
      for (let i = 0; i < 5000; i++) await channel.send(`message ${i}`);
    })();
    for (let i = 0; i < 5000; i++) expect(String(await channel.receive())).toBe(`message ${i}`);
    await sent;
    await channel.close();
    expect(await ended).toEqual(success);
  });

  test('deliver everything that was sent before a close', async () => {
    const { channel, ended } = await withPeer('send', 3000);
    const { verify } = require('../channel/numbered-messages.js');
    let i = 0;
    for await (const message of channel) verify(message, i++);
    expect(i).toBe(3000);
    expect(await ended).toEqual(success);
  });

  test('notice a death at once, and an unreferenced channel does not keep a process alive', async () => {
    const idle = await withPeer('idle');
    const waiting = idle.channel.receive();
    idle.child.kill('SIGKILL');
    await expect(waiting).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    const { channel, ended } = await withPeer('unref');
    expect(await ended).toEqual(success);
    expect(await channel.closed).toBe('peer-died');
  });

  // While its socket was paused for the rest of a turn, nothing kept the process alive.
  test('keep running as long as they wait for messages', async () => {
    const server = closing(await listen(newPath(), { transport: 'socket' }));
    const script = `require(${library}).connect(${JSON.stringify(server.path)}, { transport: 'socket' }).then(async (channel) => {
      let bytes = 0;
      process.on('exit', () => console.log(bytes));
      for await (const message of channel) bytes += message.length;
      await channel.close(); });`;
    const { ended } = run(script);
    const channel = closing(await server.accept());
    await server.close();
    const message = Buffer.alloc(10_000);
    try {
      for (let i = 0; i < 3000; i++) await channel.send(message);
    } catch {} // the peer has ended: the number of bytes says so
    await channel.close();
    expect(await ended).toEqual({ ...success, output: '30000000\n' });
  });

  // The limit counted the time during which this process did not run: the peer had read nothing when the timer came.
  test('deliver everything, even if the one that closes is stopped for longer than it waits for its peer', async () => {
    const server = closing(await listen(newPath(), { transport: 'socket' }));
    const script = `require(${library}).connect(${JSON.stringify(server.path)}, { transport: 'socket' }).then(async (channel) => {
      let bytes = 0;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      for await (const message of channel) bytes += message.length;
      console.log(bytes);
      await channel.close(); });`;
    const { ended } = run(script);
    const channel = closing(await server.accept());
    for (let i = 0; i < 9; i++) await channel.send(Buffer.alloc(100_000));
    const closed = channel.close();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5500);
    await closed;
    expect(await ended).toEqual({ ...success, output: '900000\n' });
  });

  test('deliver what was sent before process.exit(), even in a turn that has no time left', async () => {
    const server = closing(await listen(newPath(), SOCKET));
    const script = `const { countCalls } = require('./lib/channel/turn.js');
      require(${library}).connect(${JSON.stringify(server.path)}, { transport: 'socket' }).then((channel) => {
        countCalls(1000);
        for (const message of ['first', 'second', 'third']) {
          channel.trySend(message);
          countCalls(1000);
        }
        process.on('exit', () => channel.trySend('fourth'));
        process.exit(0); });`;
    const { ended } = run(script);
    const channel = closing(await server.accept());
    for (const message of ['first', 'second', 'third', 'fourth']) expect(String(await channel.receive())).toBe(message);
    expect(await ended).toEqual(success);
  });

  test('deliver what was sent before process.exit()', async () => {
    const server = closing(await listen(newPath(), SOCKET));
    const script = `require(${library}).connect(${JSON.stringify(server.path)}, { transport: 'socket' }).then((channel) => {
      channel.send('first'); channel.send('second'); process.exit(0); });`;
    const { ended } = run(script);
    const channel = closing(await server.accept());
    expect(String(await channel.receive())).toBe('first');
    expect(String(await channel.receive())).toBe('second');
    expect(await ended).toEqual(success);
  });
});

// Deno reads more from the socket before what came behind the hello is taken: messages changed their order.
test('what arrives before the early bytes are taken comes after them', async () => {
  /** @type {string[]} */
  const taken = [];
  const take = jest.spyOn(Receiver.prototype, 'take').mockImplementation((bytes) => {
    taken.push(String(bytes));
    return bytes.length;
  });
  const [mine, theirs] = [1, 2].map(() => createMemory(65536, null, { isReleased: false }));
  const socket = /** @type {any} */ (new PassThrough({ objectMode: true }));
  Object.assign(socket, { ref() {}, unref() {} });
  new SocketBell(socket, mine, theirs, Buffer.from('early')).watch(() => {});
  expect(socket.isPaused()).toBe(true);
  socket.emit('data', Buffer.from(', later'));
  await pause(1);
  expect(taken).toEqual(['early, later']);
  expect(socket.isPaused()).toBe(false);
  take.mockRestore();
});

// The promise of close() waited for an event that had been emitted.
test('a channel whose socket has closed can be closed although bytes of both sides still wait', async () => {
  const take = jest.spyOn(Receiver.prototype, 'take').mockReturnValue(0);
  const [mine, theirs] = [1, 2].map(() => createMemory(2 ** 22, null, { isReleased: false }));
  const writer = new RingWriter(mine, theirs);
  for (let i = 0; i < 50; i++) writer.write(Buffer.alloc(60_000), KIND.MESSAGE, 0);
  writer.publish();
  const socket = /** @type {any} */ (new PassThrough());
  Object.assign(socket, { ref() {}, unref() {} });
  const bell = new SocketBell(socket, mine, theirs, Buffer.from('early'));
  bell.watch(() => {});
  socket.destroy();
  await once(socket, 'close');
  expect(bell.close()).toBeUndefined();
  take.mockRestore();
});

// In Bun, a socket that has ended is not destroyed yet, and each call would add a listener for its connection, as in Node.
test.each(['destroyed', 'pending'])('a socket that is %s is not asked to keep the process alive', (state) => {
  const [mine, theirs] = [1, 2].map(() => createMemory(65536, null, { isReleased: false }));
  const [ref, unref] = [jest.fn(), jest.fn()];
  const socket = /** @type {any} */ ({ [state]: true, ref, unref });
  const bell = new SocketBell(socket, mine, theirs, Buffer.alloc(0));
  for (const yes of [true, false]) bell.keepAlive(yes);
  expect(ref.mock.calls.length + unref.mock.calls.length).toBe(0);
});

describe('the socket file', () => {
  test('of a dead server is replaced, and a living server and other files are not', async () => {
    const path = newPath();
    const script = `require(${library}).listen(${JSON.stringify(path)}, { transport: 'socket' }).then(() => process.kill(process.pid, 'SIGKILL'))`;
    await run(script).ended;
    expect(existsSync(path)).toBe(true);
    const server = closing(await listen(path, SOCKET));
    await expect(listen(path, SOCKET)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
    closing(await connect(path, SOCKET));
    closing(await server.accept());
    const file = newPath();
    writeFileSync(file, 'precious');
    await expect(listen(file, SOCKET)).rejects.toThrow(`${file} exists and is not a socket.`);
    expect(readFileSync(file, 'utf8')).toBe('precious');
  });

  test('that several servers replace at the same time belongs to one of them', async () => {
    const folder = newPath();
    mkdirSync(folder);
    const path = join(folder, 'feed.sock');
    await run(
      `require(${library}).listen(${JSON.stringify(path)}, { transport: 'socket' }).then(() => process.kill(process.pid, 'SIGKILL'))`,
    ).ended;
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => listen(path, SOCKET)));
    const servers = all.flatMap((each) => (each.status === 'fulfilled' ? [closing(each.value)] : []));
    expect(servers).toHaveLength(1);
    for (const each of all)
      if (each.status === 'rejected') expect(each.reason).toEqual(errorWith('ERR_ADDRESS_IN_USE'));
    expect(readdirSync(folder)).toEqual(['feed.sock']);
    closing(await connect(path, SOCKET));
    closing(await servers[0].accept());
  });

  test('that belongs to another server is not removed', async () => {
    const path = newPath();
    const first = closing(await listen(path, SOCKET));
    rmSync(path);
    const second = closing(await listen(path, SOCKET));
    await first.close();
    expect(existsSync(path)).toBe(true);
    await second.close();
    expect(existsSync(path)).toBe(false);
  });

  test('is open to this user only, also when a worker listens', async () => {
    const path = newPath();
    const worker = new Worker(
      `require(${library}).listen(${JSON.stringify(path)}, { transport: 'socket' }).then(() => require('worker_threads').parentPort.postMessage(1));`,
      { eval: true },
    );
    await new Promise((resolve) => worker.once('message', resolve));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await worker.terminate();
  });

  test('has a path that fits, and is no pipe', async () => {
    await expect(listen(`/tmp/${'x'.repeat(110)}`, SOCKET)).rejects.toEqual(invalid);
    await expect(connect('\\\\.\\pipe\\crossings', SOCKET)).rejects.toThrow(
      String.raw`path must be the path of a Unix socket on linux; got "\\\\.\\pipe\\crossings".`,
    );
  });
});

describe('a ticket', () => {
  // The server says nothing of itself if it is closed in the same tick, and the folder was removed when the process ended.
  test.each([
    ['whose port is closed in the same tick', {}],
    ['whose signal is aborted', { signal: AbortSignal.abort() }],
  ])('of a pair %s leaves no folder', async (_, options) => {
    const before = process.listenerCount('exit');
    const { channel, port } = crossings.channelPair({ ...SOCKET, ...options });
    port.close();
    await expect(channel).rejects.toMatchObject({ message: expect.any(String) });
    await until(() => process.listenerCount('exit') === before); // until then, something is to be removed at the exit
  });

  test('opens the other end in a worker, once, and nothing is left of it', async () => {
    const { channel, port } = channelPair(SOCKET);
    const ticket = port.take();
    const worker = new Worker(
      `const { openChannel } = require(${library});
       openChannel(${ticket}, { transport: 'socket' }).then(async (channel) => {
         for await (const message of channel) await channel.send('worker: ' + message);
         await channel.close();
       });`,
      { eval: true },
    );
    const mine = closing(await channel);
    await mine.send('hello');
    expect(String(await mine.receive())).toBe('worker: hello');
    await expect(openChannel(ticket, SOCKET)).rejects.toEqual(errorWith('ERR_CLOSED'));
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('crossings-'))).toEqual([]);
    await mine.close();
    await new Promise((resolve) => worker.once('exit', resolve));
  });

  test('opens the other end in a child process', async () => {
    const { channel, port } = channelPair(SOCKET);
    const script = `require(${library}).openChannel(Number(process.env.TICKET), { transport: 'socket' }).then(async (channel) => {
      await channel.send('child'); await channel.close(); });`;
    const { ended } = run(script, { TICKET: String(port.take()) });
    const mine = closing(await channel);
    expect(String(await mine.receive())).toBe('child');
    expect(await ended).toEqual(success);
  });

  test('of a worker that ends too early is withdrawn by close(), an abort or the timeout', async () => {
    const closed = channelPair(SOCKET);
    const ticket = closed.port.take();
    closed.port.close();
    await expect(closed.channel).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    await expect(openChannel(ticket, SOCKET)).rejects.toEqual(errorWith('ERR_CLOSED'));
    await expect(channelPair({ ...SOCKET, timeout: 20 }).channel).rejects.toEqual(errorWith('ERR_TIMEOUT'));
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(channelPair({ ...SOCKET, signal }).channel).rejects.toThrow('enough');
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('crossings-'))).toEqual([]);
  });

  test('takes the place of a descriptor, which cannot be passed on', async () => {
    const { channel, port } = channelPair(SOCKET);
    const advice =
      "with transport: 'socket', an end is opened with a ticket. Pass the result of port.take() to the worker or child process, and call openChannel() with it there.";
    expect(() => port.fd).toThrow(`A port has no descriptor: ${advice}`);
    await expect(openChannel(3, SOCKET)).rejects.toThrow(`Descriptor 3 cannot be opened: ${advice}`);
    await expect(openChannel(3, SOCKET)).rejects.toEqual(errorWith('ERR_UNSUPPORTED'));
    await expect(openChannel(-1, SOCKET)).rejects.toEqual(invalid);
    port.close();
    await expect(channel).rejects.toThrow();
  });
});

describe('two sides with different transports are told so:', () => {
  const advice = 'Set the same transport at both ends.';

  test('a client over a socket of a server with shared memory', async () => {
    const server = closing(await listen(newPath()));
    const client = connect(server.path, SOCKET);
    await expect(client).rejects.toEqual(errorWith('ERR_PROTOCOL'));
    await expect(client).rejects.toThrow(
      `The server at ${server.path} may use shared memory, but this side uses transport: 'socket'. ${advice}`,
    );
    await expect(listen(server.path, SOCKET)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
  });

  test('a client with shared memory of a server over a socket', async () => {
    const server = closing(await listen(newPath(), SOCKET));
    const client = connect(server.path);
    await expect(client).rejects.toEqual(errorWith('ERR_PROTOCOL'));
    await expect(client).rejects.toThrow(
      `The server at ${server.path} may use transport: 'socket', but this side uses shared memory. ${advice}`,
    );
    await expect(listen(server.path)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
  });

  test('tickets, both ways round', async () => {
    const [shared, socket] = [channelPair(), channelPair(SOCKET)];
    const [first, second] = [shared.port.take(), socket.port.take()];
    await expect(openChannel(first, SOCKET)).rejects.toThrow('over shared memory, but this openChannel() uses');
    await expect(openChannel(second)).rejects.toThrow(`with transport: 'socket', but this openChannel() uses shared`);
    for (const { channel, port } of [shared, socket]) {
      port.close();
      await expect(channel).rejects.toThrow();
    }
  });
});

describe('what needs the event loop says so:', () => {
  test('receiveSync(), even if a message is there', async () => {
    const { channel, port } = channelPair(SOCKET);
    const other = closing(await openChannel(port.take(), SOCKET));
    const mine = closing(await channel);
    await other.send('x');
    expect(() => mine.receiveSync()).toThrow(errorWith('ERR_UNSUPPORTED'));
    expect(() => mine.receiveSync()).toThrow('Use receive().');
    expect(String(await mine.receive())).toBe('x');
  });

  // A check of the peer in the middle of the loop threw that sentence, and the message that had just been taken was lost.
  test('a slow loop that finds messages gets all of them', async () => {
    const options = { ...SOCKET, capacity: 2 ** 28 };
    const { channel, port } = channelPair(options);
    const [a, b] = (await Promise.all([channel, openChannel(port.take(), options)])).map(closing);
    const count = 135; // of 1 MiB each: the peer is checked after each 64 MiB
    for (let i = 0; i < count; i++) await a.send(Buffer.alloc(2 ** 20, i));
    await pause(1500); // all have arrived
    const until = performance.now() + 1100; // longer than a loop may only poll
    for (let got = 0; got < count; ) {
      const bytes = b.tryReceive();
      if (bytes === null) await pause(1);
      else expect(bytes[0]).toBe(got++);
      if (got === 100) while (performance.now() < until);
    }
  });

  test('a loop that only polls ends with a sentence instead of never', async () => {
    const { channel, port } = channelPair(SOCKET);
    closing(await openChannel(port.take(), SOCKET));
    const mine = closing(await channel);
    expect(() => {
      while (mine.tryReceive() === null);
    }).toThrow('await something in the loop.');
    expect(mine.state).toBe('open');
  });
});

test('with authenticate: true at both ends, messages are signed and checked; at one end, both are refused', async () => {
  const server = closing(await listen(newPath(), { ...SOCKET, authenticate: true }));
  const client = closing(await connect(server.path, { ...SOCKET, authenticate: true }));
  const served = closing(await server.accept());
  expect([client.authenticated, served.authenticated]).toEqual([true, true]);
  for (let i = 0; i < 300; i++) {
    await client.send(Buffer.alloc(i * 7, i));
    expect((await served.receive()).equals(Buffer.alloc(i * 7, i))).toBe(true);
  }
  await expect(connect(server.path, SOCKET)).rejects.toThrow('only the peer has set the option authenticate');
  expect(server.refusals.last.message).toContain('only this side has set the option authenticate');
});

// Node accepts all of them in one turn. Those whose hello had not been read by then were dropped as silent.
test('300 clients that connect at the same time are all served', async () => {
  const server = closing(await listen(newPath(), { ...SOCKET, maxChannelsPerUser: 1000 }));
  const script = `const { connect } = require(${library});
    Promise.all(Array.from({ length: 300 }, () => connect(${JSON.stringify(server.path)}, ${JSON.stringify(SOCKET)})))
      .then((channels) => Promise.all(channels.map((channel) => channel.close())));`;
  const { ended } = run(script);
  for (let i = 0; i < 300; i++) closing(await server.accept());
  expect(await ended).toEqual(success);
  expect(server.refusals.count).toBe(0);
});

test.each([
  ['whose folder does not exist', () => join(newPath(), 'x'), 'ENOENT'],
  ['below a file', () => '/dev/null/x', 'ENOTDIR'],
])('listen() at a path %s says so', async (_what, pathOf, reason) => {
  const path = pathOf();
  const listening = listen(path, SOCKET);
  await expect(listening).rejects.toEqual(errorWith('ERR_SYSTEM'));
  await expect(listening).rejects.toThrow(`Cannot listen at ${path}: ${reason}`);
});

test('listen() that Node refuses at once says so', async () => {
  const refuse = jest.spyOn(Server.prototype, 'listen').mockImplementationOnce(() => {
    throw new Error('Access to this API has been restricted.');
  });
  const path = newPath();
  const error = await listen(path, SOCKET).catch((/** @type {any} */ reason) => reason);
  refuse.mockRestore();
  expect(error).toEqual(errorWith('ERR_SYSTEM'));
  expect(error.message).toBe(`Cannot listen at ${path}: Access to this API has been restricted.`);
});

test('a stale socket at the longest path is replaced, and nothing is left beside it', async () => {
  const parent = mkdtempSync('/tmp/crossings-');
  const inside = join(parent, 'x'.repeat(95 - Buffer.byteLength(parent) - 1));
  mkdirSync(inside);
  const path = join(inside, 'eleven.sock'); // 107 bytes
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  expect(existsSync(path)).toBe(true);
  const server = await listen(path, SOCKET);
  closing(await connect(path, SOCKET));
  expect(readdirSync(inside)).toEqual(['eleven.sock']);
  await server.close();
  expect(readdirSync(inside)).toEqual([]);
  rmSync(parent, { recursive: true });
});

// Its second name had two characters then. A file that got this name later was removed when the server closed.
test('a folder whose path leaves no room for a random name is refused', async () => {
  const parent = mkdtempSync('/tmp/crossings-');
  const inside = join(parent, 'x'.repeat(96 - Buffer.byteLength(parent) - 1));
  mkdirSync(inside);
  const listening = listen(join(inside, 'short'), SOCKET);
  await expect(listening).rejects.toEqual(invalid);
  await expect(listening).rejects.toThrow('The folder of path must be at most 95 bytes');
  expect(readdirSync(inside)).toEqual([]);
  rmSync(parent, { recursive: true });
});

// Whoever can write to the folder could put a link in the place of another folder, and everything behind it was removed.
test('nothing is removed, and no mode is changed, behind a link that replaces the folder in which a socket is bound', async () => {
  const [around, theirs] = [join(folder, 'around'), join(folder, 'theirs')];
  for (const each of [around, theirs]) mkdirSync(each);
  writeFileSync(join(theirs, 'file'), 'x');
  chmodSync(theirs, 0o755);
  const script = `
    const fs = require('node:fs');
    const { mkdirSync } = fs;
    fs.mkdirSync = (path, ...more) => {
      const made = mkdirSync(path, ...more);
      fs.renameSync(path, path + '.away');
      fs.symlinkSync(${JSON.stringify(theirs)}, path);
      return made;
    };
    const { listen } = require(${library});
    (async () => {
      const server = await listen(${JSON.stringify(join(around, 'x.sock'))}, { transport: 'socket' });
      await server.close();
    })();`;
  await runScript(script).ended;
  expect(readdirSync(theirs)).toEqual(['file']);
  expect(statSync(theirs).mode & 0o777).toBe(0o755);
});

// The umask belongs to the whole process: files that other threads made at that moment got wrong modes.
test('listening does not touch the umask', async () => {
  const umask = jest.spyOn(process, 'umask');
  const server = closing(await listen(newPath(), { ...SOCKET, allowOtherUsers: true }));
  const { channel, port } = channelPair(SOCKET);
  expect(statSync(server.path).mode & 0o777).toBe(0o666);
  port.close();
  await expect(channel).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  expect(umask).not.toHaveBeenCalled();
  umask.mockRestore();
});

test('a socket file whose times have changed is still removed', async () => {
  const server = await listen(newPath(), SOCKET);
  utimesSync(server.path, 0, 0);
  await server.close();
  expect(existsSync(server.path)).toBe(false);
});

test('a server on a relative path, too long if absolute, removes its file after a change of directory', async () => {
  const parent = mkdtempSync('/tmp/crossings-');
  const deep = join(parent, 'x'.repeat(100));
  mkdirSync(deep);
  const script = `
    process.chdir(${JSON.stringify(deep)});
    const { listen } = require(${library});
    (async () => {
      const server = await listen('some.sock', { transport: 'socket' });
      process.chdir('/');
      await server.close();
    })();`;
  expect(await run(script).ended).toEqual(success);
  expect(readdirSync(deep)).toEqual([]);
  rmSync(parent, { recursive: true });
});

// The owner of the file was asked for on one of Node's threads, without a time limit.
test('connect() needs none of the threads that a program keeps busy', async () => {
  const pipe = newPath();
  spawnSync('mkfifo', [pipe]);
  const script = `
    const { open } = require('node:fs');
    const { connect, listen } = require(${library});
    const SOCKET = { transport: 'socket' };
    open(${JSON.stringify(pipe)}, () => {}); // until somebody writes
    (async () => {
      const server = await listen(${JSON.stringify(newPath())}, SOCKET);
      await connect(server.path, SOCKET);
      const { code } = await connect(${JSON.stringify(newPath())}, { ...SOCKET, timeout: 100 }).catch((error) => error);
      console.log(code);
      process.kill(process.pid, 'SIGKILL'); // exit() would wait for the thread
    })();`;
  expect(await run(script, { UV_THREADPOOL_SIZE: '1' }).ended).toEqual({
    status: null,
    signal: 'SIGKILL',
    output: 'ERR_TIMEOUT\n',
  });
});
