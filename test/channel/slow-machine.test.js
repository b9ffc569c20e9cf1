'use strict';
// Every channel advances, however little time a turn of the event loop leaves: where making an immediate takes longer than a turn's
// budget (as with the hook of `jest --detectOpenHandles`), and where it passes between any two readings of the clock. Both once
// made the channels of a thread start turn after turn without doing anything.
const { spawn } = require('node:child_process');
const { library, success, watch } = require('./support.js');

const SLOW_HOOK = `
  require('node:async_hooks').createHook({ init(_id, type) {
    if (type === 'Immediate') for (const end = process.hrtime.bigint() + 500_000n; process.hrtime.bigint() < end; );
  } }).enable();`;
const SLOW_CLOCK = `
  const clock = Object.getPrototypeOf(performance), { now } = clock;
  let passed = 0;
  clock.now = () => now.call(performance) + (passed += 0.5);`;

const MESSAGE = 'Buffer.alloc(20_000)'; // three fill a ring
const WAYS = {
  'requests, one after another': `
    b.onRequest((message) => message);
    for (let i = 0; i < 10; i++) await a.request('x');`,
  'requests that wait for others': `
    b.onRequest(async (message) => message, { concurrency: 2 });
    await Promise.all(times(20, () => a.request(${MESSAGE})));`,
  'messages that go to and fro': `
    const echo = (async () => { for (let i = 0; i < 10; i++) await b.send(await b.receive()); })();
    for (let i = 0; i < 10; i++) { await a.send('x'); await a.receive(); }
    await echo;`,
  'full rings both ways': `
    await Promise.all([a, b].flatMap((each) => [...times(20, () => each.send(${MESSAGE})), ...times(20, () => each.receive())]));`,
  'requests both ways, and messages': `
    for (const each of [a, b]) each.onRequest((message) => message);
    await Promise.all([...times(20, () => a.request(${MESSAGE})), ...times(20, () => b.request(${MESSAGE})),
      ...times(20, () => a.send(${MESSAGE})), ...times(20, () => b.receive())]);`,
  'a stream': `
    const [writer, reader] = [a.toDuplex(), b.toDuplex()];
    times(20, () => writer.write(${MESSAGE}));
    let got = 0;
    await new Promise((resolve) => reader.on('data', (bytes) => { if ((got += bytes.length) === 400_000) resolve(); }));
    writer.destroy();
    reader.destroy();`,
};

describe.each([
  ['an immediate takes long to make', SLOW_HOOK],
  ['time passes with each look at the clock', SLOW_CLOCK],
])('a channel advances where %s:', (_what, slow) => {
  test.each(Object.entries(WAYS))('%s', async (_name, way) => {
    const script = `${slow}
      const { channelPair, openChannel } = require(${library});
      const times = (count, call) => Array.from({ length: count }, call);
      const { channel, port } = channelPair({ capacity: 65536 });
      Promise.all([channel, openChannel(port.take(), { capacity: 65536 })]).then(async ([a, b]) => {
        ${way}
        await Promise.all([a.close(), b.close()]);
      });
      setTimeout(() => process.exit(3), 60_000).unref();`;
    expect(await watch(spawn(process.execPath, ['-e', script])).ended).toEqual(success);
  });
});

// Where time passes with each look at the clock, a turn ends with the first look. Channels that did nothing when they were last
// resumed may do a little without such a look; once, all of them did, one after another, in the same turn.
test('channels that did nothing in an earlier turn do not share one turn, however many there are', async () => {
  const script = `${SLOW_CLOCK}
    const { channelPair, openChannel } = require(${library});
    const turn = () => new Promise(setImmediate);
    const open = ({ channel, port }) => Promise.all([channel, openChannel(port.take())]);
    const COUNT = 100;
    (async () => {
      const pairs = await Promise.all(Array.from({ length: COUNT }, () => open(channelPair())));
      for (let round = 0; round < 3; round++) {
        let received = 0, turns = 0;
        for (const [, b] of pairs) b.receive().then(() => received++);
        await new Promise((resolve) => setTimeout(resolve, 100));
        for (const [a] of pairs) a.trySend('x');
        for (; received < COUNT; turns++) await turn();
        if (turns < COUNT / 5) process.exitCode = 4;
      }
      await Promise.all(pairs.flat().map((each) => each.close()));
    })();
    setTimeout(() => process.exit(3), 60_000).unref();`;
  expect(await watch(spawn(process.execPath, ['-e', script])).ended).toEqual(success);
});
