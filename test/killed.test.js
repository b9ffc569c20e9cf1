'use strict';
// Whatever is killed, at whatever moment: the other processes notice and exit, and nothing is left behind.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { inCi, testInCi } = require('./in-ci.js');
const {
  built,
  eventsOf,
  leftovers,
  ourProcesses,
  root,
  run,
  start,
  until,
  untilNothingIsLeft,
} = require('./support.js');

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

const SHIPPED = join(root, 'server', 'recordings', 'runs');

const endless = (/** @type {string} */ mechanism) => ['--mechanism', mechanism, '--messages', '1000000000'];

let before = leftovers();
beforeEach(async () => {
  await until(() => ourProcesses().length === 0);
  before = leftovers();
});

describe.each(['pipe', 'shm-spin', 'shm-sem', 'ring', 'dgram', 'eventfd-signalfd', 'futex'])('over %s', (mechanism) => {
  test.each([0, 1])('when side %i is killed, the run reports it and fails', async (side) => {
    const bench = start(built('crossings-bench'), endless(mechanism));
    const result = endOf(bench);
    const sides = () => childrenOf(bench.pid ?? 0).flatMap(childrenOf);
    await until(() => sides().length === 2);
    process.kill(sides()[side], 'SIGKILL');
    const { status, stdout } = await result;
    expect(status).toBe(1);
    expect(eventsOf(stdout).at(-1)).toMatchObject({ type: 'error', code: 'ERR_CHILD_DIED' });
    expect(ourProcesses()).toEqual([]);
    await untilNothingIsLeft(before);
  });

  test('when the program is killed, its processes exit too', async () => {
    const bench = start(built('crossings-bench'), endless(mechanism));
    const result = endOf(bench);
    await until(() => childrenOf(bench.pid ?? 0).flatMap(childrenOf).length === 2);
    bench.kill('SIGKILL');
    await result;
    await untilNothingIsLeft(before);
  });

  test('when the supervisor is killed, the program cleans up and fails', async () => {
    const bench = start(built('crossings-bench'), endless(mechanism));
    const result = endOf(bench);
    await until(() => childrenOf(bench.pid ?? 0).flatMap(childrenOf).length === 2);
    process.kill(childrenOf(bench.pid ?? 0)[0], 'SIGKILL');
    expect(await result).toMatchObject({ status: 1 });
    await untilNothingIsLeft(before);
  });
});

const canTrace = run('crossings-demo', ['--trace', 'pipe']).status === 0;

// The other process of the ring spun for a minute, and that of the semaphores slept.
describe.each(['ring', 'shm-sem', 'shm-spin', 'pipe'])('a recording of %s', (mechanism) => {
  (canTrace ? test : test.skip).each([0, 1])('ends when process %i is killed, and says so', async (killed) => {
    const demo = start(built('crossings-demo'), ['--trace', mechanism, '--messages', '1000']);
    const result = endOf(demo);
    const second = () => childrenOf(childrenOf(demo.pid ?? 0)[0] ?? 0)[0];
    await until(() => second() !== undefined);
    process.kill(killed === 0 ? childrenOf(demo.pid ?? 0)[0] : second(), 'SIGKILL');
    const { status, stdout } = await result;
    expect(status).toBe(1);
    expect(eventsOf(stdout).find(({ type }) => type === 'error')).toMatchObject({
      code: 'ERR_CHILD_DIED',
      message: expect.stringContaining('was killed by signal 9'),
    });
    await untilNothingIsLeft(before);
  });
});

test('a program killed at any moment during its set-up leaves nothing behind', async () => {
  const short = ['--mechanism', 'shm-sem', '--messages', '100', '--round-trips', '100'];
  for (let i = 0; i < (inCi ? 100 : 20); i++) {
    const bench = start(built('crossings-bench'), short);
    const result = endOf(bench);
    await new Promise((resolve) => setTimeout(resolve, 20 + (i % 20)));
    bench.kill('SIGKILL');
    await result;
  }
  await untilNothingIsLeft(before);
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
    expect(ourProcesses()).toEqual([]);
    await untilNothingIsLeft(before);
  });

  test('when it is killed, the programs it started exit too', async () => {
    const child = bench();
    const result = endOf(child);
    await until(() => ourProcesses().length > 2);
    child.kill('SIGKILL');
    await result;
    await untilNothingIsLeft(before);
  });
});

/** The processor time that a process has used, in seconds. @param {number | undefined} pid */
const processorSeconds = (pid) => {
  const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(words[11]) + Number(words[12])) / 100; // utime and stime, in clock ticks
};

// The handler of the signal never ran, because the computation does not yield.
test('crossings compare ends at once when it is stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'compared-'));
  const runs = readdirSync(SHIPPED).map((name) => JSON.parse(readFileSync(join(SHIPPED, name), 'utf8')));
  const shipped = runs.find(({ schema }) => schema === 'crossings/run/1');
  const files = ['a', 'b'].map((id) => {
    const samples = Array.from({ length: 400 }, (_, i) => 1000 + ((i * 7919) % 100));
    const results = Array.from({ length: 100 }, (_, i) => {
      const result = structuredClone(shipped.results[0]);
      result.throughput.messagesPerSecond.samples = samples;
      result.roundTrip.distribution.length = 1;
      return { ...result, mechanism: `made-${i}` };
    });
    const path = join(folder, `${id}.json`);
    writeFileSync(path, JSON.stringify({ ...shipped, id, results }));
    return path;
  });
  const child = start(process.execPath, [join(root, 'lib', 'cli.js'), 'compare', ...files]);
  const result = endOf(child);
  await until(() => processorSeconds(child.pid) > 1.5);
  child.kill('SIGINT');
  expect(await result).toEqual({ status: null, signal: 'SIGINT', stdout: '' });
  rmSync(folder, { recursive: true });
});

