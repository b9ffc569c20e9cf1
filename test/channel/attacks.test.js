'use strict';
// Attacks on a channel from inside its own program and by its peer. Each one ended the process, stopped the event loop or blocked a
// channel for good when it was found.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const vm = require('node:vm');
const { Pump } = require('../../lib/channel/pump.js');
const { RingReader } = require('../../lib/channel/ring-reader.js');
const { RingWriter } = require('../../lib/channel/ring-writer.js');
const { PENDING, Waiters } = require('../../lib/channel/waiters.js');
const { createMemory } = require('../../lib/fallback/memory.js');
const { closedByHook } = require('./raw-peer.js');
const { crossings, errorWith, library, pair, pause, runScript } = require('./support.js');

const hasPython = spawnSync('python3', ['-c', 'import socket; socket.send_fds']).status === 0;

// The victim was then its own peer: one that answers each message never slept again.
(hasPython ? test : test.skip)('a peer that sends back the region of this side is refused', async () => {
  const script = `
import socket
end = socket.socket(fileno=3)
end.setblocking(True)
hello, descriptors, _, _ = socket.recv_fds(end, 64, 1)
socket.send_fds(end, [hello], descriptors)
end.recv(1)`;
  for (const authenticate of [false, true]) {
    const { channel, port } = crossings.channelPair({ authenticate });
    const child = spawn('python3', ['-c', script], { stdio: ['ignore', 'ignore', 'inherit', port.fd] });
    port.close();
    await expect(channel).rejects.toEqual(errorWith('ERR_PROTOCOL'));
    await once(child, 'close');
  }
});

test('a Node stream of bytes fails if decode returns null', async () => {
  const [a, b] = await pair(crossings.structured);
  const stream = b.toDuplex();
  const failed = new Promise((resolve) => stream.on('error', resolve));
  stream.resume();
  await a.send(null);
  expect(await failed).toEqual(errorWith('ERR_INVALID_ARGUMENT'));
});

/** Runs `call` and ends it after 20 ms, without its finally blocks. @param {() => void} call */
const endByTimeout = (call) =>
  expect(() => vm.runInNewContext('call()', { call }, { timeout: 20 })).toThrow(/timed out/);

test('a tryRead callback that a vm timeout has ended does not block the channel', async () => {
  const [a, b] = await pair();
  for (const text of ['one', 'two']) await a.send(text);
  let isCalled = false;
  // On a busy machine, the time may be up before the callback is called.
  while (!isCalled) {
    endByTimeout(() =>
      b.tryRead(() => {
        isCalled = true;
        for (;;);
      }),
    );
  }
  expect(String(await b.receive())).toBe('two');
});

test('a receiveSync that a vm timeout has ended loses no wake-up', async () => {
  const [a, b] = await pair({ wait: 'sleep' });
  endByTimeout(() => {
    for (;;) {
      try {
        b.receiveSync({ timeout: 1 });
      } catch (error) {
        if (/** @type {any} */ (error).code !== 'ERR_TIMEOUT') throw error;
      }
    }
  });
  for (const text of ['one', 'two']) {
    const received = b.receive();
    await pause(5);
    await a.send(text);
    expect(String(await received)).toBe(text);
  }
});

// Jest replaces process.nextTick, too.
test('clocks and timers that a test library replaces do not stop the streams of a channel', async () => {
  jest.useFakeTimers();
  try {
    const [a, b] = await pair();
    const [writer, reader] = [a.toDuplex(), b.toDuplex()];
    /** @type {string[]} */ const chunks = [];
    const ended = new Promise((resolve) => reader.once('end', resolve));
    const closed = new Promise((resolve) => writer.once('close', resolve));
    const arrived = new Promise((resolve) => {
      reader.on('data', (/** @type {Buffer} */ bytes) => {
        if (chunks.push(String(bytes)) === 3) resolve(undefined);
      });
    });
    for (const text of ['one', 'two', 'three']) writer.write(text);
    await arrived;
    expect(chunks.join()).toBe('one,two,three');
    writer.destroy();
    await Promise.all([closed, ended]);
  } finally {
    jest.useRealTimers();
  }
});

