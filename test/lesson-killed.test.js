'use strict';
// A run of a lesson or pitfall may be killed at any moment, even its first: it ends, and its temporary folder is removed.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout } = require('node:timers/promises');
const { testInCi } = require('./in-ci.js');
const { built, ourProcesses, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'killed-room-'));
const library = join(folder, 'killed-room.so');
const waits = join(folder, 'waiting-parent.so');
const rooms = join(folder, 'rooms');
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  for (const pid of ourProcesses()) process.kill(pid, 'SIGKILL'); // what a failed test leaves
});
beforeAll(() => {
  mkdirSync(rooms);
  for (const [file, source] of [
    [library, 'killed-room.c'],
    [waits, 'waiting-parent.c'],
  ]) {
    const words = ['-shared', '-fPIC', '-o', file, join(__dirname, source), '-ldl'];
    const { status, stderr } = spawnSync('cc', words, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  }
});

test.each([
  ['all processes of its group are killed, as when a run is canceled,', 'group', []],
  ['all processes of its group are killed, as when a run is canceled,', 'group', ['--no-namespaces']],
  ['the process is killed that has made it', 'maker', []],
])('the folder is removed if %s in the moment when it exists (%s, %j)', async (_, killed, options) => {
  const env = { ...process.env, TMPDIR: rooms, LD_PRELOAD: library, KILLED: killed };
  const args = ['--confine', ...options, '--', '01-kernel/calls'];
  const child = spawn(built('crossings-lessons'), args, { detached: true, env });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  child.stdout.resume();
  await once(child, 'close');
  expect(text).toMatch(/^The folder exists\.\n/);
  await until(() => readdirSync(rooms).length === 0 && ourProcesses().length === 0);
});

/** The process itself, its only child, and so on. @param {number} pid @returns {number[]} */
function lineOf(pid) {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return child ? [pid, ...lineOf(child)] : [pid];
}

const isStopped = (/** @type {number} */ pid) => / T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));

const GUARD_ENDED = 'Cannot confine the program: the process that guards it ended.';

describe.each([[[]], [['--no-namespaces']]])('before the program begins (%j)', (options) => {
  /** Confines a program whose parent never starts it. @param {string[]} [more] @param {(line: number[]) => unknown} [act] */
  async function confineWaiting(more = [], act = () => {}) {
    const env = { ...process.env, TMPDIR: rooms, LD_PRELOAD: waits };
    const args = ['--confine', ...more, ...options, '--', '01-kernel/calls'];
    const child = spawn(built('crossings-lessons'), args, { env });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part) => {
      if (text === '') act(lineOf(/** @type {number} */ (child.pid)));
      text += part;
    });
    child.stdout.resume();
    const [status, signal] = await once(child, 'close');
    await until(() => readdirSync(rooms).length === 0 && ourProcesses().length === 0);
    return { status, signal, said: text.trim().split('\n') };
  }

  test('the end of its parent ends the run', async () => {
    const kill = (/** @type {number[]} */ [, , parent]) => process.kill(parent, 'SIGKILL');
    const said = ['The parent waits.', 'Cannot confine the program: the process that starts it was killed.'];
    expect(await confineWaiting([], kill)).toEqual({ status: 1, signal: null, said });
  });

  (options.length ? testInCi : test)('the time limit ends the run', async () => {
    const said = ['The parent waits.', 'Cannot confine the program: it did not start within 5000 ms.'];
    expect(await confineWaiting(['--limit-ms', '100'])).toEqual({ status: 1, signal: null, said });
  });

  test('SIGTERM to its guard ends the run', async () => {
    const end = (/** @type {number[]} */ [, guard]) => process.kill(guard, 'SIGTERM');
    expect(await confineWaiting([], end)).toEqual({
      status: 1,
      signal: null,
      said: ['The parent waits.', GUARD_ENDED],
    });
  });

  test('the end of crossings-lessons ends the run', async () => {
    const end = (/** @type {number[]} */ [first]) => process.kill(first, 'SIGKILL');
    expect(await confineWaiting([], end)).toEqual({ status: null, signal: 'SIGKILL', said: ['The parent waits.'] });
  });

  test('the end of crossings-lessons ends the run, also if all of its processes have been stopped', async () => {
    const stopAndEnd = async (/** @type {number[]} */ line) => {
      for (const pid of line) process.kill(pid, 'SIGSTOP');
      await until(() => line.every(isStopped));
      process.kill(line[0], 'SIGKILL');
    };
    const end = await confineWaiting([], stopAndEnd);
    expect(end).toEqual({ status: null, signal: 'SIGKILL', said: ['The parent waits.'] });
  });

  test('a guard that is stopped and continued goes on', async () => {
    const pause = async (/** @type {number[]} */ [, guard, parent]) => {
      process.kill(guard, 'SIGSTOP');
      await until(() => isStopped(guard));
      process.kill(guard, 'SIGCONT');
      await setTimeout(100); // time for it to end by mistake
      process.kill(parent, 'SIGKILL');
    };
    const said = ['The parent waits.', 'Cannot confine the program: the process that starts it was killed.'];
    expect(await confineWaiting([], pause)).toEqual({ status: 1, signal: null, said });
  });
});
