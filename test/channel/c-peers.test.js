'use strict';
// Peers in C: the producer and the consumer of native/examples exchange messages with Node.
const { spawn, spawnSync } = require('node:child_process');
const { closeSync, openSync } = require('node:fs');
const { closing, crossings, newPath, peer, success, watch } = require('./support.js');
const { built } = require('../support.js');

const { connect, listen } = crossings;

/** Starts a C example. @param {string} name @param {string[]} args */
const startExample = (name, ...args) => watch(spawn(built(name), args));

test.each(['before', 'after'])('a C producer that starts %s the server feeds a Node consumer', async (order) => {
  const path = newPath();
  const early = order === 'before' ? startExample('crossings-producer', path, '5000') : null;
  const server = closing(await listen(path));
  const producer = early ?? startExample('crossings-producer', path, '5000');
  const channel = closing(await server.accept());
  let i = 0;
  for await (const bytes of channel) expect(bytes.toString()).toBe(`message ${i++}`);
  expect(i).toBe(5000);
  expect(await producer.ended).toEqual(success);
});

test('a Node producer feeds a C consumer', async () => {
  const path = newPath();
  const consumer = startExample('crossings-consumer', path);
  const channel = closing(await connect(path));
  for (let i = 0; i < 5000; i++) await channel.send(`line ${i}`);
  await channel.close();
  const { status, output } = await consumer.ended;
  expect(status).toBe(0);
  expect(output).toBe(Array.from({ length: 5000 }, (_, i) => `line ${i}\n`).join(''));
});

test('a C consumer prints a message with NUL bytes whole', async () => {
  const path = newPath();
  const consumer = startExample('crossings-consumer', path);
  const channel = closing(await connect(path));
  await channel.send('a\0b');
  await channel.close();
  expect(await consumer.ended).toMatchObject({ status: 0, output: 'a\0b\n' });
});

test('a C consumer reports that its peer died, and fails', async () => {
  const path = newPath();
  const consumer = startExample('crossings-consumer', path);
  const idle = peer('idle', path);
  await idle.ready;
  idle.child.kill('SIGKILL');
  const { status, output } = await consumer.ended;
  expect(status).toBe(1);
  expect(output).toMatch(/peer/);
});

test('a C consumer whose output is lost says so, and fails', async () => {
  const path = newPath();
  const stdout = openSync('/dev/full', 'w');
  const consumer = watch(spawn(built('crossings-consumer'), [path], { stdio: ['ignore', stdout, 'pipe'] }));
  closeSync(stdout);
  const channel = closing(await connect(path));
  await channel.send('lost');
  await channel.close();
  const output = 'Cannot write all messages to standard output: No space left on device\n';
  expect(await consumer.ended).toMatchObject({ status: 1, output });
});

test.each(['abc', '', '-1', '1x', ' 1', '1e3', '99999999999999999999'])('a C producer refuses %j messages', (count) => {
  const { status, stderr } = spawnSync(built('crossings-producer'), [newPath(), count], { encoding: 'utf8' });
  const expected = `MESSAGES must be a whole number from 0 to 9223372036854775807; got "${count}".\n`;
  expect({ status, stderr }).toEqual({ status: 2, stderr: expected });
});

test('a C producer without a server reports it and fails', async () => {
  const { status, output } = await startExample('crossings-producer', '/no/such/place.sock', '1').ended;
  expect(status).toBe(1);
  expect(output).toMatch(/time/);
});