test('clocks and timers that a test library replaces do not stop the channel', async () => {
  jest.useFakeTimers();
  try {
    const [a, b] = await pair();
    const loop = (async () => {
      let count = 0;
      for await (const message of b) {
        count++;
        await b.send(message);
      }
      return count;
    })();
    for (let i = 0; i < 3000; i++) {
      await a.send('x');
      expect(String(await a.receive())).toBe('x');
    }
    await a.close();
    expect(await loop).toBe(3000);
  } finally {
    jest.useRealTimers();
  }
});

test('a batch of empty messages is limited, whatever max is', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  let sent = 0;
  const sending = (async () => {
    for (; sent < 5000; sent++) await a.send('');
    await a.close();
  })();
  let most = 0;
  let count = 0;
  for await (const batch of b.batches({ max: 1e9 })) {
    most = Math.max(most, batch.length);
    count += batch.length;
  }
  await sending;
  expect(count).toBe(5000);
  expect(most).toBeLessThanOrEqual(65536 / 128 + 1);
});

test.each(['receive', 'request'])(
  'a full stack in %s() does not stop the other channels of the thread',
  async (call) => {
    const script = `
    const { channelPair, openChannel } = require(${library});
    const pair = async () => {
      const { channel, port } = channelPair();
      return Promise.all([openChannel(port.take()), channel]);
    };
    (async () => {
      const [[a], [c, d]] = [await pair(), await pair()];
      const deeper = () => {
        try {
          deeper();
          a[${JSON.stringify(call)}]('x').catch(() => {});
        } catch {}
      };
      for (let i = 0; i < 20; i++) {
        deeper();
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      let received = 0;
      const receiving = (async () => {
        for await (const message of d) received++;
      })();
      for (let i = 0; i < 20_000; i++) await c.send('x');
      await c.close();
      await receiving;
      process.stdout.write(String(received));
      process.exit();
    })();`.replaceAll("('x').catch", call === 'receive' ? '().catch' : "('x').catch");
    const { output, status } = await runScript(script).ended;
    expect(status).toBe(0);
    expect(output.endsWith('20000')).toBe(true);
  },
);

