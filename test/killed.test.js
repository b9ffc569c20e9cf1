'use strict';
// Whatever is killed, at whatever moment: the other processes notice and exit, and nothing is left behind.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { built, eventsOf, leftovers, ourProcesses, root, start, until } = require('./support.js');

/** Ids of a process's children. @param {number} pid @returns {number[]} */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** How a process ends. @param {import('node:child_process').ChildProcess} child */
const endOf = (child) =>
  new Promise((resolve) => {
    let stdout = '';
    child.stdout?.on('data', (text) => {
      stdout += text;
    });
    child.on('close', (status, signal) => resolve({ status, signal, stdout }));
  });

const endless = (/** @type {string} */ mechanism) => ['--mechanism', mechanism, '--messages', '1000000000'];

let before = leftovers();
beforeEach(async () => {
  await until(() => ourProcesses().length === 0);
  before = leftovers();
});

describe.each(['pipe', 'shm-spin', 'shm-sem', 'ring'])('over %s', (mechanism) => {
  test.each([0, 1])('when side %i is killed, the run reports it and fails', async (side) => {
    const bench = start(built('crossings-bench'), endless(mechanism));
    const result = endOf(bench);
    const sides = () => childrenOf(bench.pid ?? 0).flatMap(childrenOf);
    await until(() => sides().length === 2);
    process.kill(sides()[side], 'SIGKILL');
    const { status, stdout } = await result;
    expect(status).toBe(1);
    expect(eventsOf(stdout).at(-1)).toMatchObject({ type: 'error', code: 'ERR_CHILD_DIED' });
    expect(leftovers()).toEqual(before);
  });

  test('when the program is killed, its processes exit too', async () => {
    const bench = start(built('crossings-bench'), endless(mechanism));
    const result = endOf(bench);
    await until(() => childrenOf(bench.pid ?? 0).flatMap(childrenOf).length === 2);
    bench.kill('SIGKILL');
    await result;
    await until(() => ourProcesses().length === 0);
    expect(leftovers()).toEqual(before);
  });

  test('when the supervisor is killed, the program cleans up and fails', async () => {
    const bench = start(built('crossings-bench'), endless(mechanism));
    const result = endOf(bench);
    await until(() => childrenOf(bench.pid ?? 0).flatMap(childrenOf).length === 2);
    process.kill(childrenOf(bench.pid ?? 0)[0], 'SIGKILL');
    expect(await result).toMatchObject({ status: 1 });
    await until(() => ourProcesses().length === 0);
    expect(leftovers()).toEqual(before);
  });
});

test('a program killed at any of a hundred moments during its set-up leaves nothing behind', async () => {
  const short = ['--mechanism', 'shm-sem', '--messages', '100', '--round-trips', '100'];
  for (let i = 0; i < 100; i++) {
    const bench = start(built('crossings-bench'), short);
    const result = endOf(bench);
    await new Promise((resolve) => setTimeout(resolve, 20 + (i % 20)));
    bench.kill('SIGKILL');
    await result;
  }
  await until(() => ourProcesses().length === 0);
  expect(leftovers()).toEqual(before);
});

describe('crossings bench', () => {
  const bench = () => start(process.execPath, [join(root, 'lib', 'cli.js'), 'bench', '--messages', '100000000']);

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('stopped by %s during a sample, it exits with %i and leaves nothing behind', async (signal, expected) => {
    const child = bench();
    const result = endOf(child);
    await until(() => ourProcesses().length > 2);
    child.kill(/** @type {NodeJS.Signals} */ (signal));
    expect(await result).toMatchObject({ status: expected, stdout: '' });
    expect(leftovers()).toEqual(before);
  });

  test('when it is killed, the programs it started exit too', async () => {
    const child = bench();
    const result = endOf(child);
    await until(() => ourProcesses().length > 2);
    child.kill('SIGKILL');
    await result;
    await until(() => ourProcesses().length === 0);
    expect(leftovers()).toEqual(before);
  });
});
