'use strict';
// `crossings sweep`: small sweeps end to end, the program behind them, and the statistics of its answers.
const { execFileSync, spawn } = require('node:child_process');
const { mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const schema = require('../lib/experiments/sweep/sweep.schema.json');
const { readPlan } = require('../lib/experiments/sweep/arguments.js');
const { readCaches } = require('../lib/experiments/sweep/caches.js');
const { probe } = require('../lib/experiments/sweep/probe.js');
const { roundOrder } = require('../lib/experiments/sweep/samples.js');
const { runSweep } = require('../lib/experiments/sweep/run.js');
const { runProgram } = require('../lib/measure/programs.js');
const { built, cli, eventsOf, root, run, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'sweep-'));
const file = (/** @type {string} */ name) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const validate = new Ajv({ strict: false }).compile(schema);
const SMALL = ['--sizes', '64,4KiB,64KiB', '--total', '256KiB', '--max-writes', '200', '--samples', '2'];

describe('a small sweep of everything', () => {
  const files = ['--json', file('sweep.json'), '--csv', file('sweep.csv')];
  const { status, stdout, stderr } = cli(['sweep', '--quick', '--mode', 'both', '--no-probe', ...SMALL, ...files]);
  const sweep = JSON.parse(readFileSync(file('sweep.json'), 'utf8'));

  test('succeeds and writes a file with every field of its schema', () => {
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(validate(sweep) ? [] : validate.errors).toEqual([]);
  });

  test('has each mechanism in both modes, with matched buffers where they can be matched, at each size', () => {
    const curves = ['pipe', 'pipe*', 'socketpair', 'socketpair*', 'uds', 'tcp', 'ring', 'ring*'];
    const expected = ['process', 'thread'].flatMap((mode) =>
      curves.flatMap((curve) => [64, 4096, 65536].map((size) => `${mode} ${curve} ${size}`)),
    );
    const found = sweep.points.map(
      (/** @type {any} */ { mode, mechanism, buffers, sizeBytes }) =>
        `${mode} ${mechanism}${buffers === 'matched' ? '*' : ''} ${sizeBytes}`,
    );
    expect(found).toEqual(expected);
  });

  test('each point has its samples, and reads that add up to the bytes moved', () => {
    for (const { bytesPerSecond, reads, sizeBytes, totalBytes, mechanism, buffers } of sweep.points) {
      expect(bytesPerSecond.samples).toHaveLength(2);
      expect(bytesPerSecond.q1).toBeLessThanOrEqual(bytesPerSecond.q3);
      expect(totalBytes).toBe(Math.min(256 << 10, (buffers === 'matched' ? 50 : 200) * sizeBytes));
      expect(Math.max(...reads.sizes.map((/** @type {any} */ { bytes }) => bytes))).toBeLessThanOrEqual(sizeBytes);
      if (mechanism !== 'tcp') expect(reads.count).toBeGreaterThanOrEqual(totalBytes / sizeBytes);
    }
  });

  test('the CSV has one line per point, with the medians of the file', () => {
    const [heads, ...lines] = readFileSync(file('sweep.csv'), 'utf8')
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    const column = heads.indexOf('bytes_per_second_median');
    expect(lines.map((line) => Number(line[column]))).toEqual(
      sweep.points.map((/** @type {any} */ { bytesPerSecond }) => bytesPerSecond.median),
    );
  });

  test('the table fits 100 columns', () => {
    const lines = stdout.split('\n').filter((line) => !line.startsWith('Wrote '));
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(stdout).toContain('MiB per second between two threads');
  });
});

describe('the sweeps under instruments', () => {
  const args = ['--mechanism', 'pipe', '--buffers', 'default', ...SMALL, '--json', file('probe.json')];
  const { status } = cli(['sweep', '--quick', ...args]);
  const sweep = JSON.parse(readFileSync(file('probe.json'), 'utf8'));
  const answer = sweep.answers.find((/** @type {any} */ { name }) => name === 'probe-effect');

  test('each instrument is either compared at each size or refused in a sentence', () => {
    expect(status).toBe(0);
    expect(validate(sweep) ? [] : validate.errors).toEqual([]);
    const refused = answer.text.match(/Not possible here: /g) ?? [];
    expect(answer.effects.length + refused.length).toBe(3);
    for (const { points } of answer.effects) expect(points).toHaveLength(3);
  });

  test('the counters are there only if the machine has them', () => {
    const [probe] = eventsOf(run('crossings-sweep', ['--probe']).stdout);
    expect(sweep.counters !== null).toBe(probe.allowed === 'yes');
  });
});

