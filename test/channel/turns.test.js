'use strict';
// What one turn of the event loop may do when single calls take longer than all channels may use in it: the program's own functions,
// and system calls that a peer makes slow.
const { setImmediate: turnOfLoop } = require('node:timers/promises');
const { rawPeer } = require('./raw-peer.js');
const { closing, newPath, runScript } = require('./support.js');
const { channelPair, connect, listen, openChannel } = require('../../lib/index.js');
const { KIND } = require('../../lib/channel/layout.js');
const { native } = require('../../lib/channel/native.js');
const turn = require('../../lib/channel/turn.js');

const SLOW_MS = 1; // the budget of a turn is 0.12 ms
const MANY = 64;
const FEW = 3; // at most so many in a turn: one that uses up the budget, and those before the clock is read for the first time
const FEW_OF_A_PEER = 6; // before it is known to be slow

/** @type {any[]} */
const channels = [];
afterEach(async () => {
  await Promise.all(channels.splice(0).map((channel) => channel.close()));
});

/** @param {any} [options] of the first channel */
async function pair(options = {}) {
  const { channel, port } = channelPair({ capacity: 2 ** 20, ...options });
  channels.push(...(await Promise.all([channel, openChannel(port.take(), { capacity: 2 ** 20 })])));
  return channels;
}

function takeLong() {
  for (const end = performance.now() + SLOW_MS; performance.now() < end; );
}

/** Counts events, and how many of them fall into one turn at most, until there are enough. */
class PerTurn {
  count = 0;
  most = 0;

  /** @param {number} enough */
  async until(enough) {
    for (let before = 0; this.count < enough; ) {
      await turnOfLoop();
      this.most = Math.max(this.most, this.count - before);
      before = this.count;
    }
  }
}

describe("of calls of the program's functions that take long, a turn makes one, although those before took no time:", () => {
  const CHEAP = Buffer.from([0]);
  const DEAR = Buffer.from([1]);
  const messages = [...Array(3000).fill(CHEAP), ...Array(MANY).fill(DEAR)];
  const perTurn = new PerTurn();
  beforeEach(() => Object.assign(perTurn, { count: 0, most: 0 }));

  /** @template {Uint8Array} T @param {T} bytes */
  const work = (bytes) => {
    if (bytes[0] === DEAR[0]) {
      perTurn.count++;
      takeLong();
    }
    return bytes;
  };

  test('a handler of requests', async () => {
    const [a, b] = await pair();
    a.onRequest(work);
    const requests = messages.map((bytes) => b.request(bytes));
    await perTurn.until(MANY);
    await Promise.all(requests);
    expect(perTurn.most).toBeLessThan(FEW);
  });

  test.each([
    ['receive()', async (/** @type {any} */ a) => void (await a.receive())],
    ['messages()', (/** @type {any} */ a) => a.messages().next()],
    ['batches()', (/** @type {any} */ a) => a.batches().next()],
    ['batches() with reuse', (/** @type {any} */ a) => a.batches({ reuse: true }).next()],
  ])('decode, called by %s', async (_, next) => {
    const [a, b] = await pair({ decode: work });
    for (const bytes of messages) b.trySend(bytes);
    const received = (async () => {
      while (perTurn.count < MANY) await next(a);
    })();
    await perTurn.until(MANY);
    await received;
    expect(perTurn.most).toBeLessThan(FEW);
  });

  test("a loop's body, if the turn before has ended", async () => {
    const [a, b] = await pair();
    for (const bytes of messages.slice(0, 3000)) b.trySend(bytes);
    const received = (async () => {
      for await (const bytes of a) {
        work(bytes);
        if (perTurn.count === MANY) return;
      }
    })();
    while (a.stats().messagesReceived < 3000) await turnOfLoop();
    for (const bytes of messages.slice(3000)) b.trySend(bytes);
    await perTurn.until(MANY);
    await received;
    expect(perTurn.most).toBeLessThan(8);
  });
});

