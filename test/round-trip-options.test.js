'use strict';
// crossings-bench: the options of its round trips, the function call, and the mechanisms that are not in the comparison.
const { spawn, spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { built, eventsOf, run, until } = require('./support.js');

/** @param {(string | number)[]} args */
function eventsFrom(args) {
  const { status, stdout, stderr } = run('crossings-bench', args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return eventsOf(stdout);
}

/** @param {any[]} events @param {string} type */
const eventOf = (events, type) => events.find((event) => event.type === type);

/** How many round trips took at least this long. @param {[number, number][]} values @param {number} ns */
const atLeast = (values, ns) => values.reduce((sum, [value, count]) => sum + (value >= ns ? count : 0), 0);

const few = ['--messages', 0, '--no-floors', '--round-trips', 2000];

describe.each(['dgram', 'eventfd-signalfd', 'futex'])('%s', (mechanism) => {
  test.each([8, 64, 65_536])('carries messages of %i bytes, each once, in order and unaltered', (size) => {
    const args = ['--mechanism', mechanism, '--size', size, '--messages', 3000, '--round-trips', 300, '--no-floors'];
    const events = eventsFrom(args);
    expect(eventOf(events, 'throughput').messages).toBe(3000);
    expect(eventOf(events, 'roundTrip').count).toBe(300);
  });

  test('is listed as special, so the comparison leaves it out', () => {
    const listed = eventsFrom(['--list']).find(({ name }) => name === mechanism);
    expect(listed.special).toBe(1);
  });
});

test('with --ticks, every time is a number of clock ticks', () => {
  const events = eventsFrom(['--mechanism', 'ring', ...few, '--ticks']);
  const { ns, ticks, values } = eventOf(events, 'roundTrip');
  const { ticksPerSecond } = eventOf(events, 'begin').clock;
  expect(values).toBeUndefined();
  expect(atLeast(ticks, 0)).toBe(2000);
  expect((ticks[0][0] / ticksPerSecond) * 1e9).toBeCloseTo(ns.min, 2);
  expect(((ticks.at(-1)[0] / ticksPerSecond) * 1e9) / ns.max).toBeCloseTo(1, 5);
});

test('the warm-up is not among the timed round trips', () => {
  const events = eventsFrom(['--mechanism', 'ring', ...few, '--warm-up', 5000]);
  expect(eventOf(events, 'progress').of).toBe(7000);
  expect(atLeast(eventOf(events, 'roundTrip').values, 0)).toBe(2000);
});

test('with --rate, the round trips take as long as their schedule, and are timed from when they were due', () => {
  const { elapsedNs, values, serviceValues } = eventOf(
    eventsFrom(['--mechanism', 'ring', ...few, '--rate', 20_000]),
    'roundTrip',
  );
  expect(elapsedNs).toBeGreaterThanOrEqual((1e9 * (2000 - 10)) / 20_000); // ten parts, each with a schedule
  const sum = (/** @type {[number, number][]} */ pairs) => pairs.reduce((total, [ns, count]) => total + ns * count, 0);
  expect(atLeast(serviceValues, 0)).toBe(2000);
  expect(sum(values)).toBeGreaterThanOrEqual(sum(serviceValues));
});

test('memory that may not be locked ends the run with its own error code', () => {
  const command = `ulimit -l 0; exec ${built('crossings-bench')} --mechanism ring --messages 0 --mlock`;
  const { status, stdout } = asUnprivileged(command);
  expect({ status, error: eventsOf(stdout).at(-1) }).toMatchObject({ status: 1, error: { code: 'ERR_MLOCK' } });
});

/** Root may lock memory without limit, unless it drops the capability. @param {string} command */
function asUnprivileged(command) {
  const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-ipc_lock'] : ['env'];
  return spawnSync(drop[0], [...drop.slice(1), 'sh', '-c', command], { encoding: 'utf8' });
}

test('a function call takes some nanoseconds', () => {
  const [call] = eventsFrom(['--function-call', '--size', 64]);
  expect(call).toMatchObject({ type: 'functionCall', sizeBytes: 64 });
  expect(call.ns).toBeGreaterThan(0);
});

describe('side B is stopped for 100 ms', () => {
  const STALL_MS = 100;
  const LATE_NS = 25e6;

  /** @param {number} pid @returns {number[]} */
  const childrenOf = (pid) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

  /**
   * A run over the pipe, without warm-up, whose side B is stopped once.
   * @param {number} afterMs @param {(string | number)[]} more
   * @returns {Promise<{late: number, lateFromSending: number}>} round trips that took at least LATE_NS
   */
  async function stalledRun(afterMs, more) {
    const args = ['--mechanism', 'pipe', '--messages', 0, '--no-floors', '--warm-up', 0, ...more];
    const bench = spawn(built('crossings-bench'), args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
    let stdout = '';
    bench.stdout.on('data', (text) => {
      stdout += text;
    });
    const ended = new Promise((resolve) => bench.on('close', resolve));
    const sides = () => childrenOf(bench.pid ?? 0).flatMap(childrenOf);
    await until(() => sides().length === 2);
    const [, answering] = sides();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    if (bench.exitCode === null) process.kill(answering, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, STALL_MS));
    if (bench.exitCode === null) process.kill(answering, 'SIGCONT');
    expect(await ended).toBe(0);
    const { values, serviceValues = values } = eventOf(eventsOf(stdout), 'roundTrip');
    return { late: atLeast(values, LATE_NS), lateFromSending: atLeast(serviceValues, LATE_NS) };
  }

  test('the closed loop counts it once', async () => {
    let closed = { late: 0 };
    // On a busy machine, the stop may come before the first round trip; on a fast one, after the last.
    for (let attempt = 1; attempt <= 5 && closed.late === 0; attempt++) {
      closed = await stalledRun(50 * attempt, ['--round-trips', 30_000]);
    }
    expect(closed.late).toBeGreaterThanOrEqual(1);
    expect(closed.late).toBeLessThan(100); // the machine may have stalls of its own
  });

  test('the schedule counts every round trip that had to wait, and timed from sending, it is still one', async () => {
    const paced = await stalledRun(500, ['--round-trips', 20_000, '--rate', 10_000]); // lasts 2 s
    expect(paced.late).toBeGreaterThanOrEqual(400); // 75 ms of trips are due while at least 25 ms of the stall remain: 750
    expect(paced.lateFromSending).toBeGreaterThanOrEqual(1);
    expect(paced.late).toBeGreaterThan(10 * paced.lateFromSending);
  });
});
