'use strict';
// One row: what a user does with the package on one runtime. Each column is one function.
const { execFile } = require('node:child_process');
const { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { promisify } = require('node:util');
const { root } = require('../support.js');
const { sentence } = require('./sandbox.js');

/** @typedef {import('./sandbox.js').Sandbox} Sandbox */
/** @typedef {{cPeer: string}} Prepared */

const LIMIT_MS = 60_000; // for what hangs, far above what any program needs on a busy machine

/** @param {string} printed */
function expectMessage(printed) {
  if (printed.trim() !== 'a message') throw new Error(`it printed "${printed.trim()}" instead of "a message"`);
}

/** @param {string} program */
const prints = (program) => async (/** @type {Sandbox} */ sandbox) =>
  expectMessage(await sandbox.run(sandbox.program(program), { limitMs: LIMIT_MS }));

/** @param {Sandbox} sandbox */
async function child(sandbox) {
  const again = [sandbox.runtime.command, ...sandbox.runtime.run];
  expectMessage(await sandbox.run(sandbox.program('child.mjs', ...again), { limitMs: LIMIT_MS }));
}

/** TypeScript against the types in the package; what it makes is run. @param {Sandbox} sandbox */
async function types(sandbox) {
  const { project } = sandbox;
  const found = join(project, 'node_modules', '@types');
  if (!existsSync(found)) symlinkSync(join(root, 'node_modules', '@types'), found); // what @types/node gives
  for (const [name, ending, options] of /** @type {const} */ ([
    ['commonjs', 'cts', ['--module', 'node16', '--moduleResolution', 'node16']],
    ['module', 'mts', ['--module', 'node16', '--moduleResolution', 'node16']],
    ['bundler', 'mts', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])) {
    mkdirSync(join(project, name), { recursive: true });
    const source = join(project, name, `typed.${ending}`);
    writeFileSync(source, readFileSync(join(__dirname, 'consumer', 'typed.ts')));
    const flags = ['--strict', '--target', 'es2022', '--types', 'node', '--skipLibCheck', 'false'];
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const command = [compiler, ...flags, ...options, source];
    await promisify(execFile)(process.execPath, command, { cwd: project, timeout: 60_000 }).catch((error) => {
      throw new Error(`tsc, ${name}: ${String(error.stdout || error.message).split('\n')[0]}`);
    });
    const socket = join(sandbox.home, `${name}.sock`);
    const compiled = join(name, `typed.${ending.replace('t', 'j')}`);
    expectMessage(await sandbox.run(sandbox.program(compiled, socket), { limitMs: LIMIT_MS }));
  }
}

/** Runs two commands at the same time; both must succeed. @param {Sandbox} sandbox @param {string[]} first @param {string[]} second */
async function together(sandbox, first, second) {
  const both = [first, second].map((command) => sandbox.run(command, { limitMs: LIMIT_MS }));
  const outcomes = await Promise.allSettled(both);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return Promise.all(both);
}

/** A program in C, compiled from the files in the package, connects and listens. @param {Sandbox} sandbox @param {Prepared} prepared */
async function cPeer(sandbox, { cPeer: peer }) {
  const socket = join(sandbox.home, 'c.sock');
  const [, asked] = await together(sandbox, sandbox.program('c-peer.mjs', 'listen', socket), [peer, 'connect', socket]);
  expectMessage(asked);
  const [, answered] = await together(
    sandbox,
    [peer, 'listen', socket],
    sandbox.program('c-peer.mjs', 'connect', socket),
  );
  expectMessage(answered);
}

/** The first example of the README in the package, word for word except for the socket's path. @param {Sandbox} sandbox */
async function readme(sandbox) {
  const text = readFileSync(join(sandbox.project, 'node_modules', 'crossings', 'README.md'), 'utf8');
  const files = [...text.matchAll(/```js\n\/\/ (\w+\.m?js)\n([^`]*)```/g)].slice(0, 2);
  if (files.length !== 2)
    throw new Error("README.md has no example of two files that start with their names, '// a.js'");
  const socket = join(sandbox.home, 'readme.sock');
  for (const [, name, source] of files) {
    writeFileSync(join(sandbox.project, name), source.replaceAll('/tmp/feed.sock', socket));
  }
  const [server, client] = files.map(([, name]) => name);
  const serving = sandbox.start(sandbox.program(server)); // never ends
  try {
    await sandbox.run(sandbox.program(client), { limitMs: LIMIT_MS });
    await waitForOutput(sandbox, serving, 'hello\n', `${server}, after ${client} sent "hello",`);
  } finally {
    serving.stop();
    await serving.closed;
  }
}

/**
 * Waits until a program has printed something; fails when it ends before, or after the time limit.
 * @param {Sandbox} sandbox
 * @param {ReturnType<Sandbox['start']>} started
 * @param {string} wanted
 * @param {string} what
 */
async function waitForOutput(sandbox, { child, output, closed }, wanted, what) {
  const limit = LIMIT_MS * sandbox.runtime.patience;
  const said = () => sentence(output.stderr + output.stdout);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const tooLate = new Promise((_, reject) => {
    const fail = () =>
      reject(new Error(`${what} did not print "${wanted.trim()}" within ${limit / 1000} s: ${said()}`));
    timer = setTimeout(fail, limit);
  });
  const ended = closed.then(({ status, signal }) => {
    if (output.stdout.includes(wanted)) return;
    throw new Error(`${what} ended with ${signal ?? status} before it printed "${wanted.trim()}": ${said()}`);
  });
  const printed = new Promise((resolve) => {
    const look = () => output.stdout.includes(wanted) && resolve(undefined);
    child.stdout.on('data', look);
    look();
  });
  try {
    await Promise.race([printed, ended, tooLate]);
  } finally {
    clearTimeout(timer);
    ended.catch(() => {}); // the program may be killed afterwards
  }
}

/** @type {Record<string, (sandbox: Sandbox, prepared: Prepared) => Promise<void>>} */
const CELLS = {
  require: prints('cjs.cjs'),
  import: prints('esm.mjs'),
  TypeScript: types,
  worker: prints('worker.mjs'),
  'child process': child,
  'C peer': cPeer,
  'over sockets': prints('socket.mjs'),
  README: readme,
};

module.exports = { CELLS, COLUMNS: Object.keys(CELLS), waitForOutput };
