'use strict';
// Channels between processes: messages arrive whole, in order, once, and within bounded memory.
const v8 = require('node:v8');
const { runInNewContext } = require('node:vm');
const { inCi } = require('../in-ci.js');
const { closing, crossings, newPath, pause, peer, success } = require('./support.js');
const { message, verify } = require('./numbered-messages.js');

const { connect, listen } = crossings;

test.each([[10], [200_000]])('%i messages arrive whole and in order, then the channel ends', async (count) => {
  const path = newPath();
  const sender = peer('send', path, count);
  const server = closing(await listen(path));
  const channel = closing(await server.accept());
  let i = 0;
  for await (const bytes of channel) verify(bytes, i++);
  expect(i).toBe(count);
  expect(await sender.ended).toEqual(success);
});

test('a sender that is faster than its receiver is slowed down and loses nothing', async () => {
  const path = newPath();
  const server = closing(await listen(path, { capacity: 65536 }));
  const receiver = peer('receive', path, 100_000);
  const channel = closing(await server.accept());
  for (let i = 0; i < 100_000; i++) await channel.send(message(i));
  await channel.close();
  expect(await receiver.ended).toEqual(success);
});

const [many, words] = inCi ? [10_000_000, 'ten million'] : [1_000_000, 'one million'];

test(`${words} messages in tight loops arrive in order, with the checksum of the sender`, async () => {
  const path = newPath();
  const receiver = peer('drain', `listen:${path}`, many);
  const sender = peer('flood', path, many);
  expect(await receiver.ended).toEqual(success);
  expect(await sender.ended).toEqual(success);
});

test('20 MB through a small ring leave no memory in use', async () => {
  const path = newPath();
  const server = closing(await listen(path, { capacity: 65536 }));
  const echo = peer('echo', path);
  const channel = closing(await server.accept());
  const bytes = Buffer.alloc(1000);
  v8.setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  collect();
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 20_000; i++) {
    await channel.send(bytes);
    channel.tryReceive();
  }
  let grown = Number.POSITIVE_INFINITY;
  // The collector frees buffers on another thread, some time after gc() has returned.
  for (let tries = 0; tries < 100 && grown >= 4 << 20; tries++) {
    collect();
    await pause(20);
    grown = process.memoryUsage().arrayBuffers - before;
  }
  expect(grown).toBeLessThan(4 << 20);
  await channel.close();
  expect((await echo.ended).status).toBe(0);
});

test('one server has many clients, each with its own channel', async () => {
  const path = newPath();
  const server = closing(await listen(path));
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect(path)));
  const served = await Promise.all(clients.map(() => server.accept()));
  for (const channel of [...clients, ...served]) closing(channel);
  for (const [i, channel] of served.entries()) channel.trySend(`to ${i}`);
  const received = await Promise.all(clients.map(async (client) => String(await client.receive())));
  expect(received.sort()).toEqual(served.map((_, i) => `to ${i}`).sort());
});
