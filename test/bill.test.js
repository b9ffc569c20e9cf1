'use strict';
// `crossings bill`: the parts of a round trip, and the options of crossings-bench that take one thing away from it.
const { spawnSync } = require('node:child_process');
const { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { dirname, join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const schema = require('../lib/experiments/bill/bill.schema.json');
const { MECHANISMS, programName } = require('../lib/experiments/bill/mechanisms.js');
const { figureOf, partsOf } = require('../lib/experiments/bill/parts.js');
const { renderBills, stackedBar } = require('../lib/experiments/bill/render.js');
const { explain, judge } = require('../lib/experiments/bill/sentences.js');
const { countRoundTrip } = require('../lib/measure/crossings.js');
const { built, cli, eventsOf, root, run, start, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'bill-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [machine] = eventsOf(run('crossings-bench', ['--describe']).stdout);
const [methods] = eventsOf(run('crossings-count', ['--probe']).stdout);
const countable = methods.tracepoint.allowed === 'yes' || methods.ptrace.allowed === 'yes';
const [core] = machine.pinnedCores;
const testWhereTwoCores = machine.pinnedCores[0] === machine.pinnedCores[1] ? test.skip : test;
const testWhereCountable = countable ? test : test.skip;

const validate = new Ajv({ strict: false }).compile(schema);

/**
 * Runs `crossings bill` with few round trips. Returns what it printed, and its file.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
function bill(args, env = process.env) {
  const path = join(folder, 'bill.json');
  const few = ['--rounds', '2', '--round-trips', '50', '--json', path];
  const { status, stdout, stderr } = cli(['bill', ...args, ...few], { env });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const file = JSON.parse(readFileSync(path, 'utf8'));
  expect(validate(file) ? [] : validate.errors).toEqual([]);
  return { stdout, text: stdout.replaceAll(/\s+/g, ' '), file };
}

/** The fields of /proc/PID/stat after the name; null: there is no such process. @param {number} pid */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ');
  } catch {
    return null;
  }
}

/** @param {number} pid */
const hasEnded = (pid) => ['Z', undefined].includes(statOf(pid)?.[0]);

/** @param {number} pid @returns {number[]} */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return []; // it has ended
  }
}

/** @param {number} pid @returns {number[]} */
const descendantsOf = (pid) => childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);

/** @param {any} file @param {string} name */
const partOf = (file, name) => file.parts.find((/** @type {any} */ part) => part.name === name);

describe('the command', () => {
  testWhereTwoCores('measures every part of several mechanisms', () => {
    const { stdout, file } = bill(['pipe,ring', '--size', '64']);
    expect(file.parameters).toMatchObject({ sizeBytes: 64, rounds: 2 });
    expect([file, ...file.others].map(({ mechanism }) => mechanism)).toEqual(['pipe', 'ring']);
    for (const { parts, configurations, crossings } of [file, ...file.others]) {
      expect(configurations.filter((/** @type {any} */ { ns }) => ns === null)).toEqual([]);
      const missing = parts.filter((/** @type {any} */ { ns }) => ns === null);
      expect(missing.map((/** @type {any} */ { name }) => name)).toEqual(countable ? [] : ['crossings']);
      // On a busy machine, a ring that may sleep does not sleep every time.
      if (countable) expect(crossings.perRoundTrip).toBeGreaterThan(1);
    }
    for (const { title } of file.parts) expect(stdout.match(new RegExp(`^.. ${title} `, 'gm'))).toHaveLength(2);
    for (const line of stdout.split('\n').filter((text) => !text.startsWith('Wrote '))) {
      expect(line.length).toBeLessThanOrEqual(100);
    }
  });

  test('on one core it measures what one core can show, and gives the reason for the rest', () => {
    const { file, text } = bill(['shm-sem', '--cores', `${core},${core}`]);
    for (const name of ['between-cores', 'wake-other-core', 'idle-exit']) {
      expect(partOf(file, name)).toMatchObject({ ns: null, reason: expect.stringContaining('needs two cores') });
    }
    for (const name of ['copies', 'own-code', 'sleep-and-wake']) expect(partOf(file, name).ns).not.toBeNull();
    expect(file.verdict).toBe('unknown');
    expect(text).toContain('Leaving idle: not measured (it needs two cores');
  });

  testWhereTwoCores('where SCHED_IDLE is forbidden, it goes on without that part and says so', () => {
    const source = join(folder, 'forbid.c');
    const library = join(folder, 'forbid.so');
    writeFileSync(
      source,
      '#include <errno.h>\n#include <sched.h>\nint sched_setscheduler(pid_t p, int policy, const struct sched_param *s) ' +
        '{ (void)p; (void)policy; (void)s; errno = EPERM; return -1; }\n',
    );
    expect(spawnSync('cc', ['-shared', '-fPIC', '-o', library, source]).status).toBe(0);
    const { file, text } = bill(['ring'], { ...process.env, LD_PRELOAD: library });
    expect(partOf(file, 'idle-exit')).toMatchObject({ ns: null, reason: expect.stringContaining('SCHED_IDLE') });
    expect(partOf(file, 'wake-other-core').ns).not.toBeNull();
    expect(text).toContain('Leaving idle: not measured (cannot run a process of policy SCHED_IDLE');
    expect(text).toContain('includes leaving idle');
  });

  test('Ctrl-C ends it in the middle of a sample, with all its processes', async () => {
    const child = start(process.execPath, [join(root, 'server', 'cli.js'), 'bill', 'pipe', '--quick']);
    const ended = new Promise((resolve) => child.on('close', resolve));
    await until(() => descendantsOf(child.pid ?? 0).length > 2);
    const started = descendantsOf(child.pid ?? 0);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    await until(() => started.every(hasEnded));
  });

  test('it knows the same mechanisms as the program', () => {
    const billable = eventsOf(run('crossings-bench', ['--list']).stdout).filter((event) => event.billable);
    expect(MECHANISMS.map(programName).sort()).toEqual(billable.map(({ name }) => name).sort());
  });
});

