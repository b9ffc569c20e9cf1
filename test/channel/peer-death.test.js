'use strict';
// A peer that dies: every wait and every later call ends with ERR_PEER_DIED, and what it had sent is still delivered. A peer
// that is stopped, or that closes, has not died. The kill matrix (test/kill-matrix.test.js) does this at every named step.
const { execFileSync } = require('node:child_process');
const { Worker } = require('node:worker_threads');
const { closing, crossings, errorWith, library, newPath, pause, peer, runScript } = require('./support.js');
const { native } = require('../../lib/channel/native.js');

const { channelPair, connect, listen } = crossings;

const CAPACITY = 65536;
const BARE_LIMIT_MS = 20_000; // of a loop that never yields, which notices within milliseconds

const died = errorWith('ERR_PEER_DIED');

/** @type {ReturnType<typeof peer>[]} */
let idlers = [];
afterEach(async () => {
  for (const { child } of idlers) child.kill('SIGKILL');
  await Promise.all(idlers.map(({ ended }) => ended));
  idlers = [];
});

/** A channel to a process that does nothing. @param {any} [options] */
async function connectIdlePeer(options) {
  const path = newPath();
  const server = closing(await listen(path, { capacity: CAPACITY, ...options }));
  const idle = peer('idle', path);
  idlers.push(idle);
  const channel = closing(await server.accept());
  await idle.ready;
  return { channel, idle };
}

/**
 * A channel to a process that runs a script with `channel`, connected to this one.
 * @param {string} script
 * @param {any} [options]
 */
async function connectScript(script, options) {
  const path = newPath();
  const server = closing(await listen(path, { capacity: CAPACITY, ...options }));
  const process =
    runScript(`require(${library}).connect(${JSON.stringify(path)}, {capacity: ${CAPACITY}}).then(async (channel) => {
    ${script}
  })`);
  const channel = closing(await server.accept());
  return { channel, process };
}

/** Kills a process from another one, since the caller may block this one. @param {{child: {pid?: number}}} process */
function killSoon({ child }) {
  execFileSync('sh', ['-c', `(sleep 0.2; kill -9 ${child.pid}) >/dev/null 2>&1 &`]);
}

/** Fills the ring of a channel whose peer reads nothing. @param {any} channel */
function fill(channel) {
  while (channel.trySend(Buffer.alloc(5000)));
}

/** Reads a stream or an iterator to its end. @param {AsyncIterable<any>} messages */
async function readAll(messages) {
  for await (const message of messages) if (message === undefined) return;
}

describe('a pending call', () => {
  /** @type {[string, (channel: any) => Promise<unknown>][]} */
  const waits = [
    ['receive', (channel) => channel.receive()],
    ['receiveSync', async (channel) => channel.receiveSync()],
    ['for await', (channel) => readAll(channel)],
    ['batches', (channel) => readAll(channel.batches())],
    ['batches, reused', (channel) => readAll(channel.batches({ reuse: true }))],
    ['messages, reused', (channel) => readAll(channel.messages({ reuse: true }))],
    ['request', (channel) => channel.request('x')],
    ['a Node stream that is read', (channel) => readAll(channel.toDuplex())],
    ['web streams that are read', (channel) => readAll(channel.toWebStreams().readable)],
    [
      'send without room',
      async (channel) => {
        fill(channel);
        await channel.send(Buffer.alloc(50_000));
      },
    ],
    [
      'request without room',
      async (channel) => {
        fill(channel);
        await channel.request(Buffer.alloc(50_000));
      },
    ],
    [
      'a Node stream that is written',
      (channel) => {
        fill(channel);
        const stream = channel.toDuplex();
        stream.write(Buffer.alloc(50_000));
        return new Promise((_, reject) => stream.on('error', reject));
      },
    ],
    [
      'web streams that are written',
      async (channel) => {
        fill(channel);
        const writer = channel.toWebStreams().writable.getWriter();
        writer.closed.catch(() => {}); // rejects with the same error
        await writer.write(Buffer.alloc(50_000));
      },
    ],
  ];

  test.each(waits)('%s fails when the peer is killed', async (_, wait) => {
    const { channel, idle } = await connectIdlePeer();
    killSoon(idle);
    await expect(wait(channel)).rejects.toEqual(died);
  });

  test.each(['spin', 'sleep', 'spin-then-sleep'])('with wait: %s fails, for any number of them', async (wait) => {
    const { channel, idle } = await connectIdlePeer({ wait });
    const pending = [channel.receive(), channel.receive(), channel.request('x'), channel.request('y')];
    idle.child.kill('SIGKILL');
    const results = await Promise.allSettled(pending);
    expect(results).toEqual(pending.map(() => ({ status: 'rejected', reason: died })));
  });
});

