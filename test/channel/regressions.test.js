'use strict';
// Each of these once failed. The name states the promise, the comment above it states the bug.
const { performance } = require('node:perf_hooks');
const { closing, crossings, errorWith, library, newPath, pair, pause, runScript, success } = require('./support.js');
const lookout = require('../../lib/channel/lookout.js');
const turn = require('../../lib/channel/turn.js');
const { native } = require('../../lib/channel/native.js');

const { connect, listen } = crossings;
const waits = ['sleep', 'spin-then-sleep', 'spin'];

// The rejected send was not handled, which ended the process.
test('an answer whose requester has closed is dropped', async () => {
  const [a, b] = await pair();
  b.onRequest(() => pause(30));
  const failed = expect(a.request('x')).rejects.toEqual(errorWith('ERR_CLOSED'));
  await pause(10);
  await a.close();
  await failed;
  await pause(50); // an unhandled rejection in this time fails the test
});

// Taking the answer from the ring dropped the message behind it.
test.each(waits)('an answer that arrives beside a pending receive loses no message (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait });
  b.onRequest(() => 'answer');
  const answer = a.request('x');
  const first = a.receive();
  await answer;
  for (const message of ['M1', 'M2', 'M3']) b.trySend(message);
  const received = [await first, await a.receive(), await a.receive()];
  expect(received.map(String)).toEqual(['M1', 'M2', 'M3']);
});

// After the first few, the others were never served.
test.each(waits)('thousands of pending receives and sends are all served (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait, capacity: 65536 });
  const received = Promise.all(Array.from({ length: 5000 }, () => b.receive()));
  await pause(5);
  const sent = Promise.all(Array.from({ length: 5000 }, (_, i) => a.send(String(i))));
  expect((await received).map(Number)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  await sent;
});

// The next look stayed with a timer that does not keep the process alive. Here such a timer never fires.
test.each(waits)('ref() resumes an unreferenced channel (wait: %p)', async (wait) => {
  const { resumeNext } = turn;
  const next = jest.spyOn(turn, 'resumeNext');
  next.mockImplementation((each) => {
    if (!each.unreferenced) resumeNext(each);
  });
  const [a, b] = await pair({ wait });
  b.unref();
  await turn.nextTurn(); // a turn whose time is not spent
  const received = b.receive();
  for (let i = 0; i < 20; i++) await turn.nextTurn(); // it looks until that time is spent
  b.ref();
  await a.send('hello');
  expect(String(await received)).toBe('hello');
  next.mockRestore();
});

// unref() also stopped the channel from looking.
test.each(waits)('an unreferenced channel still receives (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait });
  b.unref();
  const idle = setInterval(() => {}, 1000);
  for (let i = 0; i < 10; i++) {
    const next = b.receive();
    await pause(3);
    a.trySend(String(i));
    expect(String(await next)).toBe(String(i));
  }
  clearInterval(idle);
});

// receiveSync consumed the doorbell that the send was waiting for.
test('receiveSync does not swallow the wake-up of a pending send', async () => {
  const [a, b] = await pair({ capacity: 65536, wait: 'sleep' });
  while (a.trySend(Buffer.alloc(1000)));
  const late = a.send(Buffer.alloc(5000, 1));
  await pause(10);
  while (b.tryReceive()?.length === 1000);
  b.trySend('answer');
  expect(String(a.receiveSync())).toBe('answer');
  await late;
  expect(b.tryReceive()).toHaveLength(5000);
});

// receiveSync took the message that the pending receive was owed.
test('receiveSync is refused while a receive is pending', async () => {
  const [a, b] = await pair();
  const first = b.receive();
  expect(() => b.receiveSync()).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
  a.trySend('one');
  expect(String(await first)).toBe('one');
});

// The timeout was looked at before the peer's state.
test('receiveSync with timeout 0 returns null when the peer has closed', async () => {
  const [a, b] = await pair();
  await a.close();
  expect(b.receiveSync({ timeout: 0 })).toBeNull();
});

