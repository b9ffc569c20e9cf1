'use strict';
// What the channel's tests share: pairs of channels, peers in their own processes, and socket paths. Whatever a test
// opens here is closed after it.
const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { crossings } = require('./transport.js');
const { root } = require('../support.js');

const folder = mkdtempSync(join(tmpdir(), 'channel-'));
afterAll(() => rmSync(folder, { recursive: true }));

let paths = 0;
/** A socket path that is not in use. */
const newPath = () => join(folder, `${paths++}.sock`);

/** @type {{close(): Promise<void>}[]} */
let open = [];
afterEach(async () => {
  await Promise.all(open.map((each) => each.close()));
  open = [];
});

/** Closes a channel or a server after the test. @template {{close(): Promise<void>}} T @param {T} each @returns {T} */
function closing(each) {
  open.push(each);
  return each;
}

/**
 * Both ends of a channel in this process.
 * @param {any} [left] options of the first end
 * @param {any} [right] options of the second end
 * @returns {Promise<[any, any]>}
 */
async function pair(left = {}, right = left) {
  const { channel, port } = crossings.channelPair(left);
  const second = closing(await crossings.openChannel(port.take(), right));
  return [closing(await channel), second];
}

/** @type {import('node:child_process').ChildProcess[]} */
const children = [];
/** A test that reached its time limit may leave one behind that never ends. */
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Follows a child process to its end. @param {import('node:child_process').ChildProcess} child */
function watch(child) {
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output += text;
    });
  }
  const ended = new Promise((resolve) => child.on('close', (status, signal) => resolve({ status, signal, output })));
  const ready = new Promise((resolve) => child.stdout?.once('data', resolve));
  return { child, ended, ready };
}

const peerArguments = (/** @type {(string | number)[]} */ ...args) => [join(__dirname, 'peer.js'), ...args.map(String)];

/** Starts peer.js. @param {string} role @param {string} path @param {number} [count] */
const peer = (role, path, count = 0) => watch(spawn(process.execPath, peerArguments(role, path, count)));

/** Starts Node with a script in the checkout's top folder. @param {string} script @param {string[]} [flags] */
const runScript = (script, flags = []) => watch(spawn(process.execPath, [...flags, '-e', script], { cwd: root }));

/** How a child process ends that did its work and had nothing to report. */
const success = { status: 0, signal: null, output: '' };

/** Matches an error by its code. @param {string} code */
const errorWith = (code) => expect.objectContaining({ code });

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A module's path, quoted for a script. */
const library = JSON.stringify(join(root, 'lib'));

module.exports = {
  closing,
  crossings,
  errorWith,
  folder,
  library,
  newPath,
  pair,
  pause,
  peer,
  peerArguments,
  runScript,
  success,
  watch,
};
