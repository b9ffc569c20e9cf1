'use strict';
// A server that has too much: too few descriptors, too many clients that say nothing, too many channels nobody accepts.
const { spawn, spawnSync } = require('node:child_process');
const { chmodSync, existsSync } = require('node:fs');
const { join } = require('node:path');
const { compile } = require('../hostile/build.js');
const { closing, crossings, errorWith, folder, library, newPath, pause, success, watch } = require('./support.js');
const { built, root, until } = require('../support.js');
const { native } = require('../../lib/channel/native.js');

const { connect, listen } = crossings;

/** Starts Node with a script and a limit on descriptors; ended after the test. @param {string} script @param {number} descriptors */
function runLimited(script, descriptors) {
  const command = `ulimit -n ${descriptors}; exec "$0" -e "$1"`;
  const watched = watch(spawn('sh', ['-c', command, process.execPath, script], { cwd: root }));
  closing({
    async close() {
      watched.child.kill('SIGKILL'); // does nothing if the test has passed
      await watched.ended;
    },
  });
  return watched;
}

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

  test.each(['before', 'after'])('but no silent client does that which came %s unref()', async (order) => {
    const path = newPath();
    const unref = { before: "once('data', () => server.unref())", after: "once('data', () => {}); server.unref()" }[
      order
    ];
    const child = runLimited(
      `${serverScript(path)}
      listen(${JSON.stringify(`${path}-2`)}, { timeout: Infinity }).then(async (server) => {
        (await opening).close();
        console.log('ready');
        process.stdin.${unref};
        process.stdin.on('end', () => {});
      });`,
      100,
    );
    await child.ready;
    await connectSilently(`${path}-2`);
    await pause(300); // the server has accepted it
    child.child.stdin?.end('go on');
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

// Each closed one kept the event loop alive for another turn: clients that came and went kept an unreferenced server's process alive.
test('unreferenced pollers that come and go do not keep the process alive', async () => {
  const script = `
    const { native } = require(${JSON.stringify(join(root, 'lib', 'channel', 'native.js'))});
    const poll = () => {
      const poller = new native.LoopPoller(0, () => {
        poller.close();
        poll();
      });
    };
    poll();
    setTimeout(() => console.log('ready'), 100);`;
  const program = watch(spawn(process.execPath, ['-e', script]));
  closing({
    async close() {
      program.child.kill('SIGKILL'); // does nothing if the test has passed
      await program.ended;
    },
  });
  program.child.stdin?.write('always readable');
  expect(await program.ended).toEqual({ ...success, output: 'ready\n' });
});

/** Connects and says nothing. @param {string} path @returns {Promise<number>} the descriptor */
async function connectSilently(path) {
  for (;;) {
    const fd = native.connect(path);
    if (fd >= 0) {
      closing({ close: async () => native.closeFd(fd) });
      return fd;
    }
    await pause(1); // the server does not listen yet, or the kernel's queue is full
  }
}

const forever = Number.POSITIVE_INFINITY;

describe('clients that say nothing', () => {
  test.each([64, 500])('do not keep others out: %i of them, and no time limit', async (count) => {
    const server = closing(await listen(newPath(), { timeout: forever }));
    for (let i = 0; i < count; i++) await connectSilently(server.path);
    for (let i = 0; i < 10; i++) {
      const client = closing(await connect(server.path, { timeout: 20_000 }));
      const served = closing(await server.accept());
      client.trySend('hello');
      expect((await served.receive()).toString()).toBe('hello');
    }
  });

  test('get nothing from the server, not even a descriptor on its way', async () => {
    const server = closing(await listen(newPath()));
    const silent = await connectSilently(server.path);
    closing(await connect(server.path)); // later, so the server has accepted the silent client
    closing(await server.accept());
    expect(native.receiveHello(silent, false)).toBe(null);
  });

  test('are refused when there are too many, the oldest first', async () => {
    const server = closing(await listen(newPath(), { timeout: forever }));
    for (let i = 0; i < 500; i++) await connectSilently(server.path);
    await until(() => server.refusals.count > 0);
    expect(server.refusals.last).toEqual(errorWith('ERR_TIMEOUT'));
    const last = await connectSilently(server.path);
    native.sendHello(last, native.createRegion(65536, false, false).handle);
    closing(await server.accept());
  });

  test('do not keep others out of a server in C', async () => {
    const path = newPath();
    const consumer = watch(spawn(built('crossings-consumer'), [path]));
    for (let i = 0; i < 200; i++) await connectSilently(path);
    native.closeFd(native.connect(path)); // and one that has gone
    const client = closing(await connect(path, { timeout: 4000 })); // each silent client has 5 s
    await client.send('hello');
    await client.close();
    expect(await consumer.ended).toEqual({ ...success, output: 'hello\n' });
  });

  test('give back the descriptors that others need', async () => {
    const path = newPath();
    const child = runLimited(
      `${serverScript(path)}
      (async () => {
        const server = await listen(${JSON.stringify(path)}, { timeout: Infinity });
        console.log('ready');
        const channel = await server.accept();
        await channel.send('hello');
        await channel.close();
        await server.close();
      })();`.replace(/const opening.*\n/, ''),
      60,
    );
    await child.ready;
    for (let i = 0; i < 100; i++) await connectSilently(path);
    const client = closing(await connect(path, { timeout: 20_000 }));
    expect(String(await client.receive())).toBe('hello');
    await client.close();
    expect(await child.ended).toEqual({ ...success, output: 'ready\n' });
  });

  // The other process runs as "nobody". Only root can start it, and it must be able to read this checkout.
  const nobody = { uid: 65534, gid: 65534, cwd: '/', encoding: /** @type {const} */ ('utf8') };
  const possible =
    process.getuid?.() === 0 && spawnSync(process.execPath, ['-e', `require(${library})`], nobody).status === 0;
  const reason = possible ? '' : ' (skipped: needs root and a checkout that other users can read)';
  (possible ? test : test.skip)(`of another user do not cost this user a place${reason}`, async () => {
    chmodSync(folder, 0o755);
    const server = closing(await listen(newPath(), { timeout: forever, allowOtherUsers: true }));
    const oldest = await connectSilently(server.path);
    const script = `
      const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
      (async () => {
        for (let connected = 0; connected < 500; ) {
          if (native.connect(${JSON.stringify(server.path)}) >= 0) connected++;
          else await new Promise((resolve) => setTimeout(resolve, 1));
        }
        console.log('ready');
        setInterval(() => {}, 1000);
      })();`;
    const flood = watch(spawn(process.execPath, ['-e', script], nobody));
    await flood.ready;
    await until(() => server.refusals.count > 0);
    native.sendHello(oldest, native.createRegion(65536, false, false).handle);
    expect(closing(await server.accept()).peer.pid).toBe(process.pid);
    flood.child.kill();
    await flood.ended;
  });
});

describe('a server limits what a user has open:', () => {
  const limit = errorWith('ERR_LIMIT_EXCEEDED');
  const small = { capacity: 65536 };

  test('channels', async () => {
    const server = closing(await listen(newPath(), { ...small, maxChannelsPerUser: 2 }));
    const open = [];
    for (let i = 0; i < 2; i++) open.push(closing(await connect(server.path, small)), closing(await server.accept()));
    await expect(connect(server.path, small)).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    expect(server.refusals).toEqual({ count: 1, last: limit });
    await open[1].close(); // the server's end
    closing(await connect(server.path, small));
    closing(await server.accept());
  });

  test('bytes of their rings, in both directions', async () => {
    const server = closing(await listen(newPath(), { ...small, maxBytesPerUser: 5 * 65536 }));
    closing(await connect(server.path, { capacity: 2 * 65536 }));
    const served = closing(await server.accept());
    // Its ring is too large.
    await expect(connect(server.path, { capacity: 2 * 65536 })).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    await until(() => server.refusals.count === 1);
    expect(server.refusals.last).toEqual(limit);
    closing(await connect(server.path, small));
    closing(await server.accept());
    await expect(connect(server.path, small)).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    await served.close();
    closing(await connect(server.path, small));
    closing(await server.accept());
  });

  test('a client that asks for more is refused, and the client refuses such a server', async () => {
    const server = closing(await listen(newPath(), { maxPeerCapacity: 2 ** 20 }));
    await expect(connect(server.path, { capacity: 2 ** 21 })).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    await until(() => server.refusals.count === 1);
    expect(server.refusals.last).toEqual(limit);
    await expect(connect(server.path, { maxPeerCapacity: 2 ** 19 })).rejects.toEqual(limit);
    closing(await connect(server.path, { capacity: 2 ** 20 }));
  });

  test.each([
    [{ maxPeerCapacity: 1 }],
    [{ maxPeerCapacity: 2 ** 31 }],
    [{ maxChannelsPerUser: 0 }],
    [{ maxBytesPerUser: '1 GiB' }],
  ])('the options %p are refused', async (options) => {
    await expect(listen(newPath(), options)).rejects.toEqual(errorWith('ERR_INVALID_ARGUMENT'));
  });
});

// Making room for one handshake looked at another one, which made room by dropping the first, whose descriptor was then used again.
test('a server without descriptors survives silent clients that all say hello at once', async () => {
  const path = newPath();
  const script = `${serverScript(path)}
    (async () => {
      const server = await opening;
      (async () => {
        for await (const channel of server) channel.closed.then(() => channel.close());
      })();
      process.stdout.write('ready');
      let taken = [];
      process.stdin.on('data', (command) => {
        if (String(command) === 'take') taken = takeAll();
        else for (const fd of taken) closeSync(fd);
        process.stdout.write(String(command));
        if (String(command) === 'release') setTimeout(() => process.exit(), 300);
      });
    })();`;
  const child = spawn(process.execPath, ['-e', script], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', (status, signal) => resolve({ status, signal })));
  const said = () => new Promise((resolve) => child.stdout.once('data', resolve));
  const tell = (/** @type {string} */ command) => {
    const answer = said();
    child.stdin.write(command);
    return answer;
  };
  await said();
  /** @type {number[]} */
  const clients = [];
  while (clients.length < 60) {
    const fd = native.connect(path);
    if (fd >= 0) clients.push(fd);
    else await pause(5);
  }
  await pause(300);
  await tell('take');
  const regions = clients.map(() => native.createRegion(65536, false, true));
  for (const [i, fd] of clients.entries()) {
    try {
      native.sendHello(fd, regions[i].handle);
    } catch (error) {
      expect(['ERR_SYSTEM', 'ERR_PEER_DIED']).toContain(/** @type {any} */ (error).code); // the server has dropped this client
    }
  }
  await pause(300);
  await tell('release');
  expect(await ended).toEqual({ status: 0, signal: null });
  for (const fd of clients) native.closeFd(fd);
  for (const { handle, buffer } of regions) native.releaseRegion(handle, buffer);
});

// 250 descriptors with each hello: four of them brought a program with a limit of 1024 there.
test('clients that pass many descriptors leave enough for the rest of the program', async () => {
  const program = compile(join(folder, 'handshakes'), ['test/hostile/handshakes.c'], ['-O1']);
  const path = newPath();
  const child = runLimited(
    `${serverScript(path)}
    (async () => {
      const server = await opening;
      // Another thread sees what those that close descriptors leave to it.
      const other = new (require('node:worker_threads').Worker)(
        \`const { closeSync, openSync } = require('node:fs');
        for (;;) closeSync(openSync('/dev/null'));\`,
        { eval: true },
      );
      let failure = 'none';
      other.on('error', ({ code }) => (failure = code));
      await new Promise((resolve) => other.on('online', resolve));
      console.log('ready');
      while (server.refusals.count < 400) await pause(1);
      await other.terminate();
      console.log(failure);
      await server.close();
    })();`,
    400,
  );
  await child.ready;
  const client = watch(spawn(program, [path, '400', '1', '9 or 250 descriptors']));
  expect((await client.ended).status).toBe(0);
  expect(await child.ended).toEqual({ ...success, output: 'ready\nnone\n' });
});

// Nobody would have accepted its clients.
test('a server that cannot be made leaves no socket', async () => {
  const { Poller } = native;
  const path = newPath();
  native.Poller = /** @type {any} */ (
    class {
      constructor() {
        throw new Error('no memory');
      }
    }
  );
  try {
    await expect(listen(path)).rejects.toThrow('no memory');
  } finally {
    native.Poller = Poller;
  }
  expect(existsSync(path)).toBe(false);
  closing(await listen(path));
});

// A peer can make it last until the memory of its closed channels is freed, which is done by another thread.
test('a client of a user whose closed channels are not freed yet waits, and is served once they are', async () => {
  const { isFree } = native;
  let isHeld = true;
  let looks = 0;
  native.isFree = (handle) => {
    looks++;
    return !isHeld && isFree(handle);
  };
  try {
    const server = closing(await listen(newPath(), { capacity: 65536, maxBytesPerUser: 2 ** 18 }));
    /** Connects, and closes both ends. */
    const exchange = async () => {
      const [client, served] = await Promise.all([connect(server.path, { capacity: 65536 }), server.accept()]);
      await Promise.all([client.close(), served.close()]);
    };
    for (let i = 0; i < 3; i++) await exchange(); // their rings have 3 * 2 ** 17 bytes
    let isServed = false;
    const last = exchange().then(() => {
      isServed = true;
    });
    const before = looks;
    await until(() => looks >= before + 20); // it was looked at again and again
    expect(isServed).toBe(false);
    isHeld = false;
    await last;
    expect(server.refusals.count).toBe(0);
  } finally {
    native.isFree = isFree;
  }
});