/** Runs a command in a terminal, and closes that once the command has printed something. Prints the signal that ended it. */
const CLOSE_TERMINAL = `
import os, pty, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(terminal, 1000)
os.close(terminal)
try:
    os.kill(pid, signal.SIGHUP) # as a shell does
except ProcessLookupError:
    pass
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))
`;
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;

// Node aborted when it reset the terminal that had gone.
(hasPython ? test : test.skip)('a terminal that closes ends the lab by SIGHUP, once or twice', () => {
  const command = [process.execPath, join(root, 'server', 'cli.js'), 'lab', '--no-open', '--port', '0'];
  for (let i = 0; i < 3; i++) {
    const { stdout } = spawnSync('python3', ['-c', CLOSE_TERMINAL, ...command], { encoding: 'utf8' });
    expect(stdout).toBe('1\n');
  }
});

// A recording is kept after a signal, so that the command succeeds.
(hasPython ? test : test.skip)('a terminal that closes ends trace -- COMMAND by SIGHUP', () => {
  const command = [process.execPath, join(root, 'server', 'cli.js'), 'trace', '--', 'sh', '-c', 'echo go; sleep 20'];
  const { stdout } = spawnSync('python3', ['-c', CLOSE_TERMINAL, ...command], { encoding: 'utf8' });
  expect(stdout).toBe('1\n');
});

/** Runs a command with a terminal that is not its controlling one, so that nothing but errors says that it has gone. */
const LOSE_TERMINAL = `
import os, pty, subprocess, sys
master, terminal = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, start_new_session=True)
os.close(terminal)
os.read(master, 1000)
os.close(master)
print(child.wait())
`;

(hasPython ? test.each : test.skip.each)([
  ['trace', '--', 'sh', '-c', 'echo go; sleep 1'],
  ['bench', '--quick', '--mechanism', 'pipe'],
])('an output that was a terminal ends crossings %s … like SIGHUP', (...args) => {
  const command = [process.execPath, join(root, 'server', 'cli.js'), ...args];
  const { stdout } = spawnSync('python3', ['-c', LOSE_TERMINAL, ...command], { encoding: 'utf8' });
  expect(stdout).toBe('-1\n');
});

test.each([30, 60])('an export that is stopped twice within %i ms leaves nothing', async (ms) => {
  const folder = mkdtempSync(join(tmpdir(), 'exported-'));
  const child = start(process.execPath, [join(root, 'server', 'cli.js'), 'lab', '--export', join(folder, 'site')]);
  const result = endOf(child);
  await until(() => readdirSync(folder).length > 0);
  child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, ms));
  child.kill('SIGINT');
  expect(await result).toMatchObject({ status: 130 });
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

describe('a sample of bench node', () => {
  const NOTICE_MS = 30_000; // takes milliseconds; without the limit, a side that never ends would stay
  const side = join(root, 'lib', 'bench', 'node', 'side.js');

  /** Has a process ended? @param {number} pid */
  const hasEnded = (pid) => {
    try {
      return /\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return true;
    }
  };

  /**
   * Kills one side of a sample. Returns what is left of it.
   * @param {string} transport @param {number} killed its side @param {number} afterMs
   */
  async function killSide(transport, killed, afterMs) {
    const task = { transport, role: 'first', sizeBytes: 64, trips: 1e9, messages: 0, prefix: [] };
    const first = start(process.execPath, [side, JSON.stringify(task)]);
    const ended = endOf(first);
    await until(() => childrenOf(first.pid ?? 0).length > 0);
    const pids = [first.pid ?? 0, ...childrenOf(first.pid ?? 0)];
    try {
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      process.kill(pids[killed], 'SIGKILL');
      const late = Date.now() + NOTICE_MS;
      await until(() => pids.every(hasEnded) || Date.now() > late);
      const sides = pids.flatMap((pid, at) => (hasEnded(pid) ? [] : [`side ${at}`]));
      const files = readdirSync(tmpdir()).filter((name) => name.includes(`-${pids[0]}.`));
      for (const name of files) rmSync(join(tmpdir(), name));
      return [...sides, ...files].map((left) => `side ${killed} killed after ${afterMs} ms: ${left} is left`);
    } finally {
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {} // it has ended
      }
      await ended;
    }
  }

  const SHORT = ['ring', 'ring-request', 'bare-memory', 'wake', 'send-json', 'net-unix']; // elsewhere than in CI
  const LONG = ['ring-async', 'ring-batches', 'ring-asleep', 'stdio', 'net-tcp'];
  for (const transport of [...SHORT, ...LONG]) {
    const testThis = SHORT.includes(transport) ? test : testInCi;
    testThis(`over ${transport}: when either side is killed, at once or later, the other one ends`, async () => {
      for (const [i, afterMs] of [0, 400].entries()) {
        const sides = inCi ? [0, 1] : [i]; // the first at once, the second later
        for (const left of await Promise.all(sides.map((side) => killSide(transport, side, afterMs))))
          expect(left).toEqual([]);
      }
    });
  }
});

/** @param {number} pid */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

// Its first process waited for ever, or polled.
test.each(['shm-sem', 'shm-spin', 'pipe'])('the demo of %s ends if its second process is killed', async (mechanism) => {
  const demo = start(built('crossings-demo'), ['--messages', '1000', '--time', '1000', mechanism]);
  const ended = endOf(demo);
  let hasEnded = false;
  ended.then(() => {
    hasEnded = true;
  });
  // It may just end by itself, and the next run begins.
  await until(() => {
    for (const second of childrenOf(Number(demo.pid)).flatMap(childrenOf)) kill(second);
    return hasEnded;
  });
  expect(await ended).toMatchObject({ status: 1, signal: null });
});
