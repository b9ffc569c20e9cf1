'use strict';
// Processes of other users, over sockets: refused by both ends, whatever the socket's file says, where the addon is there to ask the
// kernel; without it, the file decides.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { closing, crossings, errorWith, folder, library, newPath, success, watch } = require('../channel/support.js');
const { root } = require('../support.js');

const { channelPair, connect, listen } = crossings;
const SOCKET = { transport: 'socket', capacity: 65536 };
const OTHERS = { ...SOCKET, allowOtherUsers: true };

// The other process runs as "nobody". Only root can start it, and it must be able to read this checkout.
const nobody = { uid: 65534, gid: 65534, cwd: '/' };
const possible =
  process.getuid?.() === 0 && spawnSync(process.execPath, ['-e', `require(${library})`], nobody).status === 0;
const testAsOther = possible ? test : test.skip;
const reason = possible ? '' : ' (skipped: needs root and a checkout that other users can read)';

const pure = join(folder, 'pure'); // without build/
cpSync(join(root, 'lib'), join(pure, 'lib'), { recursive: true });
const withoutAddon = JSON.stringify(join(pure, 'lib'));
beforeAll(() => chmodSync(folder, 0o755));

/** A path where nobody's server can listen. */
function strangePath() {
  const around = newPath();
  mkdirSync(around);
  chmodSync(around, 0o1777);
  return join(around, 'x.sock');
}

/** Starts nobody's script, and waits until it prints something. @param {string} script */
async function startStranger(script) {
  const { child, ended } = watch(spawn(process.execPath, ['-e', script], nobody));
  await once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data');
  return { child, ended };
}

/** A server of nobody that accepts everybody. @param {string} path */
const strangeServer = (path) =>
  startStranger(
    `require(${library}).listen(${JSON.stringify(path)}, ${JSON.stringify(OTHERS)}).then(() => console.log('listening'))`,
  );

/** How a call of the library ends in a process of its own. @param {string} call @param {object} [options] of spawn() */
const outcomeOf = (call, options) =>
  watch(
    spawn(
      process.execPath,
      ['-e', `${call}.then(() => 'opened', (error) => error.code).then(console.log).then(() => process.exit())`],
      options,
    ),
  ).ended;

const refused = { ...success, output: 'ERR_NOT_AUTHORIZED\n' };

// The client looked at the file before and after it connected. A user who exchanged it in between could pose as the server.
testAsOther(`a server of another user is refused, even if the file at its path is ours${reason}`, async () => {
  const path = strangePath();
  await strangeServer(path);
  chownSync(path, 0, 0);
  const connecting = connect(path, SOCKET);
  connecting.then((/** @type {any} */ channel) => closing(channel)).catch(() => {});
  await expect(connecting).rejects.toEqual(errorWith('ERR_NOT_AUTHORIZED'));
  await expect(connecting).rejects.toThrow('runs as user 65534, not 0.');
  closing(await connect(path, OTHERS));
});

describe.each([
  ['with the addon', library],
  ['without the addon', withoutAddon],
])('%s,', (_what, installed) => {
  testAsOther(`a server of another user is refused${reason}`, async () => {
    const path = strangePath();
    await strangeServer(path);
    const call = (/** @type {object} */ options) =>
      `require(${installed}).connect(${JSON.stringify(path)}, ${JSON.stringify(options)})`;
    expect(await outcomeOf(call(SOCKET))).toEqual(refused);
    expect(await outcomeOf(call(OTHERS))).toEqual({ ...success, output: 'opened\n' });
  });

  // A server of another user that removed its file as soon as a client had connected was taken for one of our own.
  testAsOther(`also if it removes its file${reason}`, async () => {
    const path = strangePath();
    await startStranger(
      `require('node:net').createServer(() => require('node:fs').rmSync('${path}', { force: true })).listen('${path}', () => console.log('listening'))`,
    );
    expect(await outcomeOf(`require(${installed}).connect('${path}', ${JSON.stringify(SOCKET)})`)).toEqual(refused);
  });

  // The file of a port that has ended is gone, and another user who has seen its name can listen there.
  testAsOther(`a ticket does not lead to another user${reason}`, async () => {
    const shared = mkdtempSync('/tmp/crossings-');
    chmodSync(shared, 0o1777);
    const path = join(shared, `crossings-${(123_456).toString(36)}`);
    await startStranger(
      `require('node:net').createServer((socket) => socket.pipe(socket)).listen('${path}',
        () => { require('node:fs').chmodSync('${path}', 0o666); console.log('listening'); })`,
    );
    const call = `require(${installed}).openChannel(${2 ** 52 + 123_456}, { transport: 'socket' })`;
    expect(await outcomeOf(call, { env: { ...process.env, TMPDIR: shared } })).toEqual(refused);
    rmSync(shared, { recursive: true });
  });
});

// Only the mode of the file kept them out.
testAsOther(`a server refuses other users, even if they can open its file${reason}`, async () => {
  const server = closing(await listen(newPath(), SOCKET));
  chmodSync(server.path, 0o666);
  const call = `require(${library}).connect(${JSON.stringify(server.path)}, ${JSON.stringify(OTHERS)})`;
  expect(await outcomeOf(call, nobody)).toEqual({ ...success, output: 'ERR_PEER_DIED\n' });
  expect(server.refusals.last).toEqual(errorWith('ERR_NOT_AUTHORIZED'));
  closing(await connect(server.path, SOCKET));
  closing(await server.accept());
});

testAsOther(`a server that allows other users accepts them${reason}`, async () => {
  const server = closing(await listen(newPath(), OTHERS));
  const call = `require(${library}).connect(${JSON.stringify(server.path)}, ${JSON.stringify(OTHERS)})`;
  const outcome = outcomeOf(call, nobody);
  closing(await server.accept());
  expect(await outcome).toEqual({ ...success, output: 'opened\n' });
});

testAsOther(`a port refuses other users, even if they can open its file${reason}`, async () => {
  const { channel, port } = channelPair(SOCKET);
  const refusal = expect(channel).rejects.toEqual(errorWith('ERR_NOT_AUTHORIZED'));
  const ticket = port.take();
  const file = join(tmpdir(), `crossings-${(ticket - 2 ** 52).toString(36)}`);
  // Nothing reports that it is bound.
  while (!tryTo(() => chmodSync(file, 0o666))) await new Promise((resolve) => setTimeout(resolve, 5));
  const call = `require(${library}).openChannel(${ticket}, ${JSON.stringify(OTHERS)})`;
  expect(await outcomeOf(call, nobody)).toEqual({ ...success, output: 'ERR_PEER_DIED\n' });
  await refusal;
});

/** @param {() => void} call @returns {boolean} */
function tryTo(call) {
  try {
    call();
    return true;
  } catch {
    return false;
  }
}