describe('a loop that never yields', () => {
  const target = Buffer.alloc(CAPACITY);
  /** @type {[string, (channel: any) => unknown][]} */
  const attempts = [
    ['tryReceive', (channel) => channel.tryReceive()],
    ['tryReceiveInto', (channel) => channel.tryReceiveInto(target)],
    ['tryRead', (channel) => channel.tryRead(() => {})],
    ['trySend', (channel) => channel.trySend(target.subarray(0, 50_000))],
    ['corked trySend', (channel) => channel.trySend(target.subarray(0, 50_000))],
  ];

  test.each(attempts)('of %s learns that the peer was killed', async (name, attempt) => {
    const { channel, idle } = await connectIdlePeer();
    if (name.startsWith('corked')) channel.cork();
    killSoon(idle);
    const until = Date.now() + BARE_LIMIT_MS;
    expect(() => {
      while (Date.now() < until) for (let look = 0; look < 1000; look++) attempt(channel);
    }).toThrow(died);
  });
});

describe('closed', () => {
  test('is fulfilled when the peer is killed, with no call pending', async () => {
    const { channel, idle } = await connectIdlePeer();
    expect(channel.state).toBe('open');
    idle.child.kill('SIGKILL');
    expect(await channel.closed).toBe('peer-died');
    expect(channel.state).toBe('peer-died');
  });

  test('tells a side that only answers requests, after it has answered', async () => {
    const { channel } = await connectScript(`
      await channel.request('question');
      process.kill(process.pid, 'SIGKILL');
    `);
    /** @type {string[]} */
    const seen = [];
    channel.onRequest((/** @type {Buffer} */ request) => {
      seen.push(String(request));
      return request;
    });
    expect(await channel.closed).toBe('peer-died');
    expect(seen).toEqual(['question']);
  });

  test('is fulfilled while messages that the peer had sent can still be received', async () => {
    const { channel } = await connectScript(`
      channel.trySend('last words');
      process.kill(process.pid, 'SIGKILL');
    `);
    expect(await channel.closed).toBe('peer-died');
    expect(String(await channel.receive())).toBe('last words');
    await expect(channel.receive()).rejects.toEqual(died);
  });

  test('tells a clean close from death', async () => {
    const { channel } = await connectScript('channel.close()');
    expect(await channel.closed).toBe('peer-closed');
  });

  test('stays pending while the peer is only stopped', async () => {
    const { channel, idle } = await connectIdlePeer();
    idle.child.kill('SIGSTOP');
    expect(await Promise.race([channel.closed, pause(1000).then(() => 'pending')])).toBe('pending');
    idle.child.kill('SIGCONT');
  });
});

test('every later call fails with ERR_PEER_DIED', async () => {
  const { channel, idle } = await connectIdlePeer();
  const waiting = channel.receive();
  idle.child.kill('SIGKILL');
  await expect(waiting).rejects.toEqual(died);
  for (const call of [
    () => channel.trySend('x'),
    () => channel.tryReceive(),
    () => channel.tryReceiveInto(Buffer.alloc(10)),
    () => channel.tryRead(() => {}),
    () => channel.receiveSync(),
  ])
    expect(call).toThrow(died);
  for (const call of [
    () => channel.send('x'),
    () => channel.receive(),
    () => channel.request('x'),
    () => channel[Symbol.asyncIterator]().next(),
    () => channel.batches().next(),
    () => readAll(channel.toWebStreams().readable),
    () => readAll(channel.toDuplex()),
  ])
    await expect(call()).rejects.toEqual(died);
});

