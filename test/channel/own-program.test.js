'use strict';
// What the program itself does to a channel: signals with members of their own, memory that changes or goes while it is in use,
// timers that a test library has replaced, modules that are loaded again, and handlers of the 'exit' event.
const { spawn } = require('node:child_process');
const { writeHello } = require('../../lib/fallback/wire.js');
const { closing, crossings, errorWith, library, newPath, pair, pause, runScript, success } = require('./support.js');

/** A signal with a member of its own that throws. @param {string} name */
function rebelliousSignal(name) {
  const { signal } = new AbortController();
  const refuse = () => {
    throw new Error(`the signal's own ${name}`);
  };
  return Object.defineProperty(
    signal,
    name,
    name === 'reason' || name === 'aborted' ? { get: refuse } : { value: refuse },
  );
}

// The listener's removal threw in the loop that serves the channel: the other calls waited forever, and connect() too.
describe.each(['addEventListener', 'removeEventListener', 'throwIfAborted', 'aborted', 'reason'])(
  'a signal with its own %s that throws disturbs',
  (name) => {
    test('no receive', async () => {
      const [a, b] = await pair();
      const received = [b.receive({ signal: rebelliousSignal(name) }), b.receive(), b.receive()];
      for (const message of ['1', '2', '3']) await a.send(message);
      expect((await Promise.all(received)).map(String)).toEqual(['1', '2', '3']);
    });

    test('no request', async () => {
      const [a, b] = await pair();
      b.onRequest((/** @type {Buffer} */ message) => message);
      const responses = [a.request('1', { signal: rebelliousSignal(name) }), a.request('2')];
      expect((await Promise.all(responses)).map(String)).toEqual(['1', '2']);
    });

    test('no connect, listen or accept', async () => {
      const server = closing(await crossings.listen(newPath(), { signal: rebelliousSignal(name) }));
      const accepted = [server.accept({ signal: rebelliousSignal(name) }), server.accept()];
      for (let i = 0; i < 2; i++) closing(await crossings.connect(server.path, { signal: rebelliousSignal(name) }));
      for (const channel of await Promise.all(accepted)) closing(channel);
    });
  },
);

// The number of bytes counted was not the number sent: the responder took its peer for corrupt.
test('requests that wait while their resizable buffer grows are sent as they were', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  b.onRequest((/** @type {Buffer} */ message) => String(message.length));
  const buffer = new /** @type {any} */ (ArrayBuffer)(10, { maxByteLength: 40_000 });
  const responses = Array.from({ length: 9000 }, () => a.request(new Uint8Array(buffer)));
  buffer.resize(40_000);
  expect(new Set((await Promise.all(responses)).map(String))).toEqual(new Set(['10']));
});

test('a send that waits while its resizable buffer grows is sent as it was', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  const buffer = new /** @type {any} */ (ArrayBuffer)(40_000, { maxByteLength: 100_000 });
  const sent = [a.send(new Uint8Array(buffer)), a.send(new Uint8Array(buffer))];
  buffer.resize(100_000);
  expect([(await b.receive()).length, (await b.receive()).length]).toEqual([40_000, 40_000]);
  await Promise.all(sent);
});

// Every further small message failed with a TypeError. Node 22 has the method; from Node 24 on it refuses memory that was
// marked as untransferable, as ours is.
const canTransfer = 'transfer' in ArrayBuffer.prototype;
(canTransfer ? test : test.skip)(
  'after a program tried to transfer the memory of a message, others are received',
  async () => {
    const [a, b] = await pair();
    for (const text of ['one', '', 'two']) {
      await a.send(text);
      const message = await b.receive();
      expect(String(message)).toBe(text);
      try {
        message.buffer.transfer();
      } catch (error) {
        expect(String(error)).toMatch('not detachable');
      }
    }
    b.onRequest((/** @type {Buffer} */ message) => message);
    expect(String(await a.request('three'))).toBe('three');
  },
);