// Where the stack was full in the middle of it, every later close() was rejected, too, and the channel stayed half open.
test('close() after a close() that failed because the stack was full closes the channel', async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    const { readdirSync } = require('node:fs');
    process.on('unhandledRejection', () => {});
    setInterval(() => {}, 1000); // waiting for \`closed\` does not keep the process alive
    (async () => {
      const open = () => readdirSync('/proc/self/fd').length;
      const bad = [];
      for (let frames = 0, before = 0; frames < 60; frames++) {
        if (frames === 1) before = open();
        const { channel, port } = channelPair();
        const [b, a] = await Promise.all([openChannel(port.take()), channel]);
        let left = frames;
        (function deeper() {
          try {
            deeper();
          } catch {}
          if (left-- === 0) a.close();
        })();
        const again = await a.close().then(() => 'closed', (error) => error.message);
        if (a.state !== 'closed' || again !== 'closed') bad.push([frames, a.state, again]);
        if ((await b.closed) !== 'peer-closed') bad.push([frames, b.state]);
        await b.close();
        if (frames > 0 && open() > before) bad.push([frames, open() - before]);
      }
      process.stdout.write('bad: ' + JSON.stringify(bad));
      process.exit();
    })();`;
  const { output } = await runScript(script).ended; // Node writes a note where the stack was full
  expect(output.slice(output.lastIndexOf('bad: '))).toBe('bad: []');
});

// They stayed in the queue: the receive() took the next message with it, and the message of the send() was sent.
test('a receive() that failed because the stack was full takes no message, and such a send() sends none', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  const failing = (/** @type {() => Promise<any>} */ call) => {
    const begin = jest.spyOn(Pump.prototype, 'begin').mockImplementationOnce(() => {
      throw new RangeError('Maximum call stack size exceeded');
    });
    return expect(call())
      .rejects.toThrow(RangeError)
      .finally(() => begin.mockRestore());
  };
  await failing(() => a.receive());
  await failing(() => a[Symbol.asyncIterator]().next());
  const refusing = Object.assign(Object.create(null), {
    aborted: false,
    constructor: { name: 'AbortSignal' },
    addEventListener: () => {
      throw new RangeError('Maximum call stack size exceeded');
    },
  });
  await expect(a.receive({ signal: refusing })).rejects.toThrow(RangeError);
  b.trySend('first');
  expect(String(await a.receive())).toBe('first');

  while (a.trySend('full'));
  await failing(() => a.send('more'));
  for (let message = b.tryReceive(); message !== null; message = b.tryReceive()) expect(String(message)).toBe('full');
  await a.send('last');
  expect(String(await b.receive())).toBe('last');
});

// The promise of such a call is nobody's, and close() rejected it.
test('after a receive() that failed because the stack was full, close() does not end the process', async () => {
  const script = `
    const { Pump } = require(${JSON.stringify(require.resolve('../../lib/channel/pump.js'))});
    const { channelPair, openChannel } = require(${library});
    const { begin } = Pump.prototype;
    (async () => {
      const { channel, port } = channelPair();
      const [b, a] = await Promise.all([openChannel(port.take()), channel]);
      const { signal } = new AbortController();
      Pump.prototype.begin = () => { throw new RangeError('full'); };
      const failed = [];
      for (const call of [() => a.receive(), () => a.receive({ signal }), () => a[Symbol.asyncIterator]().next()])
        await call().catch((error) => failed.push(error.message));
      Pump.prototype.begin = begin;
      await a.close();
      await b.close();
      await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(failed.join());
    })();`;
  expect(await runScript(script).ended).toEqual({ status: 0, signal: null, output: 'full,full,full\n' });
});

test('what could not be resumed because the stack was full is resumed when that is asked for again', async () => {
  const script = `
    const turn = require(${JSON.stringify(require.resolve('../../lib/channel/turn.js'))});
    (async () => {
      const bad = [];
      for (let frames = 0; frames < 60; frames++) {
        await new Promise((resolve) => setImmediate(resolve));
        let left = frames;
        let isResumed = false;
        const resumable = { unreferenced: false, resume: () => { isResumed = true; } };
        (function deeper() {
          try {
            deeper();
          } catch {}
          try {
            if (left-- === 0) turn.resumeNext(resumable);
          } catch {}
        })();
        turn.resumeNext(resumable);
        for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
        if (!isResumed) bad.push(frames);
      }
      process.stdout.write('bad: ' + JSON.stringify(bad));
    })();`;
  const { output } = await runScript(script).ended;
  expect(output.slice(output.lastIndexOf('bad: '))).toBe('bad: []');
});

// A hook of async_hooks that closed the channel in the middle of a look ended the process: Invalid atomic access index.
test('a ring that was released looks empty to a call that goes on', () => {
  const [mine, peer] = [0, 1].map(() => createMemory(65536, null, { isReleased: false }));
  const [reader, writer] = [new RingReader(mine, peer), new RingWriter(mine, peer)];
  reader.position = writer.position = 4096;
  reader.release();
  writer.release();
  reader.announceRest();
  expect([reader.isReady(), reader.peekMessage(), writer.isReady()]).toEqual([false, -1, false]);
  expect(() => reader.consume(10_000)).toThrow(errorWith('ERR_CLOSED')); // what was being copied is nothing
});

// It failed with a RangeError of Node.
test('a hook that closes the channel when a large message begins a turn makes its send() fail', async () => {
  const [a] = await pair();
  await pause(10); // until no turn has begun
  expect(() => closedByHook(a, () => a.trySend(Buffer.alloc(100_000)), 'Immediate')).toThrow(errorWith('ERR_CLOSED'));
});

test('options are read once', async () => {
  let reads = 0;
  const options = {
    get spinMicros() {
      return reads++ === 0 ? 50 : 5n;
    },
  };
  const { channel, port } = crossings.channelPair(options);
  const other = await crossings.openChannel(port.take());
  await (await channel).close();
  await other.close();
  expect(reads).toBe(1);
});

test('an object with the prototype of a signal is no signal', () => {
  const signal = Object.create(AbortSignal.prototype);
  expect(() => crossings.channelPair({ signal })).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
});

describe('a message that is not what it seems', () => {
  const proxy = new Proxy(new Uint8Array(8), {});
  const fake = Object.create(Uint8Array.prototype);
  const detached = new Uint8Array(8);
  const detachedView = new DataView(new ArrayBuffer(8));
  structuredClone(detached, { transfer: [detached.buffer] });
  structuredClone(detachedView.buffer, { transfer: [detachedView.buffer] });

  test.each([
    ['a proxy', proxy],
    ['an object with the prototype of a Uint8Array', fake],
    ['bytes that were transferred', detached],
    ['a view that was transferred', detachedView],
  ])('%s is refused', async (_name, message) => {
    const [a, b] = await pair();
    expect(() => a.trySend(message)).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
    await expect(a.send(message)).rejects.toEqual(errorWith('ERR_INVALID_ARGUMENT'));
    await expect(a.request(message)).rejects.toEqual(errorWith('ERR_INVALID_ARGUMENT'));
    await a.send('after');
    expect(String(await b.receive())).toBe('after');
  });

  test.each([-5, '9', 3, 1e9])('a Buffer that claims the length %p is sent whole', async (length) => {
    const [a, b] = await pair();
    const message = Object.defineProperty(Buffer.from('message'), 'length', { value: length });
    a.trySend(message);
    await a.send(message);
    b.onRequest((/** @type {Buffer} */ request) => request);
    expect(String(await a.request(message))).toBe('message');
    expect([String(await b.receive()), String(await b.receive())]).toEqual(['message', 'message']);
  });
});

describe('no memory for a message', () => {
  afterEach(() => jest.restoreAllMocks());

  /** The next large message cannot be allocated. */
  const failOnce = () =>
    jest.spyOn(Buffer, 'allocUnsafeSlow').mockImplementationOnce(() => {
      throw new RangeError('Array buffer allocation failed');
    });

  test('receive() is rejected, and the message stays', async () => {
    const [a, b] = await pair();
    await a.send(Buffer.alloc(5000));
    failOnce();
    await expect(b.receive()).rejects.toThrow('allocation failed');
    expect((await b.receive()).length).toBe(5000);
  });

  test('a request whose response cannot be allocated is rejected, and the channel goes on', async () => {
    const [a, b] = await pair();
    const response = Buffer.alloc(5000);
    b.onRequest(() => {
      failOnce();
      return response;
    });
    await expect(a.request('x')).rejects.toThrow('allocation failed');
    b.onRequest(() => response);
    expect((await a.request('y')).length).toBe(5000);
  });

  test('a request that cannot be allocated closes the channel of the handler', async () => {
    const [a, b] = await pair();
    b.onRequest(() => 'response');
    const request = Buffer.alloc(5000);
    failOnce();
    await expect(a.request(request)).rejects.toEqual(errorWith('ERR_CLOSED'));
    expect(await b.closed).toBe('closed');
  });
});

test.each(['write', 'destroy'])("an error thrown by a stream's %s callback is an uncaught exception", async (call) => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    process.on('uncaughtException', (error, origin) => {
      process.stdout.write(origin + ': ' + error.message);
      process.exit();
    });
    (async () => {
      const { channel, port } = channelPair();
      const [b, a] = await Promise.all([openChannel(port.take()), channel]);
      const stream = a.toDuplex();
      const fail = () => {
        throw new Error('own');
      };
      ${call === 'write' ? "stream.write('x', fail);" : 'stream._destroy(null, fail);'}
      setTimeout(() => {}, 5000);
    })();`;
  expect((await runScript(script).ended).output).toBe('uncaughtException: own');
});