test('an instrument that fails on the way is left out with its reason, and the others are compared', async () => {
  const plan = readPlan({ effort: 'quick', mechanism: 'pipe', sizes: '64,256,1024', total: '65536' });
  const run = {
    placement: [],
    report() {},
    elapsedMs: () => 0,
    /** @param {any} _limits @param {(round: number) => Promise<void>} takeRound */
    async takeRounds(_limits, takeRound) {
      for (let round = 0; round < 3; round++) await takeRound(round);
    },
  };
  const steady = {
    allowed: true,
    reason: '',
    /** @param {(string | number)[]} args */
    run: (args) => runProgram('crossings-sweep', args),
  };
  let calls = 0;
  const failing = {
    ...steady,
    /** @param {(string | number)[]} args */
    run(args) {
      if (++calls > 1) throw new Error('records were lost');
      return steady.run(args);
    },
  };
  const { probed, refusals } = await probe(plan, 'quick', run, undefined, { steady, failing });
  expect(refusals).toEqual(['Not possible here: failing (records were lost).']);
  expect(probed.map(({ instrument }) => instrument)).toEqual(['steady']);
  expect(probed[0].raw).toHaveLength(2);
  expect(probed[0].instrumented).toHaveLength(2);
});

test('the points so far arrive while the sweep runs, without an answer', async () => {
  /** @type {any[]} */
  const partials = [];
  const options = { cores: null, pin: true, effort: /** @type {const} */ ('quick'), probe: false };
  const small = { sizes: '64,4096', total: '65536', samples: '3', mechanism: 'pipe,socketpair', mode: 'thread' };
  const final = await runSweep({ ...options, ...small }, { onPartial: (partial) => partials.push(partial) });
  expect(partials.length).toBeGreaterThan(0);
  for (const partial of partials) {
    expect(validate(partial) ? [] : validate.errors).toEqual([]);
    expect(partial).toMatchObject({ sentences: [], verdict: 'unknown', answers: [] });
  }
  expect(final.points).toHaveLength(8);
});

