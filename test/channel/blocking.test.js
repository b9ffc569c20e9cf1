'use strict';
// receiveSync() blocks its thread, and nothing else: a worker that waits in it can be terminated, and the process can exit.
const { spawnSync } = require('node:child_process');
const { Worker } = require('node:worker_threads');
const { Connection } = require('../../lib/channel/connection.js');
const { sendHeld } = require('../../lib/channel/connections.js');
const { KIND } = require('../../lib/channel/layout.js');
const turn = require('../../lib/channel/turn.js');
const { rawPeer } = require('./raw-peer.js');
const { until } = require('../support.js');
const { closing, crossings, errorWith, library, newPath, pause, runScript, success } = require('./support.js');

const { channelPair, openChannel } = crossings;

const waits = ['spin-then-sleep', 'sleep', 'spin'];

/** A worker that opens the other end and waits. @param {string} wait */
const waiting = (wait) => `
  const { workerData } = require('node:worker_threads');
  require(${library}).openChannel(workerData, { wait: '${wait}' }).then((channel) => {
    channel.trySend('waiting');
    channel.receiveSync();
  });`;

describe.each(waits)('a worker that waits in receiveSync(), wait: %p,', (wait) => {
  test('can be terminated, and its peer notices', async () => {
    const { channel, port } = channelPair();
    const worker = new Worker(waiting(wait), { eval: true, workerData: port.take() });
    const ours = closing(await channel);
    expect(String(await ours.receive())).toBe('waiting');
    await pause(200); // it sleeps by now, unless it only spins
    await worker.terminate();
    await expect(ours.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  });

  test('does not keep the process from exiting', async () => {
    const script = `
      const { Worker } = require('node:worker_threads');
      const { channelPair } = require(${library});
      (async () => {
        const { channel, port } = channelPair();
        new Worker(${JSON.stringify(waiting(wait))}, { eval: true, workerData: port.take() });
        const ours = await channel;
        await ours.receive();
        setTimeout(() => process.exit(0), 200); // the worker sleeps by now, unless it only spins
      })();`;
    expect(await runScript(script).ended).toEqual(success);
  });

  test('with a request outstanding can be terminated', async () => {
    const { channel, port } = channelPair();
    const source = waiting(wait).replace('channel.receiveSync()', "channel.request('x'); channel.receiveSync()");
    const worker = new Worker(source, { eval: true, workerData: port.take() });
    const ours = closing(await channel);
    expect(String(await ours.receive())).toBe('waiting');
    await pause(200); // it sleeps by now, unless it only spins
    await worker.terminate();
    await expect(ours.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  });
});

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

// Then every poll() fails. Such a wait saw no message any more, and used a whole core.
(hasPrlimit ? test : test.skip)(
  'receiveSync() gets its message in a process whose limit of descriptors is 0',
  async () => {
    const echo = `
    const { workerData } = require('node:worker_threads');
    require(${library}).openChannel(workerData, { wait: 'sleep' }).then((channel) => {
      channel.trySend('waiting');
      const before = process.cpuUsage();
      const message = channel.receiveSync();
      const { user, system } = process.cpuUsage(before);
      channel.trySend(user + system < 500_000 ? message : 'busy');
    });`;
    const script = `
    const { Worker } = require('node:worker_threads');
    const { channelPair } = require(${library});
    setTimeout(() => process.exit(3), 30_000); // nothing was received
    (async () => {
      const { channel, port } = channelPair();
      new Worker(${JSON.stringify(echo)}, { eval: true, workerData: port.take() });
      const ours = await channel;
      await ours.receive();
      require('node:child_process').execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=0:']);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await ours.send('late');
      process.exit(String(await ours.receive()) === 'late' ? 0 : 1);
    })();`;
    expect(await runScript(script).ended).toEqual(success);
  },
);

// The request was set aside without announcing the room of its frame: this side slept until the message that the peer could not send.
test('receiveSync() falls asleep after a request, and the peer still gets the room for a message as large as its ring', async () => {
  const { channel, port } = channelPair();
  const steps = new Int32Array(new SharedArrayBuffer(8));
  const source = `
    const { workerData: { ticket, steps } } = require('node:worker_threads');
    require(${library}).openChannel(ticket).then((channel) => {
      Atomics.wait(steps, 0, 0);
      channel.request('x').catch(() => {});
      channel.send(Buffer.alloc(channel.maxMessageBytes));
      setTimeout(() => {
        Atomics.store(steps, 1, 1); // it sleeps by now, until there is room
        Atomics.notify(steps, 1);
      }, 100);
    });`;
  const worker = new Worker(source, { eval: true, workerData: { ticket: port.take(), steps } });
  const ours = closing(await channel);
  const { answerDoorbell } = Connection.prototype;
  // Right before the last attempt to receive, this thread loses the processor for a while.
  const hook = jest.spyOn(Connection.prototype, 'answerDoorbell').mockImplementationOnce(
    /** @this {InstanceType<typeof Connection>} */ function () {
      const answer = answerDoorbell.call(this);
      Atomics.store(steps, 0, 1);
      Atomics.notify(steps, 0);
      Atomics.wait(steps, 1, 0);
      return answer;
    },
  );
  expect(ours.receiveSync({ timeout: 20_000 }).length).toBe(ours.maxMessageBytes);
  hook.mockRestore();
  await worker.terminate();
});

// The window was freed only on the event loop, so the worker waited for a message that the last request asks for.
test.each(waits)('receiveSync(), wait: %p, sends requests that wait for the window', async (wait) => {
  const { channel, port } = channelPair({ capacity: 65536 });
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    require(${library}).openChannel(workerData, { capacity: 65536, wait: '${wait}' }).then(async (channel) => {
      const answers = [1, 2, 3, 4, 5].map((byte) => channel.request(Buffer.alloc(30_000, byte)));
      const message = channel.receiveSync({ timeout: 20_000 });
      parentPort.postMessage([String(message), (await Promise.all(answers)).map(({ length }) => length)]);
    });`;
  const worker = new Worker(source, { eval: true, workerData: port.take() });
  const said = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const ours = closing(await channel);
  ours.onRequest((/** @type {Buffer} */ request) => {
    if (request[0] === 5) ours.trySend('the last one');
    return Buffer.alloc(request[0]);
  });
  expect(await said).toEqual(['the last one', [1, 2, 3, 4, 5]]);
});

// A queued request that found no room in the ring served all other calls. So handlers were called in receiveSync(), and it did not see
// a message that had just arrived.
test.each(waits)('receiveSync(), wait: %p, calls no handler when a queued request waits for room', async (wait) => {
  const { channel, port } = channelPair({ capacity: 65536 });
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    require(${library}).openChannel(workerData, { capacity: 65536, wait: '${wait}' }).then(async (channel) => {
      let blockedUntil = 0; // at least: when it ends, it serves what has waited
      channel.onRequest(() => {
        parentPort.postMessage(performance.now() < blockedUntil);
        return Buffer.from('answer');
      });
      const pending = [channel.request(Buffer.alloc(60_000))];
      for (let i = 0; i < 60; i++) pending.push(channel.send(Buffer.alloc(4000)));
      pending.push(channel.request(Buffer.alloc(60_000))); // it waits for the window, and then for room
      await new Promise((done) => setTimeout(done, 100));
      parentPort.postMessage('blocked');
      blockedUntil = performance.now() + 500;
      try {
        channel.receiveSync({ timeout: 500 });
      } catch (error) {
        if (error.code !== 'ERR_TIMEOUT') throw error;
      }
      await Promise.all(pending);
      await channel.close();
    });`;
  const worker = new Worker(source, { eval: true, workerData: port.take() });
  /** @type {unknown[]} */ const said = [];
  worker.on('message', (message) => said.push(message));
  const ours = closing(await channel);
  /** @type {(() => void)[]} */ const answers = [];
  ours.onRequest(() => new Promise((resolve) => answers.push(() => resolve(Buffer.from('done')))));
  await until(() => said.length > 0);
  answers[0]();
  const answer = ours.request('question');
  await until(() => said.length > 1);
  for (let i = 0; i < 60; i++) await ours.receive();
  expect(String(await answer)).toBe('answer');
  await until(() => answers.length === 2);
  answers[1]();
  expect(await ours.receive()).toBe(null);
  expect(said).toEqual(['blocked', false]);
});

// It sent on for as long as its peer made room, also beyond its timeout: here, all of them.
test('receiveSync() returns a message that has arrived before it has sent all that waits for room', async () => {
  const { channel, port } = channelPair({ capacity: 65536 });
  const theirs = closing(await openChannel(port.take(), { capacity: 65536 }));
  const ours = closing(await channel);
  const sends = Array.from({ length: 300 }, () => ours.send(Buffer.alloc(4000)));
  const { write } = Connection.prototype;
  let taken = 0;
  let isTaking = false;
  jest.spyOn(Connection.prototype, 'write').mockImplementation(
    /** @this {any} */ function (...args) {
      const isWritten = write.apply(this, args);
      if (isTaking) return isWritten;
      isTaking = true;
      this.publish(); // as a hostile peer would read what is not published yet
      while (theirs.tryReceive() !== null) if (++taken === 30) theirs.trySend('enough');
      isTaking = false;
      return isWritten;
    },
  );
  const message = ours.receiveSync({ timeout: 20_000 });
  jest.restoreAllMocks();
  expect(String(message)).toBe('enough');
  expect(taken).toBeLessThan(100);
  while (taken < 300) {
    await theirs.receive();
    taken++;
  }
  await Promise.all(sends);
});

// It published only what its own channel held back. The tick in which the others would have done so never ended.
test.each(waits)('receiveSync(), wait: %p, publishes what was sent on other channels before', async (wait) => {
  const jobs = channelPair();
  const results = channelPair();
  const source = `
    const { workerData } = require('node:worker_threads');
    const { openChannel } = require(${library});
    (async () => {
      const jobs = await openChannel(workerData[0], { wait: '${wait}' });
      const results = await openChannel(workerData[1]);
      for (let job; (job = jobs.receiveSync()) !== null; ) results.send('result of ' + job);
    })();`;
  const worker = new Worker(source, { eval: true, workerData: [jobs.port.take(), results.port.take()] });
  const [toWorker, fromWorker] = [closing(await jobs.channel), closing(await results.channel)];
  for (let i = 0; i < 3; i++) {
    await toWorker.send(`job ${i}`);
    expect(String(await fromWorker.receive())).toBe(`result of job ${i}`);
  }
  await worker.terminate();
});

// They waited for the event loop, to which a thread with such a loop does not return.
test.each(waits)('receiveSync(), wait: %p, goes on with what waits for room on other channels', async (wait) => {
  const jobs = channelPair();
  const results = channelPair();
  const source = `
    const { workerData } = require('node:worker_threads');
    const { openChannel } = require(${library});
    (async () => {
      const jobs = await openChannel(workerData[0], { wait: '${wait}' });
      const results = await openChannel(workerData[1], { capacity: 65536 });
      for (let job; (job = jobs.receiveSync()) !== null; ) results.send(Buffer.alloc(30_000, job));
    })();`;
  const worker = new Worker(source, { eval: true, workerData: [jobs.port.take(), results.port.take()] });
  const [toWorker, fromWorker] = [closing(await jobs.channel), closing(await results.channel)];
  const names = [...'abcdefghij'];
  for (const name of names) await toWorker.send(name);
  for (const name of names) expect(String(await fromWorker.receive())).toBe(String(name).repeat(30_000));
  await worker.terminate();
});

// The peer waited for room that it was not told of.
test.each(['tryReceive', 'tryRead'])(
  'receiveSync() tells the peers of other channels what %s() has read',
  async (method) => {
    const options = { capacity: 65536 };
    const [one, other] = [channelPair(options), channelPair(options)];
    const source = `
    const { workerData } = require('node:worker_threads');
    const { openChannel } = require(${library});
    (async () => {
      const [one, other] = await Promise.all(workerData.map((ticket) => openChannel(ticket, { capacity: 65536 })));
      const message = Buffer.alloc(3000);
      while (other.trySend(message));
      const sent = other.send(message);
      await one.send('full');
      await sent;
      await one.send('room');
      await one.receive();
    })();`;
    const worker = new Worker(source, { eval: true, workerData: [one.port.take(), other.port.take()] });
    const [a, b] = [closing(await one.channel), closing(await other.channel)];
    expect(String(await a.receive())).toBe('full');
    b[method](() => {});
    expect(String(a.receiveSync({ timeout: 20_000 }))).toBe('room');
    await worker.terminate();
  },
);

// After 256 KiB without a turn of the event loop, the rest waited for one, although the kernel had room.
test('receiveSync() goes on with what channels over sockets put off', async () => {
  const [path, back] = [newPath(), newPath()];
  const servers = [await crossings.listen(path, { transport: 'socket' }), await crossings.listen(back)];
  const source = `
    const { connect } = require(${library});
    const [path, back] = require('node:worker_threads').workerData;
    (async () => {
      const requests = await connect(path, { transport: 'socket' });
      const answers = await connect(back);
      for await (const message of requests) await answers.send('answer');
    })();`;
  const worker = new Worker(source, { eval: true, workerData: [path, back] });
  const [requests, answers] = await Promise.all(servers.map((server) => server.accept()));
  const message = Buffer.alloc(10_000);
  for (let i = 0; i < 60; i++) {
    expect(requests.trySend(message)).toBe(true);
    expect(String(answers.receiveSync({ timeout: 20_000 }))).toBe('answer');
  }
  // What is rung during the call sends only a first part.
  jest.spyOn(turn, 'mayRing').mockReturnValueOnce(false);
  expect(requests.trySend(Buffer.alloc(150_000))).toBe(true);
  expect(String(answers.receiveSync({ timeout: 20_000 }))).toBe('answer');
  jest.restoreAllMocks();
  for (const each of [requests, answers, ...servers]) await each.close();
  await worker.terminate();
});

/** A channel with messages that wait for room, and a worker that receives them. */
async function waitingForRoom() {
  const { channel, port } = channelPair({ capacity: 65536 });
  const received = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    const { port, received } = require('node:worker_threads').workerData;
    require(${library}).openChannel(port, { capacity: 65536 }).then(async (channel) => {
      for await (const message of channel) Atomics.add(received, 0, 1);
    });`;
  const worker = new Worker(source, { eval: true, workerData: { port: port.take(), received } });
  const honest = closing(await channel);
  const count = 30;
  const sends = Array.from({ length: count }, () => honest.send(Buffer.alloc(20_000)));
  return {
    count,
    received: () => Atomics.load(received, 0),
    async end() {
      await Promise.all(sends);
      await honest.close();
      await worker.terminate();
    },
  };
}

// Only while that ring was empty.
test('receiveSync() of a peer whose ring is never empty goes on with what waits for room on other channels', async () => {
  const hostile = await rawPeer();
  const honest = await waitingForRoom();
  hostile.fill(Number(KIND.RESPONSE));
  expect(() => hostile.a.receiveSync({ timeout: 3000 })).toThrow('No message');
  expect(honest.received()).toBe(honest.count);
  await hostile.close();
  await honest.end();
});

// Such a frame counted as one that will be received, but nobody looked at it.
test('receiveSync() of a peer that does not ring goes on with what waits for room on other channels', async () => {
  const hostile = await rawPeer({ wait: 'sleep' });
  const honest = await waitingForRoom();
  const { waitForDoorbell } = Connection.prototype;
  jest.spyOn(Connection.prototype, 'waitForDoorbell').mockImplementationOnce(
    /** @this {any} */ function (...args) {
      hostile.publish(Buffer.from('unrung'));
      return waitForDoorbell.apply(this, args);
    },
  );
  expect(String(hostile.a.receiveSync({ timeout: 3000 }))).toBe('unrung'); // at the end of that time
  jest.restoreAllMocks();
  expect(honest.received()).toBe(honest.count);
  await hostile.close();
  await honest.end();
});

// It was published at the end of the tick only, which does not come.
test('a loop of tryReceive() publishes what send() holds back on other channels', async () => {
  const [questions, answers] = [channelPair(), channelPair()];
  const source = `
    const { workerData } = require('node:worker_threads');
    const { openChannel } = require(${library});
    (async () => {
      const [questions, answers] = await Promise.all(workerData.map((ticket) => openChannel(ticket)));
      await answers.send('ready');
      for await (const message of questions) await answers.send(message);
    })();`;
  const worker = new Worker(source, { eval: true, workerData: [questions.port.take(), answers.port.take()] });
  const [ask, answer] = [closing(await questions.channel), closing(await answers.channel)];
  expect(String(await answer.receive())).toBe('ready');
  const sent = ask.send('question');
  let message = null;
  for (const end = performance.now() + 20_000; message === null && performance.now() < end; )
    message = answer.tryReceive();
  expect(String(message)).toBe('question');
  await sent;
  await worker.terminate();
});

// The time was up before they were looked at, in each call. Loops of tryReceive() sent only what send() holds back.
test.each([
  ['receiveSync({timeout: 0})', 'channel.receiveSync({ timeout: 0 })'],
  ['tryReceive()', 'channel.tryReceive() ?? undefined'],
])('a loop of %s goes on with sends that wait for room', async (_name, call) => {
  const { channel, port } = channelPair({ capacity: 65536 });
  const source = `
    const { openChannel } = require(${library});
    openChannel(require('node:worker_threads').workerData, { capacity: 65536 }).then(async (channel) => {
      for (let i = 0; i < 10; i++) channel.send(Buffer.alloc(30_000));
      for (let answer; answer === undefined; ) {
        try {
          answer = ${call};
        } catch (error) {
          if (error.code !== 'ERR_TIMEOUT') throw error;
        }
      }
      await channel.close();
    });`;
  const worker = new Worker(source, { eval: true, workerData: port.take() });
  const theirs = closing(await channel);
  for (let i = 0; i < 10; i++) expect(await theirs.receive()).toHaveLength(30_000);
  await theirs.send('all of them');
  expect(await theirs.receive()).toBe(null);
  await worker.terminate();
});

// The order was the same in each pass, and a few hundred that found no room used up the time of all.
test('what other channels send begins where the pass before has stopped', () => {
  /** @type {string[]} */ const served = [];
  const connections = [...'abcdefgh'].map((name) => ({
    name,
    isOpen: true,
    sendHeld: (/** @type {() => boolean} */ maySend) => {
      if (maySend()) served.push(name);
      return true;
    },
  }));
  let others = /** @type {any[]} */ (connections);
  for (let pass = 0; pass < 8; pass++) {
    let left = 3;
    others = sendHeld(() => --left >= 0, others);
  }
  for (const { name } of connections) expect(served.filter((each) => each === name)).toHaveLength(3);
});

// Only loops that find nothing published anything.
test('a loop of tryReceive() that always finds a message goes on with other channels', async () => {
  const hostile = await rawPeer();
  const honest = await waitingForRoom();
  hostile.fill();
  for (const end = performance.now() + 20_000; honest.received() < honest.count && performance.now() < end; )
    for (let i = 0; i < 10_000; i++) hostile.a.tryReceive();
  expect(honest.received()).toBe(honest.count);
  await hostile.close();
  await honest.end();
});

// Those that were set aside were dispatched before receiveSync() had returned its message.
test('receiveSync() calls no handler, also at its end', async () => {
  const peer = await rawPeer();
  let isInside = false;
  /** @type {boolean[]} */ const calls = [];
  peer.a.onRequest(() => {
    calls.push(isInside);
    return 'answer';
  });
  peer.send(Number(KIND.REQUEST), 1, Buffer.from('request'));
  peer.send(Number(KIND.MESSAGE), 0, Buffer.from('message'));
  isInside = true;
  expect(String(peer.a.receiveSync())).toBe('message');
  isInside = false;
  await until(() => calls.length > 0);
  expect(calls).toEqual([false]);
  await peer.close();
});

// A writer that has seen the peer's position waited for it to change, with `wait: 'spin'` for ever.
test('sends that receiveSync() of another channel has begun to serve go on on the event loop', async () => {
  const [busy, other] = [channelPair({ capacity: 65536, wait: 'spin' }), channelPair()];
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    const { tickets, flag } = require('node:worker_threads').workerData;
    const { openChannel } = require(${library});
    (async () => {
      const busy = await openChannel(tickets[0], { capacity: 65536 });
      const other = await openChannel(tickets[1]);
      await other.send('ready');
      Atomics.wait(flag, 0, 0);
      busy.receiveSync();
      Atomics.store(flag, 0, 2);
      await other.receive();
      for await (const message of busy);
    })();`;
  const worker = new Worker(source, {
    eval: true,
    workerData: { tickets: [busy.port.take(), other.port.take()], flag },
  });
  const [ours, theirs] = [closing(await busy.channel), closing(await other.channel)];
  expect(String(await theirs.receive())).toBe('ready');
  expect(ours.trySend(Buffer.alloc(ours.maxMessageBytes))).toBe(true);
  const sends = Array.from({ length: 900 }, (_, i) => ours.send(`message ${i}`));
  await pause(50);
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
  while (Atomics.load(flag, 0) !== 2);
  expect(() => theirs.receiveSync({ timeout: 0 })).toThrow('No message');
  await Promise.all(sends); // they fit, and the peer reads none of them before the end
  await theirs.send('all are sent');
  await ours.close();
  await worker.terminate();
});

// The rest was announced on the event loop only.
test('what receiveSync() has read makes room although the thread blocks in another way afterwards', async () => {
  const { channel, port } = channelPair({ capacity: 65536 });
  const isSent = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    const { port, isSent } = require('node:worker_threads').workerData;
    require(${library}).openChannel(port, { capacity: 65536 }).then(async (channel) => {
      await channel.send('header');
      await channel.send(Buffer.alloc(channel.maxMessageBytes));
      Atomics.store(isSent, 0, 1);
      Atomics.notify(isSent, 0);
      await channel.close();
    });`;
  const worker = new Worker(source, { eval: true, workerData: { port: port.take(), isSent } });
  const ours = closing(await channel);
  await pause(200);
  expect(String(ours.receiveSync())).toBe('header');
  expect(Atomics.wait(isSent, 0, 0, 20_000)).not.toBe('timed-out');
  await worker.terminate();
});

// The turn was over when the thread returned, and its timers came first.
test('a response that receiveSync() has read in time does not time out', async () => {
  const { channel, port } = channelPair();
  const source = `
    require(${library}).openChannel(require('node:worker_threads').workerData).then((channel) => {
      channel.onRequest((request) => {
        channel.trySend('message');
        return request;
      });
    });`;
  const worker = new Worker(source, { eval: true, workerData: port.take() });
  const ours = closing(await channel);
  const receiveFor = (/** @type {number} */ timeout) => {
    try {
      ours.receiveSync({ timeout });
    } catch (error) {
      expect(error).toEqual(errorWith('ERR_TIMEOUT'));
    }
  };
  for (let round = 0; round < 6; round++) {
    const responses = Promise.all([1, 2].map((n) => ours.request(`${n}`, { timeout: 200 }).then(String)));
    await null;
    // Until both messages and both responses have been read, and for longer than the requests may take.
    while (ours.stats().messagesReceived < 4 * (round + 1)) receiveFor(20);
    receiveFor(300);
    await expect(responses).resolves.toEqual(['1', '2']);
  }
  await worker.terminate();
});