describe('what the peer sent before its death is delivered first', () => {
  const COUNT = 500;

  /** @type {[string, (channel: any, take: (message: any) => void) => any][]} */
  const ways = [
    [
      'receive',
      async (channel, take) => {
        for (;;) take(await channel.receive());
      },
    ],
    [
      'receiveSync',
      async (channel, take) => {
        for (;;) take(channel.receiveSync());
      },
    ],
    [
      'for await',
      async (channel, take) => {
        for await (const message of channel) take(message);
      },
    ],
    [
      'batches',
      async (channel, take) => {
        for await (const batch of channel.batches({ max: 7 })) batch.forEach(take);
      },
    ],
    [
      'batches, reused',
      async (channel, take) => {
        for await (const batch of channel.batches({ max: 7, reuse: true })) batch.forEach(take);
      },
    ],
    [
      'messages, reused',
      async (channel, take) => {
        for await (const message of channel.messages({ reuse: true })) take(message);
      },
    ],
    [
      'a Node stream',
      async (channel, take) => {
        for await (const message of channel.toDuplex({ objectMode: true })) take(message);
      },
    ],
    [
      'web streams',
      async (channel, take) => {
        for await (const message of channel.toWebStreams().readable) take(message);
      },
    ],
    [
      'tryReceive',
      async (channel, take) => {
        for (;;) {
          const message = channel.tryReceive();
          if (message) take(message);
          else await pause(1);
        }
      },
    ],
  ];

  test.each(ways)('by %s', async (_, receiveAll) => {
    const { channel, process } = await connectScript(`
      for (let i = 0; i < ${COUNT}; i++) channel.trySend('word ' + i);
      process.kill(process.pid, 'SIGKILL');
    `);
    await process.ended;
    /** @type {string[]} */
    const words = [];
    const take = (/** @type {Buffer} */ message) => words.push(String(message));
    await expect(receiveAll(channel, take)).rejects.toEqual(died);
    expect(words).toEqual(Array.from({ length: COUNT }, (_, i) => `word ${i}`));
  });

  // A stream that reads ahead holds messages that its user has not seen yet when the peer dies.
  test.each([true, false])('by a Node stream that is read slowly, objectMode: %s', async (objectMode) => {
    const { channel } = await connectScript(`
      for (let i = 0; i < 50; i++) channel.trySend(Buffer.alloc(1000, i));
      process.kill(process.pid, 'SIGKILL');
    `);
    const chunks = /** @type {Buffer[]} */ ([]);
    const readSlowly = async () => {
      for await (const chunk of channel.toDuplex({ objectMode })) {
        chunks.push(chunk);
        await pause(5);
      }
    };
    await expect(readSlowly()).rejects.toEqual(died);
    const expected = Buffer.concat(Array.from({ length: 50 }, (_, i) => Buffer.alloc(1000, i)));
    expect(Buffer.concat(chunks).equals(expected)).toBe(true);
  });

  test('also to a side that was only sending', async () => {
    const { channel, process } = await connectScript(`
      channel.trySend('last words');
      process.kill(process.pid, 'SIGKILL');
    `);
    await expect(
      (async () => {
        for (;;) await channel.send(Buffer.alloc(1000));
      })(),
    ).rejects.toEqual(died);
    await process.ended;
    expect(String(await channel.receive())).toBe('last words');
    await expect(channel.receive()).rejects.toEqual(died);
  });

  test('also responses, before the other requests fail', async () => {
    const { channel } = await connectScript(`
      channel.onRequest((request) => {
        if (String(request) === '2') process.kill(process.pid, 'SIGKILL');
        return request;
      });
    `);
    const results = await Promise.allSettled(['0', '1', '2', '3'].map((text) => channel.request(text)));
    const responses = results.filter(({ status }) => status === 'fulfilled');
    const texts = responses.map((result) => String(/** @type {any} */ (result).value));
    expect(texts).toEqual(['0', '1'].slice(0, texts.length)); // what it had published; it may have held some back
    for (const result of results.slice(texts.length)) expect(result).toEqual({ status: 'rejected', reason: died });
  });
});

describe('the other end of a process is death:', () => {
  test.each([
    ['process.exit()', 'process.exit(0)'],
    ['an uncaught exception', 'throw new Error("on purpose")'],
    ['an abort', 'process.abort()'],
    ['a process that runs out of work', 'channel.unref()'],
  ])('%s', async (_, script) => {
    const { channel, process } = await connectScript(`channel.trySend('x'); ${script}`);
    expect(String(await channel.receive())).toBe('x');
    await expect(channel.receive()).rejects.toEqual(died);
    await process.ended;
  });

  test('a worker that is terminated', async () => {
    const { channel: opening, port } = channelPair();
    const worker = new Worker(
      `const { workerData } = require('node:worker_threads');
      require(${library}).openChannel(workerData).then((channel) => {
        channel.trySend('x');
        setInterval(() => {}, 1000);
      });`,
      { eval: true, workerData: port.take() },
    );
    const channel = closing(await opening);
    expect(String(await channel.receive())).toBe('x');
    const noticing = expect(channel.receive()).rejects.toEqual(died);
    await worker.terminate();
    await noticing;
  });

  // The child lives until its standard input ends, after the test has seen the death.
  test.each([
    ['a program', `spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'], detached: true })`],
    ['a Node process', `fork('-', { execArgv: ['-e', 'process.stdin.resume()'], stdio: 'ignore', detached: true })`],
  ])('it is noticed although the dead process has started %s that still runs', async (_, start) => {
    const { channel, process: parent } = await connectScript(`
      const { fork, spawn } = require('node:child_process');
      const child = ${start};
      child.on('spawn', () => channel.trySend(String(child.pid)));
      await channel.receive();
    `);
    const pid = Number(String(await channel.receive()));
    try {
      const waiting = channel.receive();
      process.kill(pid, 'SIGSTOP'); // it would end with its parent's pipes
      parent.child.kill('SIGKILL');
      await expect(waiting).rejects.toEqual(died);
      process.kill(pid, 0); // throws unless the child still runs
    } finally {
      process.kill(pid, 'SIGKILL');
    }
  });
});