// The request was counted as outstanding before it was refused, which kept the process running.
test('a request that is too large does not keep the process running', async () => {
  const [a] = await pair();
  await expect(a.request(Buffer.alloc(2 << 20))).rejects.toEqual(errorWith('ERR_MESSAGE_TOO_LARGE'));
  const script = `
    const { channelPair, openChannel } = require(${library});
    (async () => {
      const { channel, port } = channelPair();
      await openChannel(port.take());
      (await channel).request(Buffer.alloc(2 << 20)).catch(() => {});
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

// The answer lay behind messages that had no room in the inbox, and was never looked for again.
test('an answer behind more messages than the inbox holds is found', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  b.onRequest(async () => {
    for (let i = 0; i < 200; i++) await b.send(Buffer.alloc(1000, i));
    return 'at last';
  });
  const answer = a.request('x');
  for (let i = 0; i < 200; i++) expect((await a.receive())[0]).toBe(i);
  expect(String(await answer)).toBe('at last');
});

// The reader went on in memory that was no longer mapped: a raw RangeError.
test('a handler that closes its channel makes later calls throw ERR_CLOSED', async () => {
  const [a, b] = await pair();
  b.onRequest(() => b.close());
  const outcome = a.request('x').catch((/** @type {any} */ error) => error.code);
  await pause(5);
  expect(() => b.tryReceive()).toThrow(errorWith('ERR_CLOSED'));
  expect(['ERR_CLOSED', 'ERR_REQUEST_FAILED']).toContain(await outcome);
});

// The event loop never slept while clients were silent.
test('a hundred silent clients do not keep the event loop busy', async () => {
  const server = closing(await listen(newPath()));
  const silent = Array.from({ length: 100 }, () => native.connect(server.path));
  let utilization = 1;
  // A busy machine can disturb one look; a loop that never sleeps is busy in all of them.
  for (let tries = 0; tries < 20 && utilization > 0.5; tries++) {
    const before = performance.eventLoopUtilization();
    await pause(300);
    utilization = performance.eventLoopUtilization(before).utilization;
  }
  for (const fd of silent) native.closeFd(fd);
  expect(utilization).toBeLessThan(0.5);
  closing(await connect(server.path));
  closing(await server.accept());
});

// The receive was put off to the next turn of the event loop, which nothing had asked for: it waited forever.
test('receives after the peer has gone all end, however many there are in one turn of the event loop', async () => {
  const [a, b] = await pair();
  await a.close();
  expect(await b.receive()).toBeNull();
  const received = [];
  // The first receives start the clock of this turn, the time passes, and the others find the turn's budget spent.
  for (let i = 0; i < 200; i++) received.push(b.receive());
  const until = performance.now() + 20;
  while (performance.now() < until);
  for (let i = 0; i < 200; i++) received.push(b.receive());
  expect(await Promise.all(received)).toEqual(Array(400).fill(null));
});

/** Keeps the processor busy. @param {number} ms */
function spin(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return 'done';
}

/** Uses up the time that channels have in this turn of the event loop. @param {any} channel */
function spendTurn(channel) {
  for (let i = 0; i < 200; i++) channel.send('start the clock of this turn');
  spin(20);
  for (let i = 0; i < 200; i++) channel.send('notice that its time is over');
}

// The channel looked at its ring on behalf of the receive, but the message was in the inbox already.
test.each(waits)('a message that came while only requests were expected is received later (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait });
  b.onRequest(() => 'answer');
  a.trySend('message');
  await a.request('x'); // the message is before it
  spendTurn(b);
  expect(String(await b.receive())).toBe('message');
});

// Only the first 1000 responses in the ring were taken; then the peer was gone, and nothing looked for the others.
test.each(waits)(
  'thousands of responses that precede the end of the channel are all received (wait: %p)',
  async (wait) => {
    const [a, b] = await pair({ wait });
    /** @type {((response: string) => void)[]} */
    const respond = [];
    b.onRequest(() => new Promise((resolve) => respond.push(resolve)), { concurrency: 6000 });
    const responses = Array.from({ length: 6000 }, () => a.request('x'));
    while (respond.length < responses.length) await pause(5);
    b.cork();
    for (const each of respond) each('response');
    await pause(5);
    b.close();
    expect((await Promise.all(responses)).every((response) => String(response) === 'response')).toBe(true);
  },
);

// The responses had been taken from the ring and waited for the next turn of the event loop; the empty ring of a closed peer
// was then taken for the end.
test('responses behind slow requests are received although the peer has closed', async () => {
  const [a, b] = await pair();
  a.onRequest(() => spin(0.1));
  /** @type {((response: string) => void)[]} */
  const respond = [];
  b.onRequest(() => new Promise((resolve) => respond.push(resolve)));
  const responses = Array.from({ length: 10 }, () => a.request('x'));
  while (respond.length < responses.length) await pause(5);
  b.cork();
  for (let i = 0; i < 100; i++) b.request('slow').catch(() => {});
  for (const each of respond) each('response');
  await pause(5);
  b.close();
  expect((await Promise.all(responses)).map(String)).toEqual(Array(10).fill('response'));
});

// The channel looked at its ring, which the receive in the handler had emptied.
test.each(waits)('a request that a handler meets while it receives is handled as well (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait });
  let second;
  b.onRequest((/** @type {Buffer} */ request) => {
    if (String(request) === 'first') {
      a.cork();
      second = a.request('second');
      a.uncork(); // publishes it now
      expect(b.tryReceive()).toBeNull();
    }
    return `response to the ${request}`;
  });
  expect(String(await a.request('first'))).toBe('response to the first');
  expect(String(await second)).toBe('response to the second');
});

// The channel looked at the corrupt ring forever.
test('a channel that spins stops when its peer is found corrupt', async () => {
  const script = `
    const { openChannel } = require(${library});
    const { native } = require(${JSON.stringify(require.resolve('../../lib/channel/native.js'))});
    (async () => {
      const [ours, theirs] = native.socketPair();
      const opening = openChannel(ours, { wait: 'spin' });
      const region = native.createRegion(65536, false, false);
      native.sendHello(theirs, region.handle);
      const channel = await opening;
      const received = channel.receive();
      await new Promise((resolve) => setTimeout(resolve, 20)); // it looks by now
      new Int32Array(region.buffer)[4096 / 4] = -5; // the size of the first frame
      try {
        channel.tryReceive();
      } catch (error) {
        if (error.code !== 'ERR_PEER_CORRUPT') throw error;
      }
      await received.catch(() => {});
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

// What was sent after a receive had begun waited until the look for the response was over.
test('what was sent is published before the thread looks for a message', async () => {
  const [a, b] = await pair({ wait: 'spin' });
  let published = false;
  /** Looks instead of the peer, which this thread cannot run meanwhile. */
  const looker = {
    unreferenced: false,
    place: -1,
    lookUntil: performance.now() + 10_000,
    showAll() {},
    isReady() {
      published ||= b.tryReceive() !== null;
      lookout.remove(looker);
      return true;
    },
    limitMs: 10_000,
    look() {},
    lookEnded() {},
  };
  const mocks = [jest.spyOn(turn, 'take').mockReturnValue(true), jest.spyOn(turn, 'isSpent').mockReturnValue(false)]; // a slow machine
  const received = a.receive();
  lookout.add(looker);
  const sent = a.send('x');
  await Promise.resolve();
  await Promise.resolve();
  lookout.remove(looker); // also if it was not called: it would stop the lookout of all tests after this one
  for (const mock of mocks) mock.mockRestore();
  expect(published).toBe(true);
  await sent;
  b.trySend('y');
  await received;
});

// Each call that had to wait for the next turn of the event loop started a timer of its own.
test('an unreferenced channel starts no timer for each call', async () => {
  const [a, b] = await pair();
  b.unref();
  const timers = jest.spyOn(globalThis, 'setTimeout');
  spendTurn(b);
  const received = Array.from({ length: 1000 }, () => b.receive());
  const started = timers.mock.calls.length;
  timers.mockRestore();
  for (let i = 0; i < received.length; i++) a.trySend('x');
  await Promise.all(received);
  expect(started).toBeLessThan(10);
});

// Only the bytes of messages were counted: empty ones could fill a batch for as long as the peer sent them.
test('a batch takes no more than the ring holds, however fast the peer sends', async () => {
  /** @type {any} */
  let a;
  const decode = () => a.trySend('');
  const [left, b] = await pair({ capacity: 65536 }, { capacity: 65536, decode });
  a = left;
  a.trySend('');
  const { value } = await b.batches({ max: 1_000_000 }).next();
  expect(value.length).toBeLessThanOrEqual(65536 / 8 + 1);
});

// The reader announces small messages together, and late: when it finds the ring empty. It did not look before it waited.
test.each(waits)('a request that needs the whole ring finds room when the ring is empty (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait, capacity: 65536 });
  b.onRequest(() => 'response');
  await pause(5); // b looks, or sleeps
  a.trySend('small');
  expect(String(b.tryReceive())).toBe('small');
  expect(String(await a.request(Buffer.alloc(a.maxMessageBytes - 4)))).toBe('response');
});

// Each waited for room that the other had made but had not announced.
test.each(waits)('two ends that both send before they receive do not wait for each other (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait, capacity: 65536 });
  a.trySend('to b');
  b.trySend('to a');
  b.tryReceive();
  a.tryReceive();
  a.trySend('fills the ring of a');
  const large = Buffer.alloc(a.maxMessageBytes);
  const first = a.send(large); // b has to read before
  const second = b.send(large); // a has read everything
  await second;
  expect(String(b.tryReceive())).toBe('fills the ring of a');
  expect(b.tryReceive()).toBeNull();
  await first;
});

// A channel that spun went on looking for requests.
test.each(waits)('a process whose handler was removed can end (wait: %p)', async (wait) => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    (async () => {
      const { channel, port } = channelPair({ wait: '${wait}' });
      globalThis.other = await openChannel(port.take());
      const ours = await channel;
      ours.onRequest(() => 'response');
      await new Promise((resolve) => setTimeout(resolve, 20)); // it looks, or sleeps
      ours.onRequest(null);
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

// A channel that always looks spent the budget of each turn before the timer of another one fired.
test('channels that do not keep the process alive take turns', async () => {
  let served = false;
  let stopped = false;
  const spender = {
    unreferenced: true,
    async resume() {
      await Promise.resolve();
      while (turn.take());
      if (!stopped) turn.resumeNext(spender);
    },
  };
  const other = {
    unreferenced: true,
    resume() {
      if (turn.take()) served = true;
      else turn.resumeNext(other);
    },
  };
  turn.resumeNext(spender);
  turn.resumeNext(other);
  for (let wait = 0; wait < 200 && !served; wait++) await new Promise((resolve) => setTimeout(resolve, 5));
  stopped = true;
  expect(served).toBe(true);
});

// One that spent the turn without counting, as a look does, came first in each turn, and nothing was left for the other.
test('what was not served in one turn comes first in the next', async () => {
  let served = 0;
  let turns = 0;
  const looker = {
    unreferenced: false,
    resume() {
      turn.recheck();
      turn.take(); // the turn begins
      const began = performance.now();
      while (performance.now() - began < 1 /* longer than a turn */);
      turn.recheck();
      if (++turns < 20) turn.resumeNext(looker);
    },
  };
  const other = {
    unreferenced: false,
    resume() {
      if (turn.take()) served = turns;
      else turn.resumeNext(other);
    },
  };
  turn.resumeNext(looker);
  turn.resumeNext(other);
  while (turns < 20) await turn.nextTurn();
  expect(served).toBe(1); // in the second turn, before the looker
});

// waitForRoom() had taken notice of the room that a look would have found for the send before it.
test.each(waits)('waitForRoom() behind a send that waits holds up neither (wait: %p)', async (wait) => {
  const [a, b] = await pair({ wait, capacity: 65536 });
  await turn.nextTurn();
  while (a.trySend(Buffer.alloc(1000)) /* fill the ring */);
  const sent = a.send(Buffer.alloc(1000));
  while (b.tryReceive() !== null /* make room before the first look */);
  const room = a.waitForRoom(10);
  await expect(a.waitForRoom(70_000)).rejects.toEqual(errorWith('ERR_MESSAGE_TOO_LARGE'));
  await sent;
  await room;
});

// Timers that had been started before kept it alive until they fired.
test('timeouts of pending requests do not keep an unreferenced channel alive', async () => {
  const script = `
    const { channelPair, openChannel } = require(${library});
    (async () => {
      const { channel, port } = channelPair({ capacity: 65536 });
      const other = await openChannel(port.take());
      const ours = await channel;
      for (const size of [10, 60_000, 60_000]) // the last does not fit into the window
        ours.request(Buffer.alloc(size), { timeout: 2 ** 30 }).catch(() => {});
      ours.unref();
      other.unref();
    })();`;
  expect(await runScript(script).ended).toEqual(success);
});

// After many small messages, the clock was read for every 64th: 64 large ones, which took seconds, were received in one turn.
test.each(['for await', 'receive'])('a turn of the event loop ends after one large message (%s)', async (way) => {
  const capacity = 2 ** 26;
  const [a, b] = await pair({ capacity });
  const large = Buffer.alloc(2 ** 22); // no processor copies it within the budget of a turn
  for (let i = 0; i < 3000; i++) a.trySend('small');
  for (let i = 0; i < 14; i++) expect(a.trySend(large)).toBe(true);
  await a.close();
  let inThisTurn = 0;
  let most = 0;
  const count = (/** @type {Buffer} */ { length }) => {
    if (length === large.length) most = Math.max(most, ++inThisTurn);
  };
  const turns = (function nextTurn() {
    inThisTurn = 0;
    return setImmediate(() => b.state === 'closed' || nextTurn());
  })();
  if (way === 'for await') for await (const message of b) count(message);
  else for (let message = await b.receive(); message !== null; message = await b.receive()) count(message);
  await b.close();
  clearImmediate(turns);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2);
});