// The kernel walks through each wait that a peer has for its own socket, and there can be hundreds of thousands. The peer claims
// a new sleep whenever it was woken, and its ring has no end.
describe('a turn rings few doorbells that take long to ring, although the peer asks for more:', () => {
  const perTurn = new PerTurn();
  const { ring } = native;
  /** @type {Awaited<ReturnType<typeof rawPeer>>} */ let peer;
  beforeEach(async () => {
    Object.assign(perTurn, { count: 0, most: 0 });
    peer = await rawPeer();
    peer.claimToWaitForRoom();
    native.ring = (fd) => {
      perTurn.count++;
      takeLong();
      peer.claimToWaitForRoom();
      peer.claimToWaitForRoom();
      return ring(fd);
    };
  });
  afterEach(async () => {
    native.ring = ring;
    await peer.close();
  });

  test.each([
    ['receive() of messages', KIND.MESSAGE, () => peer.a.receive()],
    ['batches() of messages', KIND.MESSAGE, () => peer.a.batches().next()],
    ['receive(), which passes over responses that nobody awaits', KIND.RESPONSE, () => peer.a.receive()],
  ])('%s', async (_, kind, next) => {
    let isOver = false;
    peer.fill(kind);
    const received = (async () => {
      while (!isOver) await next();
    })().catch(() => {});
    await perTurn.until(40);
    isOver = true;
    await peer.a.close();
    await received;
    expect(perTurn.most).toBeLessThan(FEW_OF_A_PEER);
  });
});

// Code that the event loop does not call, such as timers of the program, may send thousands of messages in one turn.
describe('of messages that the program sends in one go, few ring a doorbell that takes long to ring;', () => {
  const RING_MS = 5;
  const SENT = 100;
  const { ring } = native;
  let rings = 0;
  /** @type {Awaited<ReturnType<typeof rawPeer>>} */ let peer;
  /** @type {any} */ let other; // another channel of this thread
  beforeEach(async () => {
    rings = 0;
    peer = await rawPeer();
    [other] = await pair();
    peer.claimToWaitForData();
    native.ring = (fd) => {
      rings++;
      for (const end = performance.now() + RING_MS; performance.now() < end; );
      peer.claimToWaitForData();
      peer.claimToWaitForData();
      return ring(fd);
    };
    for (let i = 0; i < SENT; i++) peer.a.trySend('x');
    expect(rings).toBeLessThan(SENT / 2);
  });
  afterEach(async () => {
    native.ring = ring;
    await peer.close();
  });

  test('another peer is woken before it', async () => {
    const another = await rawPeer();
    /** @type {number[]} */ const order = []; // descriptors
    const slowly = native.ring;
    native.ring = (fd) => order.push(fd) > 0 && slowly(fd);
    for (let i = 0; i < SENT; i++) peer.a.trySend('x');
    order.length = 0;
    peer.a.trySend('x');
    another.claimToWaitForData();
    another.a.trySend('x');
    while (new Set(order).size < 2) expect(another.a.tryReceive()).toBe(null);
    expect(order.length).toBeLessThanOrEqual(3); // also a ring of the other one, after a while
    await another.close();
  });

  test.each([
    ['the peer is woken in a later turn', turnOfLoop],
    ['the peer is woken before this thread blocks', () => peer.a.receiveSync({ timeout: 1 })],
    ['the peer is woken before this thread blocks on another channel', () => other.receiveSync({ timeout: 1 })],
    ['the peer is woken by a loop that finds nothing', () => peer.a.tryReceive()],
    ['the peer is woken by a loop that finds nothing on another channel', () => other.tryReceive()],
    [
      'the peer is woken by another message after a while',
      () => {
        takeLong();
        expect(peer.a.trySend('x')).toBe(true);
      },
    ],
  ])('%s', async (_, proceed) => {
    for (const before = rings; rings === before; ) {
      try {
        await proceed(); // a turn of the event loop begins with the first only
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_TIMEOUT' });
      }
    }
  });
});

test('of peers whose doorbells are put off, each is rung again, also in a program that never returns to the event loop', async () => {
  const { ring } = native;
  const peers = [await rawPeer(), await rawPeer(), await rawPeer()];
  /** @type {number[]} */ const order = []; // descriptors
  for (const peer of peers) peer.claimToWaitForData();
  native.ring = (fd) => {
    order.push(fd);
    for (const end = performance.now() + 5; performance.now() < end; );
    for (const peer of [...peers, ...peers]) peer.claimToWaitForData();
    return ring(fd);
  };
  for (let i = 0; i < 300; i++, takeLong()) for (const { a } of peers) a.trySend('x');
  native.ring = ring;
  for (const peer of peers) await peer.close();
  const later = order.slice(order.length / 2);
  expect(later.length).toBeGreaterThan(10);
  for (const fd of new Set(order)) expect(later.filter((each) => each === fd).length).toBeGreaterThan(later.length / 5);
});

