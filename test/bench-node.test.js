'use strict';
// The comparison between Node processes, and its main claim: the ring's messages make no system call.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { TRANSPORTS } = require('../lib/bench/node/runner.js');
const { ratioOf } = require('../lib/bench/node/references.js');
const schema = require('../lib/bench/run.schema.json');
const { inCi } = require('./in-ci.js');
const { cli, eventsOf, leftovers, ourProcesses, root, run, untilNothingIsLeft } = require('./support.js');

const side = join(root, 'lib', 'bench', 'node', 'side.js');

/** @param {string} transport @param {object} [work] */
function taskOf(transport, work) {
  return JSON.stringify({ transport, role: 'first', sizeBytes: 64, trips: 200, messages: 1000, prefix: [], ...work });
}

// Messages of 64 bytes take the same way as those of 32. Elsewhere than in CI, large ones are sent over the ring only.
test.each([...TRANSPORTS, 'ring-asleep'])('%s carries every message', (transport) => {
  for (const sizeBytes of inCi || transport === 'ring' ? [32, 65536] : [32]) {
    const task = taskOf(transport, { sizeBytes });
    const { status, stdout, stderr } = spawnSync(process.execPath, [side, task], { encoding: 'utf8', timeout: 30_000 });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [sample] = eventsOf(stdout);
    expect(sample.messagesPerSecond).toBeGreaterThan(0);
    const readings = sample.values.reduce(
      (/** @type {number} */ sum, /** @type {number[]} */ [, times]) => sum + times,
      0,
    );
    expect(readings * sample.tripsPerReading).toBe(200);
  }
});

test.each(['bare-memory', 'ring-bare-async', 'wake'])('the lower bound %s counts every round trip', (transport) => {
  for (const sizeBytes of [32, 65536]) {
    const task = taskOf(transport, { sizeBytes, messages: 0 });
    const { status, stdout, stderr } = spawnSync(process.execPath, [side, task], { encoding: 'utf8', timeout: 30_000 });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [{ values, tripsPerReading }] = eventsOf(stdout);
    const readings = values.reduce((/** @type {number} */ sum, /** @type {number[]} */ [, times]) => sum + times, 0);
    expect(readings * tripsPerReading).toBe(200);
  }
});

// Node emits the first error and throws the second.
test.each([
  ['/no/such/program', 'no such file or directory'],
  ['/dev/null/program', 'not a directory'],
])('a side that cannot start the other one, as %s, says why', (program, reason) => {
  for (const transport of ['ring', 'send-json', 'stdio', 'wake']) {
    const task = taskOf(transport, { prefix: [program] });
    const { status, stderr } = spawnSync(process.execPath, [side, task], { encoding: 'utf8', timeout: 30_000 });
    expect({ status, stderr }).toEqual({ status: 1, stderr: `Cannot run node: ${reason}\n` });
  }
});

const [methods] = eventsOf(run('crossings-count', ['--probe']).stdout);
const [machine] = eventsOf(run('crossings-bench', ['--describe']).stdout);
const countable = Object.values(methods).some((method) => /** @type {any} */ (method).allowed === 'yes');
const twoCores = machine.pinnedCores[0] !== machine.pinnedCores[1];

(countable && twoCores ? test : test.skip)(
  'the number of system calls does not grow with the messages of the ring',
  () => {
    /** @param {number} trips @param {number} messages @returns {Record<string, number>} */
    const count = (trips, messages) => {
      const command = [process.execPath, side, taskOf('ring', { trips, messages })];
      const { status, stdout } = run('crossings-count', ['--', ...command]);
      expect(status).toBe(0);
      return eventsOf(stdout).find(({ type }) => type === 'crossings').byName;
    };
    const few = count(5_000, 5_000);
    const many = count(45_000, 45_000);
    // 40,000 more round trips and messages. Node's own work adds a few calls, and so does a side that polls while the machine
    // runs something else: it then checks from time to time whether its peer has died.
    for (const [name, calls] of Object.entries(many)) {
      expect({ name, grown: calls - (few[name] ?? 0) > 10_000 }).toEqual({ name, grown: false });
    }
  },
);

describe('crossings bench node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'node-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('writes a run file that matches the schema, and prints both tables', async () => {
    const before = leftovers();
    const file = join(folder, 'run.json');
    const { status, stdout, stderr } = cli(
      ['bench', 'node', '--quick', '--transport', 'ring,port', '--size', '64', '--json', file],
      { env: { ...process.env, CROSSINGS_TEST_ROUNDS: '1' } },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const written = JSON.parse(readFileSync(file, 'utf8'));
    const validate = new Ajv({ strict: false }).compile(schema);
    expect(validate(written) ? [] : validate.errors).toEqual([]);
    expect(written.results.map((/** @type {any} */ result) => result.mechanism)).toEqual(['ring', 'port']);
    expect(stdout).toContain('MessagePort to a worker');
    expect(stdout).toContain('C round trip, 32 bytes, over the cache-line floor');
    expect(ourProcesses()).toEqual([]);
    await untilNothingIsLeft(before);
  });

  test.each([
    [['--transport', 'rings'], '"rings"'],
    [['--size', '1'], '"1"'],
    [['--quick', '--thorough'], '--quick'],
    [['--cores', '0,0'], 'two different cores'],
    [['--placement', 'same'], 'two different cores'],
    [['--placement', 'free', '--cores', '0,1'], '--placement free'],
  ])('refuses %j', (args, named) => {
    const { status, stdout, stderr } = cli(['bench', 'node', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(named);
  });
});

test('the median decides whether a goal is met', () => {
  /** @param {'most' | 'least'} bound @param {number} goal @param {number[]} samples */
  const ratio = (bound, goal, samples) =>
    ratioOf({ what: 'x', bound, goal, aim: goal, values: () => samples }, /** @type {any} */ ({}));
  expect(ratio('most', 2, [1, 2, 9])[0]).toMatchObject({ met: true, unit: '×', value: { median: 2 } });
  expect(ratio('least', 3, [1, 2, 9])[0].met).toBe(false);
  expect(ratio('most', 2, [])).toEqual([]);
});