test.each([
  [['--mechanism', 'pigeon'], '--mechanism must be a comma-separated list of pipe, socketpair, uds, tcp, ring'],
  [['--mode', 'fiber'], '--mode must be one of process, thread, both; got "fiber".'],
  [['--buffers', 'huge'], '--buffers must be one of default, matched, both; got "huge".'],
  [['--mechanism', 'tcp', '--buffers', 'matched'], '--buffers matched requires one of pipe, socketpair, ring'],
  [['--sizes', '16'], '--sizes must be from 32 to 16777216 bytes'],
  [['--sizes', '64', '--from', '64'], '--sizes cannot be used together with --from or --to.'],
  [['--from', '4KiB', '--to', '64'], '--from must not be larger than --to; got 4096 and 64 bytes.'],
  [['--total', '8'], '--total must be from 32'],
  [['--samples', '0'], '--samples must be a whole number from 1 to 1000; got "0".'],
  [['--max-writes', '-1'], '--max-writes must be a whole number'],
  [['--seed', 'x'], '--seed must be a whole number'],
  [['--csv', '/nowhere/x.csv'], '--csv must be a file that can be written'],
])('refuses %p with status 2 and one sentence', (args, sentence) => {
  const { status, stdout, stderr } = cli(['sweep', ...args]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(sentence);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

describe('crossings-sweep', () => {
  test.each([
    ['pipe:process:default', 'A point must be MECHANISM:MODE:BUFFERS:BYTES'],
    ['pigeon:process:default:64', 'The mechanism of a point must be one of pipe, socketpair, uds, tcp, ring'],
    ['pipe:fiber:default:64', 'The mode of a point must be process or thread'],
    ['pipe:process:huge:64', 'The buffers of a point must be default or matched'],
    ['pipe:process:default:7', 'The size of a point must be a whole number from 8'],
    ['uds:process:matched:64', 'The buffers of uds cannot be matched'],
  ])('refuses the point %s', (point, sentence) => {
    const { status, stdout, stderr } = run('crossings-sweep', ['pipe:process:default:64', point]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  test('moves a total that is no multiple of the buffer', () => {
    const points = ['pipe', 'socketpair', 'uds', 'tcp', 'ring'].map((name) => `${name}:process:default:4096`);
    const { status, stdout } = run('crossings-sweep', ['--total', 100001, ...points]);
    const samples = eventsOf(stdout).filter(({ type }) => type === 'sample');
    expect(status).toBe(0);
    expect(samples.map(({ totalBytes }) => totalBytes)).toEqual(points.map(() => 100001));
  });

  describe.each(['process', 'thread'])('between two sides of the kind %s', (mode) => {
    test.each([
      ['drop', 'ERR_MESSAGE_LOST'],
      ['double', 'ERR_MESSAGE_ALTERED'],
      ['alter', 'ERR_MESSAGE_ALTERED'],
      ['die', 'ERR_CHILD_DIED'],
      ['stall', 'ERR_STALLED'],
      ['copy', 'ERR_MESSAGE_ALTERED', 'ring'],
    ])('the fault "%s" fails the sample with %s', (fault, code, mechanism = 'pipe') => {
      const point = `${mechanism}:${mode}:default:4096`;
      /** @type {any} */
      let failed;
      try {
        const args = ['--total', '262144', '--stall-ms', '300', point];
        execFileSync(built('crossings-sweep-faults'), args, { env: { FAULT: fault }, encoding: 'utf8', stdio: 'pipe' });
      } catch (error) {
        failed = error;
      }
      const [error] = eventsOf(failed.stdout).filter(({ type }) => type === 'error');
      expect({ status: failed.status, code: error.code }).toEqual({ status: 1, code });
      expect(failed.stderr).toBe(`${error.message} (${code})\n`);
    });
  });
});

test('the faulty program without a fault succeeds', () => {
  expect(run('crossings-sweep-faults', ['--total', 262144, 'pipe:process:default:4096']).status).toBe(0);
});

/** The ids of the children of a process. @param {number} pid */
const childrenOf = (pid) =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );

/** @param {number} pid */
const isRunning = (pid) => {
  try {
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

test.each(['SIGKILL', 'SIGINT'])('%s leaves no process behind', async (signal) => {
  const child = spawn(process.execPath, [join(root, 'server', 'cli.js'), 'sweep', '--thorough', '--no-probe']);
  const pid = Number(child.pid);
  /** @type {number[]} */
  let below = [];
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await until(() => {
    const programs = childrenOf(pid);
    below = [...programs, ...programs.flatMap((program) => (isRunning(program) ? childrenOf(program) : []))];
    return below.length >= 2;
  });
  process.kill(pid, /** @type {NodeJS.Signals} */ (signal));
  await ended;
  await until(() => !below.some(isRunning));
});

describe('the plan', () => {
  const options = { effort: 'standard' };

  test('the standard sweep goes from 32 bytes to 16 MiB by powers of two, 16 MiB and 30 samples each', () => {
    const { sizes, totalBytes, samples, configurations } = readPlan(options);
    expect(sizes).toEqual(Array.from({ length: 20 }, (_, i) => 32 << i));
    expect({ totalBytes, samples, curves: configurations.length }).toEqual({
      totalBytes: 16 << 20,
      samples: 30,
      curves: 16,
    });
  });

  test('each round takes every point once, in an order that depends on the seed and the round only', () => {
    const plan = readPlan(options);
    const round = roundOrder(plan, 3);
    expect(new Set(round).size).toBe(320);
    expect(roundOrder(plan, 3)).toEqual(round);
    expect(roundOrder(plan, 4)).not.toEqual(round);
    expect(roundOrder({ ...plan, seed: 7 }, 3)).not.toEqual(round);
  });
});

describe('the caches', () => {
  test('are read from the description of the core', () => {
    const describe = (/** @type {number} */ index, /** @type {Record<string, string>} */ files) => {
      const path = file(`cpu0/cache/index${index}`);
      mkdirSync(path, { recursive: true });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), `${text}\n`);
    };
    describe(0, { level: '1', type: 'Data', size: '48K' });
    describe(1, { level: '1', type: 'Instruction', size: '32K' });
    describe(2, { level: '2', type: 'Unified', size: '2048K' });
    describe(3, { level: '3' });
    expect(readCaches(0, folder)).toEqual({ l1d: 48 << 10, l2: 2 << 20, l3: null });
  });

  test('are null where the machine does not say', () => {
    expect(readCaches(9, folder)).toEqual({ l1d: null, l2: null, l3: null });
  });
});