/** Sends 20,000 messages within this process. The time budget of many turns of the event loop is spent. */
const exchange = `
  const { channelPair, openChannel } = require(${library});
  const { channel, port } = channelPair();
  const b = await openChannel(port.take());
  const a = await channel;
  const sending = (async () => { for (let i = 0; i < 20000; i++) await a.send('x'); await a.close(); })();
  let count = 0;
  for await (const _ of b) count++;
  await sending;
  await b.close();
  if (count !== 20000) throw new Error('received ' + count);`;

// The package took the replacements for the real ones: no turn of the event loop ever began, or a wait that polls never ended.
describe('a package that is loaded after', () => {
  test("the timers were replaced by Node's MockTimers works, also when they are back", async () => {
    const script = `
      const { mock } = require('node:test');
      mock.timers.enable();
      (async () => {
        { ${exchange} }
        mock.timers.reset();
        { ${exchange} }
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0 });
  });

  test('process.nextTick was replaced delivers what streams transfer', async () => {
    const script = `
      process.exitCode = 1;
      Object.defineProperty(process, 'nextTick', { value: Object.defineProperty(() => {}, 'name', { value: 'nextTick' }) });
      const { channelPair, openChannel } = require(${library});
      (async () => {
        const { channel, port } = channelPair();
        const [a, b] = await Promise.all([channel, openChannel(port.take())]);
        const readable = b.toDuplex();
        const pushed = new Promise((resolve) => { readable.push = (bytes) => resolve(String(bytes)); });
        readable._read(); // read() would need process.nextTick itself
        await a.send('x');
        if ((await pushed) === 'x') process.exitCode = 0;
        process.exit();
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0 });
  });

  // Sinon's functions have the names of the real ones.
  test('the timers were replaced by functions of the same names works, also when they are back', async () => {
    const script = `
      const timers = require('node:timers');
      const { setTimeout, setImmediate } = timers;
      process.exitCode = 1; // until the end: a wait that has no end does not keep the process alive
      for (const name of ['setTimeout', 'setImmediate']) {
        const fake = () => ({ ref() {}, unref() {} });
        timers[name] = globalThis[name] = Object.defineProperty(fake, 'name', { value: name });
      }
      (async () => {
        { ${exchange} }
        for (const each of [timers, globalThis]) Object.assign(each, { setTimeout, setImmediate });
        { ${exchange} }
        process.exitCode = 0;
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0 });
  });

  // It tried only once.
  test.each([
    ['shm', ''],
    ['socket', ''],
    ['shm', "{ apis: ['setTimeout'] }"], // as often as all of them
  ])('the timers were replaced waits for a server that starts later: %s %s', async (transport, replaced) => {
    const script = `
      const { mock } = require('node:test');
      const { port1 } = new MessageChannel();
      port1.on('message', () => {}); // keeps the process alive
      const { setTimeout } = require('node:timers');
      mock.timers.enable(${replaced});
      const { connect, listen } = require(${library});
      (async () => {
        const options = ${JSON.stringify(transport === 'socket' ? { transport } : {})};
        const path = ${JSON.stringify(newPath())};
        const connecting = connect(path, options);
        await new Promise((resolve) => setTimeout(resolve, 50));
        const server = await listen(path, options);
        const [a, b] = await Promise.all([connecting, server.accept()]);
        await Promise.all([a.close(), b.close(), server.close()]);
        port1.close();
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0 });
  });

  const hello = Buffer.from(writeHello(65536, null)).toString('hex');

  // The fake timer that close() had started went on for ever.
  test('the timers were replaced while it was loaded ends, over sockets, a channel whose peer takes nothing', async () => {
    const script = `
      const timers = require('node:timers');
      const { connect: connectSocket } = require('node:net');
      const { setTimeout, setInterval, setImmediate } = timers;
      const fake = () => ({ ref() {}, unref() { return this; } });
      for (const name of ['setTimeout', 'setInterval', 'setImmediate']) timers[name] = globalThis[name] = fake;
      const { listen } = require(${library});
      for (const each of [timers, globalThis]) Object.assign(each, { setTimeout, setInterval, setImmediate });
      (async () => {
        const server = await listen(${JSON.stringify(newPath())}, { transport: 'socket' });
        const socket = connectSocket(server.path).pause();
        const [channel] = await Promise.all([server.accept(), new Promise((resolve) => socket.write(Buffer.from('${hello}', 'hex'), resolve))]);
        while (channel.trySend(Buffer.alloc(65536)));
        await channel.close();
        console.log('closed');
        process.exit();
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0, output: 'closed\n' });
  });

  test("the runtime's own timers uses them", () => {
    expect(require('../../lib/channel/clock.js').areGenuine).toBe(true);
  });

  // The turn that such channels wait for was begun by a timer.
  test('the timers were replaced lets unreferenced channels work', async () => {
    const script = `
      const { mock } = require('node:test');
      mock.timers.enable();
      const { port1 } = new MessageChannel();
      port1.on('message', () => {}); // keeps the process alive
      (async () => {
        ${exchange.replace('const sending', 'a.unref(); b.unref(); const sending')}
        port1.close();
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0 });
  });

  // The member of node:timers was read for each call, and was the replacement by then.
  test.each(['shm', 'socket'])('timers that were replaced later do not matter: %s', async (transport) => {
    const script = `
      const { mock } = require('node:test');
      const { connect, listen } = require(${library});
      const { port1 } = new MessageChannel();
      port1.on('message', () => {}); // keeps the process alive
      mock.timers.enable();
      (async () => {
        const options = ${JSON.stringify(transport === 'socket' ? { transport } : {})};
        const server = await listen(${JSON.stringify(newPath())}, options);
        const [a, b] = await Promise.all([connect(server.path, options), server.accept()]);
        a.unref();
        b.unref();
        const sending = (async () => { for (let i = 0; i < 20000; i++) await a.send('x'); await a.close(); })();
        let count = 0;
        for await (const _ of b) count++;
        await sending;
        await b.close();
        await server.close();
        if (count !== 20000) throw new Error('received ' + count);
        port1.close();
      })();`;
    expect(await runScript(script).ended).toMatchObject({ status: 0 });
  });

  test('performance.now was replaced works', async () => {
    const script = `
      performance.now = () => 0;
      (async () => {
        const { channelPair, openChannel } = require(${library});
        const { channel, port } = channelPair();
        const b = await openChannel(port.take());
        const a = await channel;
        setTimeout(() => a.send('x'), 20);
        if (String(await b.receive()) !== 'x') throw new Error('no message');
        await a.close();
        await b.close();
      })();`;
    expect(await runScript(script).ended).toEqual(success);
  });
});