test.each(['shared-memory', 'socket'])(
  'over %s, a doorbell that is put off keeps no program alive',
  async (transport) => {
    const script = `const { channelPair, openChannel } = require('./lib/index.js');
    const { CallTimes } = require('./lib/channel/turn.js');
    const { count } = CallTimes.prototype;
    CallTimes.prototype.count = function (ms, busyMs, isRing) {
      if (isRing) for (const end = performance.now() + 3; performance.now() < end; );
      count.call(this, ms + 100, ms + 100, isRing);
    };
    const { channel, port } = channelPair({ transport: '${transport}' });
    openChannel(port.take(), { transport: '${transport}' }).then(async (b) => {
      const a = await channel;
      a.unref();
      b.unref();
      setInterval(() => {
        for (let i = 0; i < 3; i++) a.trySend('x');
      }, 0).unref();
      setTimeout(() => {}, 100); // the program ends after this
      for await (const message of b);
    });`;
    const { child, ended } = runScript(script);
    const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
    expect(await ended).toMatchObject({ status: 0 });
    clearTimeout(kill);
  },
);

// A client can make the kernel as slow when it is accepted, when its hello is received, and when its socket is closed.
describe('of clients for whom a system call takes long, a turn', () => {
  const CLIENTS = 40;
  const { accept, closeFd, receiveHello } = native;
  const perTurn = new PerTurn();
  beforeEach(() => Object.assign(perTurn, { count: 0, most: 0 }));
  afterEach(() => Object.assign(native, { accept, closeFd, receiveHello }));

  /** Makes a call take long if it has a result. @param {'accept' | 'closeFd' | 'receiveHello'} name */
  function slow(name) {
    const call = /** @type {any} */ (native[name]);
    /** @type {any} */ (native)[name] = (/** @type {any[]} */ ...args) => {
      const result = call(...args);
      if (result === null || result === -1) return result;
      perTurn.count++;
      takeLong();
      return result;
    };
  }

  test('accepts one or two', async () => {
    const server = await listen(newPath());
    slow('accept');
    const clients = Array.from({ length: CLIENTS }, () => native.connect(server.path));
    await perTurn.until(CLIENTS);
    expect(perTurn.most).toBeLessThan(FEW);
    for (const fd of clients) native.closeFd(fd);
    await server.close();
  });

  test('accepts some even if others have used it up, as long as it takes no time', async () => {
    const server = await listen(newPath());
    /** Uses up each turn. @type {any} */
    const busy = {
      resume() {
        turn.resumeNext(busy);
        turn.countCalls(SLOW_MS);
      },
    };
    busy.resume();
    native.accept = (fd) => {
      const client = accept(fd);
      if (client !== -1) perTurn.count++;
      return client;
    };
    const clients = Array.from({ length: CLIENTS }, () => native.connect(server.path));
    await perTurn.until(CLIENTS);
    busy.resume = () => {};
    for (const fd of clients) native.closeFd(fd);
    await server.close();
    expect(perTurn.most).toBeGreaterThan(1);
  });

  test('receives one or two hellos', async () => {
    const server = await listen(newPath());
    slow('receiveHello');
    const connecting = Promise.all(Array.from({ length: CLIENTS }, () => connect(server.path, { capacity: 65536 })));
    await perTurn.until(2 * CLIENTS); // this process is on both sides
    expect(perTurn.most).toBeLessThan(2 * FEW);
    await Promise.all((await connecting).map((channel) => channel.close()));
    await server.close();
  });

  test('closes one or two whose time is over', async () => {
    const server = await listen(newPath(), { timeout: 50 });
    const clients = Array.from({ length: CLIENTS }, () => native.connect(server.path));
    slow('closeFd');
    await perTurn.until(CLIENTS);
    expect(perTurn.most).toBeLessThan(FEW);
    native.closeFd = closeFd;
    for (const fd of clients) native.closeFd(fd);
    await server.close();
  });
});