test('a decode that aborts the receive it works for loses no message', async () => {
  const stop = new AbortController();
  const decode = (/** @type {Buffer} */ bytes) => {
    if (String(bytes) === '1') stop.abort(new Error('too late'));
    return String(bytes);
  };
  const [a, b] = await pair({}, { decode });
  const received = Promise.allSettled([undefined, stop.signal, stop.signal].map((signal) => b.receive({ signal })));
  for (const message of ['0', '1', '2']) await a.send(message);
  const [first, second, third] = await received;
  expect([first, second]).toEqual(['0', '1'].map((value) => ({ status: 'fulfilled', value })));
  expect(third).toMatchObject({ status: 'rejected', reason: { message: 'too late' } });
  expect(await b.receive()).toBe('2');
});

test('an abort reaches a call whose attempt was ended by a vm timeout', async () => {
  const waiters = new Waiters();
  const stop = new AbortController();
  let ends = false;
  const attempt = () => {
    while (!ends);
    return PENDING;
  };
  const waiting = waiters.add(attempt, stop.signal, () => {});
  const seen = { serve: () => waiters.serve(() => true) };
  expect(() => vm.runInNewContext('serve()', seen, { timeout: 20 })).toThrow('timed out');
  ends = true;
  stop.abort(new Error('aborted'));
  await expect(waiting).rejects.toThrow('aborted');
  expect(waiters.size).toBe(0);
});

