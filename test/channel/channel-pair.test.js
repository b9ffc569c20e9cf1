'use strict';
// channelPair: one end stays here, the other goes to a worker thread or a child process.
const { fork, spawn } = require('node:child_process');
const { Worker } = require('node:worker_threads');
const { closing, crossings, errorWith, library, pause, peerArguments, watch } = require('./support.js');
const { message, verify } = require('./numbered-messages.js');

const { channelPair } = crossings;

/** Starts a worker whose script has `channel`, the other end. @param {string} script @param {any} port @param {object} [options] */
function startWorker(script, port, options = {}) {
  const source = `
    const { workerData } = require('node:worker_threads');
    const { openChannel } = require(${library});
    openChannel(workerData, ${JSON.stringify(options)}).then(async (channel) => { ${script} });`;
  const worker = new Worker(source, { eval: true, workerData: port.take() });
  const exited = new Promise((resolve) => worker.once('exit', resolve));
  return { worker, exited };
}

test('an end that is never opened fails with ERR_TIMEOUT', async () => {
  const { channel, port } = channelPair({ timeout: 30 });
  await expect(channel).rejects.toEqual(errorWith('ERR_TIMEOUT'));
  port.close();
  expect(() => port.fd).toThrow(errorWith('ERR_CLOSED'));
});

describe('with a worker thread', () => {
  test('several workers each have their own channel', async () => {
    const exits = Array.from({ length: 3 }, async () => {
      const { channel, port } = channelPair();
      const echo = 'for await (const bytes of channel) await channel.send(bytes); await channel.close();';
      const { exited } = startWorker(echo, port);
      const end = closing(await channel);
      for (let i = 0; i < 2000; i++) {
        end.trySend(message(i));
        verify(await end.receive(), i);
      }
      await end.close();
      return exited;
    });
    expect(await Promise.all(exits)).toEqual([0, 0, 0]);
  });

  test('receiveSync blocks the worker until a message arrives', async () => {
    const { channel, port } = channelPair();
    const echo =
      'for (let bytes; (bytes = channel.receiveSync()) !== null; ) channel.trySend(bytes); await channel.close();';
    const { exited } = startWorker(echo, port, { spinMicros: 0 });
    const end = closing(await channel);
    for (let i = 0; i < 50; i++) {
      if (i % 10 === 0) await pause(3);
      end.trySend(message(i));
      verify(await end.receive(), i);
    }
    await end.close();
    expect(await exited).toBe(0);
  });

  test.each([0, 1, 5, 50])('a worker terminated after %i ms is a peer that died', async (ms) => {
    const { channel, port } = channelPair();
    const { worker } = startWorker('await channel.receive();', port);
    const end = closing(await channel);
    await pause(ms);
    const failed = expect(end.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    await worker.terminate();
    await failed;
  });
});

/** A script for a child process that opens descriptor 3 and reports how that went. */
const opener = `
  require(${library}).openChannel(3, { timeout: 5000 }).then(
    async (channel) => {
      console.log('opened');
      for await (const message of channel) channel.trySend(message);
    },
    ({ code, message }) => console.log(code, message));`;
/** @param {number} fd */
const startOpener = (fd) => watch(spawn(process.execPath, ['-e', opener], { stdio: ['ignore', 'pipe', 'pipe', fd] }));

test('of two processes with the same port, one opens it and the other is told so', async () => {
  const { channel, port } = channelPair();
  const children = [port.fd, port.fd].map(startOpener);
  const end = closing(await channel);
  for (let i = 0; i < 100; i++) {
    await end.send(message(i));
    verify(await end.receive(), i);
  }
  await Promise.all(children.map(({ ready }) => ready));
  await end.close();
  const outputs = (await Promise.all(children.map(({ ended }) => ended))).map(({ output }) => output).sort();
  expect(outputs).toEqual([expect.stringMatching(/^ERR_CLOSED The port was already opened/), 'opened\n']);
});

test('a parent that forgets port.close() notices the death of its child', async () => {
  const { channel, port } = channelPair();
  const { child, ready } = startOpener(port.fd);
  const end = closing(await channel);
  await ready;
  expect(() => port.fd).toThrow(errorWith('ERR_CLOSED'));
  child.kill('SIGKILL');
  await expect(end.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
});

test('fork() passes the end as descriptor 4', async () => {
  const { channel, port } = channelPair();
  const args = peerArguments('echo', 'fd:4');
  const child = fork(args[0], args.slice(1), { stdio: [0, 1, 2, 'ipc', port.fd] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const end = closing(await channel);
  await end.send('hello');
  expect(String(await end.receive())).toBe('hello');
  await end.close();
  child.disconnect();
  expect(await exited).toBe(0);
});

test('with a child process, the end is an inherited file descriptor', async () => {
  const { channel, port } = channelPair();
  const child = watch(
    spawn(process.execPath, peerArguments('echo', 'fd:3'), { stdio: ['ignore', 'pipe', 'pipe', port.fd] }),
  );
  port.close();
  const end = closing(await channel);
  for (let i = 0; i < 500; i++) {
    await end.send(message(i));
    verify(await end.receive(), i);
  }
  expect(end.peer.pid).toBe(process.pid); // for a socketpair, the kernel reports the process that created it
  await end.close();
  expect(await child.ended).toMatchObject({ status: 0, output: '' });
});