describe('the parts of a round', () => {
  const ns = { 'two-cores': 15000, 'two-cores-awake': 12500, 'one-core': 4300, polling: 2800, alone: 1500 };
  const round = { ns, syscallNs: 150, copyNs: 5, cacheLineNs: 300 };
  const counts = { 'two-cores': 4, 'one-core': 4, alone: 4 };
  const sum = (/** @type {Record<string, number>} */ parts) => Object.values(parts).reduce((a, b) => a + (b || 0), 0);

  test('are the differences between the configurations, and add up to the round trip', () => {
    const parts = partsOf(round, counts, true);
    expect(parts).toEqual({
      crossings: 600,
      copies: 20,
      'own-code': 880,
      'between-cores': 1300,
      'sleep-and-wake': 2800,
      'wake-other-core': 6900,
      'idle-exit': 2500,
    });
    expect(sum(parts)).toBe(15000);
  });

  test('crossings that only sleeping makes are no part of sleeping', () => {
    const parts = partsOf(round, { 'two-cores': 4, 'one-core': 4, alone: 0 }, true);
    expect(parts).toMatchObject({ 'own-code': 1480, 'sleep-and-wake': 2200, 'wake-other-core': 6900 });
    expect(sum(parts)).toBe(15000);
  });

  test('on one core are those that one core has', () => {
    const parts = partsOf(round, counts, false);
    expect(Object.entries(parts).filter(([, value]) => Number.isNaN(value))).toHaveLength(3);
    expect(sum(parts)).toBe(4300);
  });

  test('are not set to zero when they are negative', () => {
    const slower = { ...round, ns: { ...ns, 'two-cores-awake': 16000 } };
    expect(partsOf(slower, counts, true)).toMatchObject({ 'idle-exit': -1000, 'wake-other-core': 10400 });
  });

  test('without a count, or without the spinning processes, another part contains what is missing', () => {
    expect(partsOf(round, null, true)).toMatchObject({ crossings: Number.NaN, 'own-code': 1480 });
    const { 'two-cores-awake': _, ...asleep } = ns;
    const parts = partsOf({ ...round, ns: asleep }, counts, true);
    expect(parts).toMatchObject({ 'wake-other-core': 9400, 'idle-exit': Number.NaN });
    expect(sum(parts)).toBe(15000);
  });

  test('a figure is the median with its 95 % interval, or with the range of too few values', () => {
    expect(figureOf([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3 });
    expect(figureOf([1, 2, 3, 4, 5, 6, 7, 8, 9])).toEqual({ median: 5, low: 2, high: 8 });
    expect(figureOf([Number.NaN])).toBeNull();
  });
});

describe('the output', () => {
  test.each([20, 60, 100])('the bar has %i columns and shows every positive part', (width) => {
    const amounts = [400, 0.1, 1000, 0, 60000, -500, 8000];
    const bar = stackedBar(
      amounts.map((amount, i) => ({ pattern: 'abcdefg'[i], amount })),
      width,
    );
    expect(bar).toHaveLength(width);
    expect(new Set(bar)).toEqual(new Set('abceg'));
  });

  /** A file with one bill. @param {any} shares of the round trip of 10 µs */
  function fileOf(shares) {
    const figure = (/** @type {number} */ value) => ({ median: value, low: value - 0.01, high: value + 0.01 });
    const { crossings = 0.04, waiting = 0.9, idle = 0.1, calls = 4, mechanism = 'pipe' } = shares;
    const parts = { crossings, copies: 0.01, 'own-code': 0.05, 'sleep-and-wake': waiting - idle, 'idle-exit': idle };
    return /** @type {any} */ ({
      environment: { virtualization: 'none' },
      parameters: { sizeBytes: 32, rounds: 9 },
      mechanism,
      title: 'Pipe',
      roundTripNs: { median: 1e4, low: 9e3, high: 11e3 },
      parts: Object.entries(parts).map(([name, share]) => ({
        name,
        title: name,
        share: figure(share),
        ns: { median: share * 1e4, low: (share - 0.01) * 1e4, high: (share + 0.01) * 1e4 },
        reason: null,
      })),
      remainderNs: 0,
      waitingShare: figure(waiting),
      floors: { syscallNs: 100, copyNs: 3, cacheLineRoundTripNs: 300 },
      crossings: { perRoundTrip: calls, method: 'ptrace' },
      configurations: [{ name: 'two-cores', ns: figure(1e4) }],
      others: [],
    });
  }

  test.each([
    ['held', {}],
    ['partly', { waiting: 0.2 }],
    ['partly', { calls: 6 }],
    ['failed', { calls: 6, waiting: 0.2 }],
    ['unknown', { waiting: 0.5 }],
    ['held', { mechanism: 'ring', calls: 3.8 }],
  ])('the verdict is "%s" for %j', (verdict, shares) => {
    expect(judge(fileOf(shares))).toBe(verdict);
  });

  const plain = (/** @type {string} */ text) => text;
  const style = { bold: plain, dim: plain, good: plain, bad: plain };

  test('a negative part is said to be negative, and one around zero not to be detected', () => {
    expect(explain(fileOf({ idle: -0.1 })).join(' ')).toMatch(/idle-exit: .*−1\.00 µs .*It is negative/);
    expect(explain(fileOf({ idle: 0 })).join(' ')).toMatch(/idle-exit: .*not detected/);
    expect(renderBills(fileOf({ idle: -0.1 }), style)).toContain('Negative parts are not shown in the bar.');
  });

  test.each([1, 2, 3, 5])('a terminal of %i columns does not lose the result', (columns) => {
    const usual = Object.getOwnPropertyDescriptor(process.stdout, 'columns');
    Object.defineProperty(process.stdout, 'columns', { value: columns, configurable: true });
    try {
      expect(renderBills(fileOf({ idle: 0.1 }), style)).toContain('Round trip');
    } finally {
      if (usual) Object.defineProperty(process.stdout, 'columns', usual);
      else delete (/** @type {any} */ (process.stdout).columns);
    }
  });
});

describe('crossings-bench', () => {
  const placement = ['--cores', machine.pinnedCores.join(',')];
  const options = { sizeBytes: 64, countMethod: 'auto' };

  testWhereCountable.each([
    ['pipe', { read: 2, write: 2 }],
    ['uds', { recvfrom: 2, sendto: 2 }],
    ['tcp', { recvfrom: 2, sendto: 2 }],
    ['shm-sem', {}],
    ['ring-sleep', {}],
  ])('--alone: one process makes exactly the calls of both sides over %s, and none to wait', async (name, byName) => {
    expect(await countRoundTrip(name, [...placement, '--alone'], options)).toMatchObject({ byName });
  });

  // As another user, who is subject to the limit, and whose other pipes nobody counts.
  const CROWDED = `
import fcntl, os, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
os.setgroups([]); os.setgid(54321); os.setuid(54321)
pipes = [os.pipe() for _ in range(2000)]
print(fcntl.fcntl(pipes[-1][0], 1032), flush=True) # F_GETPIPE_SZ
sys.exit(subprocess.run(sys.argv[1:]).returncode)`;
  const canCrowd = process.getuid?.() === 0 && spawnSync('python3', ['-c', 'import fcntl']).status === 0;
  (canCrowd ? test : test.skip)(
    '--alone refuses a message that does not fit into the small pipes of a user who has many',
    () => {
      const program = join(folder, 'crossings-bench'); // where that user may run it
      copyFileSync(built('crossings-bench'), program);
      for (const path of [folder, dirname(folder)]) chmodSync(path, 0o755);
      const trips = ['--mechanism', 'pipe', '--messages', '0', '--round-trips', '100', '--no-floors', '--alone'];
      const { status, stdout } = spawnSync('python3', ['-c', CROWDED, program, ...trips, '--size', '16384'], {
        encoding: 'utf8',
      });
      const [bytes, ...lines] = stdout.split('\n');
      if (Number(bytes) >= 16384) return; // this system sets no limit
      expect(status).toBe(1);
      expect(eventsOf(lines.join('\n')).find(({ type }) => type === 'error')).toMatchObject({
        code: 'ERR_NO_ROOM',
        message: expect.stringContaining(`does not fit into this pipe, which holds ${bytes} bytes`),
      });
    },
  );

  // Both sides share a core: each finds nothing until it has yielded to the other.
  testWhereCountable.each([
    ['pipe', 'read'],
    ['uds', 'recvfrom'],
    ['tcp', 'recvfrom'],
    ['shm-sem', null],
    ['ring-sleep', null],
  ])('--poll: over %s, a call that finds nothing fails and is made again', (name, receive) => {
    const trips = ['--messages', '0', '--round-trips', '100', '--no-floors', '--cores', `${core},${core}`];
    const counted = (/** @type {string[]} */ more) => {
      const command = [built('crossings-bench'), '--mechanism', name, ...trips, ...more];
      return eventsOf(run('crossings-count', command).stdout).find(({ type }) => type === 'crossings').byName;
    };
    const [blocking, polling] = [counted([]), counted(['--poll'])];
    expect(blocking.sched_yield ?? 0).toBe(0);
    expect(polling.sched_yield).toBeGreaterThan(500); // there are 500 round trips of warm-up
    if (receive) expect(polling[receive]).toBeGreaterThan(blocking[receive]);
    else expect(polling.futex ?? 0).toBeLessThan(10);
    if (name === 'ring-sleep') expect(polling.recvfrom ?? 0).toBe(0);
  });

  (countable ? testWhereTwoCores : test.skip)(
    'the sleeping ring makes a crossing to sleep and one to wake',
    async () => {
      const { byName } = await countRoundTrip('ring-sleep', placement, options);
      expect(Object.keys(byName).sort()).toEqual(['recvfrom', 'sendto']);
      expect(byName.recvfrom).toBeLessThanOrEqual(2.1); // fewer where a side finds the answer before it sleeps
    },
  );

  test.each([
    ['--placement same', ['--cores', `${core},${core}`]],
    ['--placement free', ['--no-pin']],
  ])('%s: two spinning processes get on wherever they run', (_, where) => {
    for (const prefix of [[], ['taskset', '-c', String(core)]]) {
      const command = [...prefix, built('crossings-bench'), '--mechanism', 'shm-spin', ...where];
      const [program, ...args] = [...command, '--messages', '2000', '--round-trips', '500'];
      const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
      expect(status).toBe(0);
      expect(eventsOf(stdout).at(-1)).toEqual({ type: 'end' });
    }
  });
});

describe('--keep-awake', () => {
  const SCHED_IDLE = '5'; // linux/sched.h
  const endless = ['--mechanism', 'pipe', '--messages', '1000000000', '--keep-awake'];

  /** @param {number} pid */
  const isSpinner = (pid) => statOf(pid)?.[38] === SCHED_IDLE;

  /** Starts an endless run, and finds its processes. */
  async function started() {
    const bench = start(built('crossings-bench'), endless);
    let output = '';
    bench.stdout?.on('data', (text) => {
      output += text;
    });
    /** @type {Promise<{status: number | null, output: string}>} */
    const ended = new Promise((resolve) => bench.on('close', (status) => resolve({ status, output })));
    const cores = new Set(machine.pinnedCores).size;
    await until(() => childrenOf(bench.pid ?? 0).flatMap(childrenOf).length === 2 + cores);
    const [supervisor] = childrenOf(bench.pid ?? 0);
    const children = childrenOf(supervisor);
    const spinners = children.filter(isSpinner);
    expect(spinners).toHaveLength(cores);
    const processes = { program: [bench.pid ?? 0], supervisor: [supervisor], spinners };
    return { ended, processes: { ...processes, sides: children.filter((pid) => !isSpinner(pid)) } };
  }

  /** @type {('program' | 'supervisor' | 'sides' | 'spinners')[]} */
  const victims = ['program', 'supervisor', 'sides', 'spinners'];
  test.each(victims)('when one of its processes is killed (%s), no spinning process is left', async (victim) => {
    const { ended, processes } = await started();
    process.kill(processes[victim][0], 'SIGKILL');
    if (victim === 'spinners') process.kill(processes.sides[0], 'SIGKILL'); // the run itself would go on
    const { status } = await ended;
    expect(status).not.toBe(0);
    await until(() => Object.values(processes).flat().every(hasEnded));
  });

  test('a run whose spinning process has ended fails, because a core may have been idle', async () => {
    const bench = start(built('crossings-bench'), ['--mechanism', 'pipe', '--messages', '300000', '--keep-awake']);
    let output = '';
    bench.stdout?.on('data', (text) => {
      output += text;
    });
    const status = new Promise((resolve) => bench.on('close', resolve));
    const spinners = () => descendantsOf(bench.pid ?? 0).filter(isSpinner);
    await until(() => spinners().length > 0);
    process.kill(spinners()[0], 'SIGKILL');
    expect(await status).toBe(1);
    expect(eventsOf(output).at(-1)).toMatchObject({ type: 'error', code: 'ERR_CHILD_DIED' });
  });
});