describe('not death:', () => {
  test('a peer that is stopped for a second, and continues', async () => {
    const path = newPath();
    const server = closing(await listen(path, { capacity: CAPACITY }));
    const echo = peer('echo', path);
    const channel = closing(await server.accept());
    await channel.send('before');
    expect(String(await channel.receive())).toBe('before');
    echo.child.kill('SIGSTOP');
    const waiting = channel.receive();
    /** @type {unknown} */
    let ended;
    waiting.catch((/** @type {unknown} */ error) => {
      ended = error;
    });
    while (channel.trySend(Buffer.alloc(1000)));
    const blocked = channel.send(Buffer.alloc(50_000));
    await pause(1000);
    for (let look = 0; look < 1e6; look++) channel.trySend('');
    expect(ended).toBeUndefined();
    echo.child.kill('SIGCONT');
    expect(await waiting).toHaveLength(1000);
    await readUntil(channel, 50_000);
    await blocked;
    await channel.close();
    expect(await echo.ended).toMatchObject({ status: 0 });
  });

  test('a clean close, even if the process is killed after it', async () => {
    const { channel, process } = await connectScript(`
      channel.trySend('x');
      channel.close();
      process.kill(process.pid, 'SIGKILL');
    `);
    await process.ended;
    expect(String(await channel.receive())).toBe('x');
    expect(await channel.receive()).toBeNull();
    expect(() => channel.trySend('x')).toThrow(errorWith('ERR_CLOSED'));
  });

  test('a peer that does nothing for a while', async () => {
    const { channel } = await connectIdlePeer();
    await expect(channel.receive({ signal: AbortSignal.timeout(300) })).rejects.toMatchObject({ name: 'TimeoutError' });
    for (let look = 0; look < 1e6; look++) if (channel.tryReceive() !== null) throw new Error('nothing was sent');
    expect(channel.trySend('x')).toBe(true);
  });
});

test('the death is noticed by a process that was blocked meanwhile', async () => {
  const { channel, idle } = await connectIdlePeer();
  const noticing = Promise.allSettled([channel.receive(), channel.request('x')]);
  killSoon(idle);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  const rejected = { status: 'rejected', reason: died };
  expect(await noticing).toEqual([rejected, rejected]);
});

test('the death of one peer does not disturb the channels to others', async () => {
  const path = newPath();
  const server = closing(await listen(path, { capacity: CAPACITY }));
  const echo = peer('echo', path);
  const good = closing(await server.accept());
  for (let i = 0; i < 5; i++) {
    const idle = peer('idle', path);
    const channel = closing(await server.accept());
    const waiting = channel.receive();
    await good.send('to the good one');
    idle.child.kill('SIGKILL');
    await expect(waiting).rejects.toEqual(died);
    expect(String(await good.receive())).toBe('to the good one');
  }
  await good.close();
  expect(await echo.ended).toMatchObject({ status: 0 });
});

test('a client that is killed during the handshake does not keep the next one out', async () => {
  const path = newPath();
  const server = closing(await listen(path, { capacity: CAPACITY }));
  const script = `
    const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
    native.sendHello = () => process.kill(process.pid, 'SIGKILL');
    require(${library}).connect(${JSON.stringify(path)});
  `;
  for (let i = 0; i < 3; i++) expect(await runScript(script).ended).toMatchObject({ signal: 'SIGKILL' });
  const accepting = server.accept();
  const channel = closing(await connect(path));
  const accepted = closing(await accepting);
  channel.trySend('good');
  expect(String(await accepted.receive())).toBe('good');
});

/** Receives until a message of this size arrives. @param {any} channel @param {number} size */
async function readUntil(channel, size) {
  while ((await channel.receive()).length !== size);
}

test('a peer that has rung until its socket was full does not hide its end behind the rings, nor stop this thread to take them', () => {
  const [ours, theirs] = native.socketPair();
  for (let i = 0; i < 1000; i++) native.ring(theirs);
  native.closeFd(theirs);
  // The socket stays readable, so the event loop calls again and again.
  let calls = 1;
  while (native.drain(ours)) calls++;
  expect(calls).toBeGreaterThan(2);
  expect(calls).toBeLessThan(1000);
  native.closeFd(ours);
});
