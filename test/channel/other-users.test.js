'use strict';
// Processes of other users: refused by both ends, unless both allow them.
const { spawn, spawnSync } = require('node:child_process');
const { chmodSync } = require('node:fs');
const { closing, crossings, errorWith, folder, library, newPath, watch } = require('./support.js');

const { listen } = crossings;

// The other process runs as "nobody". Only root can start it, and it must be able to read this checkout.
const nobody = { uid: 65534, gid: 65534, cwd: '/', encoding: /** @type {const} */ ('utf8') };
const possible =
  process.getuid?.() === 0 && spawnSync(process.execPath, ['-e', `require(${library})`], nobody).status === 0;
const testAsOther = possible ? test : test.skip;
const reason = possible ? '' : ' (skipped: needs root and a checkout that other users can read)';

beforeAll(() => chmodSync(folder, 0o755));

/**
 * Connects as another user and receives once.
 * @param {string} path
 * @param {object} [options]
 * @returns {Promise<string>} the error's code, or what was received
 */
async function connectAsOther(path, options = {}) {
  const script = `require(${library}).connect(${JSON.stringify(path)}, ${JSON.stringify(options)})
    .then((channel) => channel.receive())
    .then(console.log, (error) => console.log(error.code))
    .then(() => process.exit())`;
  const { output } = await watch(spawn(process.execPath, ['-e', script], nobody)).ended;
  return output.trim();
}

testAsOther(`cannot open the socket file${reason}`, async () => {
  const server = closing(await listen(newPath()));
  expect(await connectAsOther(server.path)).toBe('ERR_SYSTEM');
});

testAsOther(`are refused by the server even when they can open the socket file${reason}`, async () => {
  const server = closing(await listen(newPath()));
  chmodSync(server.path, 0o666);
  expect(await connectAsOther(server.path, { allowOtherUsers: true })).toBe('ERR_PEER_DIED');
  expect(server.refusals.last).toEqual(errorWith('ERR_NOT_AUTHORIZED'));
});

testAsOther(`refuse a server of ours unless they allow other users${reason}`, async () => {
  const server = closing(await listen(newPath(), { allowOtherUsers: true }));
  expect(await connectAsOther(server.path)).toBe('ERR_NOT_AUTHORIZED');
});

testAsOther(`are accepted when both ends allow other users${reason}`, async () => {
  const server = closing(await listen(newPath(), { allowOtherUsers: true }));
  const outcome = connectAsOther(server.path, { allowOtherUsers: true });
  const channel = closing(await server.accept());
  expect(channel.peer.uid).toBe(65534);
  await channel.close();
  expect(await outcome).toBe('null');
});