// On a busy machine, calls for an honest peer may take long, too: it waited for all hostile ones, each time.
test('of peers for which calls take long, those for which they take least wait for few of the others', async () => {
  const resumed = new Map();
  let isOver = false;
  /** @param {number} tookMs */
  const member = (tookMs) => {
    const self = {
      unreferenced: false,
      isSlow: true,
      tookMs,
      resume() {
        resumed.set(self, (resumed.get(self) ?? 0) + 1);
        if (!isOver) turn.resumeNext(self);
      },
    };
    turn.resumeNext(self);
    return self;
  };
  const dear = Array.from({ length: 20 }, () => member(10));
  const cheap = member(0.2);
  for (let i = 0; i < 60; i++) await turnOfLoop();
  isOver = true;
  for (let i = 0; i < 30; i++) await turnOfLoop();
  expect(resumed.get(cheap)).toBeGreaterThan(20);
  for (const each of dear) expect(resumed.get(each)).toBeGreaterThan(0);
});

// Such a thread was not woken while this one blocked, for example in Atomics.wait().
test('a doorbell is rung for each message if it only seems to take long, because the peer runs meanwhile', async () => {
  const { ring } = native;
  const word = new Int32Array(new SharedArrayBuffer(4));
  const peer = await rawPeer();
  let rings = 0;
  peer.claimToWaitForData();
  native.ring = (fd) => {
    rings++;
    Atomics.wait(word, 0, 0, 2);
    peer.claimToWaitForData();
    peer.claimToWaitForData();
    return ring(fd);
  };
  for (let i = 0; i < MANY; i++) peer.a.trySend('x');
  native.ring = ring;
  await peer.close();
  expect(rings).toBe(MANY);
});

test('of rings that take 3 ms each, the first turn has few', async () => {
  for (let i = 0; i < 3; i++) await turnOfLoop();
  const times = new turn.CallTimes();
  let rings = 0;
  for (; rings < MANY && turn.mayRing(); rings++) times.count(3, 3, true);
  expect(rings).toBe(4);
});

// A broadcast of the program rang each of them.
test('of peers whose rings take long, few are rung in one go', async () => {
  const { ring } = native;
  const peers = await Promise.all(Array.from({ length: 20 }, () => rawPeer()));
  for (const peer of peers) peer.claimToWaitForData();
  let rings = 0;
  native.ring = (fd) => {
    rings++;
    for (const end = performance.now() + 5; performance.now() < end; );
    return ring(fd);
  };
  await turnOfLoop();
  for (const { a } of peers) a.trySend('x');
  const inOneGo = rings;
  while (rings < peers.length) await turnOfLoop();
  native.ring = ring;
  for (const peer of peers) await peer.close();
  expect(inOneGo).toBeLessThan(peers.length / 2);
});

// It was rung only when the ring of the channel that receives was empty, and not while frames came that are no messages.
/** @type {[string, (hostile: Awaited<ReturnType<typeof rawPeer>>) => void][]} */
const busyPrograms = [
  [
    'a receiveSync() of a peer whose ring is never empty',
    (hostile) => {
      hostile.fill(Number(KIND.RESPONSE));
      expect(() => hostile.a.receiveSync({ timeout: 1000 })).toThrow('No message');
    },
  ],
  [
    'a loop of tryReceive() that finds responses which nobody awaits',
    (hostile) => {
      for (let i = 0; i < 200_000; i++) {
        if (i % 1000 === 0) hostile.send(KIND.RESPONSE, 0, Buffer.alloc(0));
        hostile.a.tryReceive();
      }
    },
  ],
];
test.each(busyPrograms)('a doorbell that was put off is rung during %s', async (_, runProgram) => {
  const { ring } = native;
  const [hostile, honest] = [await rawPeer(), await rawPeer()];
  let rings = 0;
  native.ring = (fd) => {
    rings++;
    for (const end = performance.now() + 15; performance.now() < end; );
    return ring(fd);
  };
  honest.claimToWaitForData();
  await turnOfLoop();
  for (let i = 0; i < 3; i++) {
    hostile.claimToWaitForData(); // an odd number of claims means that it sleeps
    hostile.a.trySend('x');
    hostile.claimToWaitForData();
  }
  const before = rings;
  honest.a.trySend('y');
  expect(rings).toBe(before); // it was put off
  runProgram(hostile);
  const after = rings;
  native.ring = ring;
  await Promise.all([hostile.close(), honest.close()]);
  expect(after).toBeGreaterThan(before);
});