// Each copy kept a listener, and with it all its modules, for good.
test('copies of the package that are no longer used leave no listener', async () => {
  const script = `
    (async () => {
      const before = process.listenerCount('exit');
      for (let i = 0; i < 20; i++) {
        for (const path of Object.keys(require.cache)) delete require.cache[path];
        const { listen, connect } = require(${library});
        const server = await listen(${JSON.stringify(newPath())});
        const [a, b] = await Promise.all([connect(server.path), server.accept()]);
        await a.close();
        await b.close();
        await server.close();
      }
      if (process.listenerCount('exit') !== before) throw new Error('listeners remain');
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

test('a server is closed by its signal', async () => {
  const stop = new AbortController();
  const server = await crossings.listen(newPath(), { signal: stop.signal });
  stop.abort();
  await expect(server.accept()).rejects.toEqual(errorWith('ERR_CLOSED'));
});

// The package's own handler had run before: the message stayed unpublished.
test("what is sent in a handler of the 'exit' event is published", async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    const { spawn } = require('node:child_process');
    (async () => {
      if (process.argv[1] === 'child') {
        const channel = await openChannel(3);
        process.on('exit', () => { channel.send('one'); channel.send('two'); });
        process.exit();
      }
      const { channel, port } = channelPair();
      spawn(process.execPath, [...process.execArgv, 'child'], { stdio: ['ignore', 'inherit', 'inherit', port.fd] });
      port.close();
      const end = await channel;
      const received = [String(await end.receive()), String(await end.receive())];
      if (received.join() !== 'one,two') console.log(received);
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

/**
 * Starts a peer that sends 5000 requests and a message, and reads nothing until its standard input has a byte. Then it sends another
 * message, and ends a second later. @param {string} path
 */
function startDeafPeer(path) {
  const script = `
    const { listen } = require(${library});
    (async () => {
      const channel = await (await listen(process.argv[1])).accept();
      for (let i = 0; i < 5000; i++) channel.request('a').catch(() => {});
      channel.trySend('one');
      require('node:fs').readSync(0, Buffer.alloc(1));
      await channel.send('two');
      setTimeout(() => process.exit(), 1000);
    })();`;
  const child = spawn(process.execPath, ['-e', script, path], { stdio: ['pipe', 'inherit', 'inherit'] });
  closing({
    async close() {
      child.kill('SIGKILL');
    },
  });
  return child;
}

// Only refusals waited for room, and kept the program alive until its peer read them.
test('a program without a handler ends, although its peer sends requests and reads no refusal', async () => {
  const path = newPath();
  startDeafPeer(path);
  const script = `
    const { connect } = require(${library});
    (async () => {
      const channel = await connect(${JSON.stringify(path)}, { capacity: 65536 });
      if (String(await channel.receive()) !== 'one') throw new Error('another message');
      if (channel.stats().messagesSent > 4000) throw new Error('all refusals had room');
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

// The next look depended on a timer that does not keep the process alive, because only refusals waited before.
test.each(['spin', 'spin-then-sleep'])(
  'a receive() keeps a program alive although refusals have waited: %s',
  async (wait) => {
    const path = newPath();
    const peer = startDeafPeer(path);
    const script = `
      const { connect } = require(${library});
      process.exitCode = 1; // until the end
      (async () => {
        const channel = await connect(${JSON.stringify(path)}, { capacity: 65536, wait: '${wait}' });
        await channel.receive();
        await new Promise(setImmediate);
        setImmediate(() => console.log('waits'));
        if (String(await channel.receive()) !== 'two') throw new Error('another message');
        process.exitCode = 0;
        await channel.close();
      })();`;
    const program = runScript(script);
    await Promise.race([program.ready, program.ended]);
    await pause(100);
    peer.stdin.end('x');
    expect(await program.ended).toEqual({ ...success, output: 'waits\n' });
  },
);

// Bun's mocked timers also stop its clock. No turn ended: the loop below never let the timer run.
test('a clock that stops does not keep timers from running, or a channel from sleeping', async () => {
  const script = `
    const { performance } = require('node:perf_hooks');
    const clock = Object.getPrototypeOf(performance);
    const { now } = clock;
    let stoppedAt;
    clock.now = function () { return stoppedAt ?? Reflect.apply(now, this, []); };
    const { channelPair, openChannel } = require(${library});
    const { channel, port } = channelPair();
    Promise.all([channel, openChannel(port.take())]).then(async ([a, b]) => {
      let received = 0, before;
      (async () => { while (received < 3_000_000) await a.send('x'); })();
      stoppedAt = performance.now();
      setTimeout(() => { before = received; });
      for await (const _ of b) if (++received === 3_000_000 || before !== undefined) break;
      while (a.stats().messagesSent > b.stats().messagesReceived) await b.receive();
      b.receive();
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log(received < 3_000_000, b.stats().sleeps > 0);
      process.exit();
    });`;
  const { child, ended } = runScript(script);
  const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
  expect(await ended).toMatchObject({ status: 0, output: 'true true\n' });
  clearTimeout(kill);
});