test('a name or a code of an error that has no text is left out', async () => {
  const [a, b] = await pair();
  const textless = {
    toString() {
      throw new Error('no text');
    },
  };
  b.onRequest(() => {
    throw Object.assign(new Error('failed'), { name: textless, code: textless });
  });
  const failure = () => a.request('x').catch((/** @type {any} */ error) => error);
  const plain = await failure();
  expect(plain.message).toBe('failed');
  expect(plain).not.toHaveProperty('cause');
  b.onRequest(() => {
    throw Object.assign(new TypeError('failed'), { code: textless });
  });
  const { cause } = await failure();
  expect(cause).toMatchObject({ name: 'TypeError', message: 'failed' });
  expect(cause).not.toHaveProperty('code');
});

test('a decode that closes the channel in a batch ends the loop, as it does without batches', async () => {
  const [a, b] = await pair({}, { decode: () => void b.close() });
  for (let i = 0; i < 3; i++) await a.send('x');
  await pause(5);
  let batches = 0;
  for await (const batch of b.batches()) batches += batch.length > 0 ? 1 : 0;
  expect(batches).toBe(1);
});

// Another thread can grow the buffer at any time, here between two steps of a send: the bytes behind it overwrote the next frame.
test.each(['trySend', 'send', 'request'])(
  '%s() of a view that grows meanwhile sends the bytes that were there',
  async (call) => {
    const [a, b] = await pair();
    const memory = new /** @type {any} */ (SharedArrayBuffer)(8, { maxByteLength: 4096 });
    const { hasRoom } = RingWriter.prototype;
    RingWriter.prototype.hasRoom = function (needed) {
      memory.grow(4096);
      RingWriter.prototype.hasRoom = hasRoom;
      return this.hasRoom(needed);
    };
    b.onRequest((/** @type {Buffer} */ request) => request);
    const sent = a[call](new Uint8Array(memory));
    expect(memory.byteLength).toBe(4096);
    if (call !== 'request') expect((await b.receive()).length).toBe(8);
    else expect((await sent).length).toBe(8);
    await a.send('next');
    expect(String(await b.receive())).toBe('next');
  },
);