// A peer whose rings took long and whose own rings did not was never seen as slow.
test('a peer is slow although every second call, or only each 65th, takes long', async () => {
  let busyMs = 0;
  const times = new turn.CallTimes(() => busyMs);
  const call = (/** @type {number} */ ms) =>
    times.time(() => {
      busyMs += ms;
      for (const end = performance.now() + ms; performance.now() < end; );
    });
  for (let i = 0; i < 200; i++) call(i % 65 < 2 ? 1 : 0);
  expect(times.isSlow).toBe(true);
  for (let i = 0; i < 10; i++) {
    call(1);
    call(0);
    expect(times.isSlow).toBe(true);
  }
  for (let i = 0; i < 300; i++) call(0);
  expect(times.isSlow).toBe(false);
});

describe('of rings that take 10 ms each, a peer gets few in one go,', () => {
  /** @param {InstanceType<typeof turn.CallTimes>} times */
  const ringsInOneGo = (times) => {
    let rings = 0;
    for (; rings < MANY && turn.mayRing(); rings++) times.count(10, 10, true);
    return rings;
  };

  test('also after a long time in which there were none', () => {
    const times = new turn.CallTimes();
    ringsInOneGo(times);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    expect(ringsInOneGo(times)).toBeLessThan(FEW);
  });

  test("also after a listener of 'beforeExit' has begun something else", async () => {
    const times = new turn.CallTimes();
    for (let i = 0; i < 3; i++) await turnOfLoop(); // no turn is begun that would end this
    turn.programEnds();
    expect(ringsInOneGo(times)).toBe(MANY);
    await turnOfLoop();
    await turnOfLoop();
    expect(ringsInOneGo(times)).toBeLessThan(FEW);
  });
});

// Members that keep the process alive, and others, chose by turns together: some were never resumed.
test('each peer for which calls take long is resumed, whether it keeps the process alive or not', async () => {
  let isOver = false;
  let resumptions = 0;
  const members = [4, 2, 2, 4, 4, 2].map((tookMs, i) => {
    const self = {
      count: 0,
      unreferenced: i < 3,
      isSlow: true,
      tookMs,
      resume() {
        self.count++;
        resumptions++;
        for (const end = performance.now() + tookMs; performance.now() < end; );
        if (!isOver) turn.resumeNext(self);
      },
    };
    turn.resumeNext(self);
    return self;
  });
  while (resumptions < 100) await turnOfLoop();
  isOver = true;
  expect(members.filter(({ count }) => count === 0)).toEqual([]);
});

// The listener asked for time in each turn, and the doorbells that were queued had used it up: no client got in.
test('others wait for few of the peers whose doorbells take long', async () => {
  const SLOW = 30;
  const server = await listen(newPath(), { wait: 'sleep' });
  const script = `
    const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
    const fds = [];
    const next = async () => {
      const fd = native.connect(${JSON.stringify(server.path)});
      native.sendHello(fd, native.createRegion(65536, false, true).handle);
      while (!native.receiveHello(fd, true)) await new Promise(setImmediate);
      fds.push(fd);
    };
    (async () => {
      for (let i = 0; i < ${SLOW}; i++) await next();
      setInterval(() => fds.forEach((fd) => native.ring(fd)), 1);
    })();`;
  const { child, ended } = runScript(script);
  closing({
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  });
  const peers = [];
  for (let i = 0; i < SLOW; i++) peers.push(await server.accept());
  for (const peer of peers) peer.receive().catch(() => {}); // they end with the test
  let calls = 0;
  const { drain } = native;
  native.drain = (fd) => {
    calls++;
    takeLong();
    return drain(fd);
  };
  while (calls < 3 * SLOW) await turnOfLoop(); // they are known to be slow
  const before = calls;
  const [a, b] = await Promise.all([connect(server.path, { wait: 'sleep' }), server.accept()]);
  b.onRequest((/** @type {Uint8Array} */ bytes) => bytes);
  await a.request('x');
  const waited = calls - before;
  native.drain = drain;
  await Promise.all([a.close(), b.close(), server.close(), ...peers.map((peer) => peer.close())]);
  expect(waited).toBeLessThan(4 * SLOW);
});

// A thread that blocks in receiveSync() and then sends, again and again, has no other turn, and kept a promise for each message.
test('all that wait for the next turn of the event loop share one promise', async () => {
  const { nextTurn } = require('../../lib/channel/turn.js');
  const next = nextTurn();
  expect(nextTurn()).toBe(next);
  await next;
  expect(nextTurn()).not.toBe(next);
});
