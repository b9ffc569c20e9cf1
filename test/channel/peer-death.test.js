'use strict';
// A peer that is killed: every wait ends with ERR_PEER_DIED, and what it had sent is still delivered.
const { execFileSync } = require('node:child_process');
const { closing, crossings, errorWith, library, newPath, peer, runScript } = require('./support.js');

const { listen } = crossings;

/** A channel to a process that does nothing. */
async function connectIdlePeer() {
  const path = newPath();
  const server = closing(await listen(path, { capacity: 65536 }));
  const idle = peer('idle', path);
  const channel = closing(await server.accept());
  await idle.ready;
  return { channel, idle };
}

test.each([
  ['receive', (/** @type {any} */ channel) => channel.receive()],
  [
    'send without room',
    async (/** @type {any} */ channel) => {
      while (channel.trySend(Buffer.alloc(5000)));
      await channel.send(Buffer.alloc(50_000));
    },
  ],
  ['request', (/** @type {any} */ channel) => channel.request('x')],
  ['receiveSync', async (/** @type {any} */ channel) => channel.receiveSync()],
])('a waiting %s fails with ERR_PEER_DIED', async (_, wait) => {
  const { channel, idle } = await connectIdlePeer();
  // Killed by another process, since receiveSync blocks this one.
  execFileSync('sh', ['-c', `(sleep 0.2; kill -9 ${idle.child.pid}) >/dev/null 2>&1 &`]);
  await expect(wait(channel)).rejects.toEqual(errorWith('ERR_PEER_DIED'));
});

test('every later call fails with ERR_PEER_DIED', async () => {
  const { channel, idle } = await connectIdlePeer();
  const waiting = channel.receive();
  idle.child.kill('SIGKILL');
  const died = errorWith('ERR_PEER_DIED');
  await expect(waiting).rejects.toEqual(died);
  expect(() => channel.trySend('x')).toThrow(died);
  expect(() => channel.tryReceive()).toThrow(died);
  await expect(channel.request('x')).rejects.toEqual(died);
});

test('what the peer sent before its death is delivered first', async () => {
  const path = newPath();
  const server = closing(await listen(path));
  const dying = runScript(`require(${library}).connect(${JSON.stringify(path)}).then((channel) => {
    channel.trySend('last words');
    process.kill(process.pid, 'SIGKILL');
  })`);
  const channel = closing(await server.accept());
  await dying.ended;
  expect((await channel.receive()).toString()).toBe('last words');
  await expect(channel.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
});
