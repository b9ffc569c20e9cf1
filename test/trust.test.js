'use strict';
// The benchmark's verdicts can be trusted: two builds in one run, regressions in CI, and the benchmark's test of itself.
const { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const compareSchema = require('../lib/bench/compare/compare.schema.json');
const selfTestSchema = require('../lib/bench/self-test/self-test.schema.json');
const { failOnRegression, reasonUndecided } = require('../lib/bench/regressions.js');
const { describe: describeSelfTest } = require('../lib/bench/self-test/sentences.js');
const { testInCi } = require('./in-ci.js');
const { around, result, runOf } = require('./run-files.js');
const { built, cli, eventsOf, root, run } = require('./support.js');

const ajv = new Ajv({ strict: false });
const folder = mkdtempSync(join(tmpdir(), 'trust-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A checkout whose crossings-bench is ours with more options. @param {string} name @param {string} options */
function checkout(name, options) {
  const path = join(folder, name);
  mkdirSync(join(path, 'build', 'Release'), { recursive: true });
  writeFileSync(join(path, 'package.json'), JSON.stringify({ version: '0.0.1' }));
  const program = join(path, 'build', 'Release', 'crossings-bench');
  writeFileSync(program, `#!/bin/sh\nexec ${built('crossings-bench')} ${options} "$@"\n`);
  chmodSync(program, 0o755);
  return path;
}

/** Enough rounds for a verdict. */
const decisive = { env: { ...process.env, CROSSINGS_TEST_ROUNDS: '10' } };
/** Enough for what is counted. */
const brief = { env: { ...process.env, CROSSINGS_TEST_ROUNDS: '1' } };
const small = ['--quick', '--mechanism', 'ring', '--messages', '500'];

describe('a planted cost', () => {
  const counted = (/** @type {string[]} */ plant, /** @type {string} */ messages, /** @type {string} */ trips) => {
    const command = ['--mechanism', 'pipe', '--messages', messages, '--round-trips', trips, '--no-floors', ...plant];
    const { stdout } = run('crossings-count', ['--', built('crossings-bench'), ...command]);
    return eventsOf(stdout).find(({ type }) => type === 'crossings').byName;
  };

  test('of one system call is in each send and nowhere else', () => {
    expect(counted(['--plant', 'getppid'], '1000', '0').getppid - (counted([], '1000', '0').getppid ?? 0)).toBe(1000);
    // Both sides send, also in the 500 trips of the warm-up.
    expect(counted(['--plant', 'getppid'], '0', '1000').getppid - (counted([], '0', '1000').getppid ?? 0)).toBe(3000);
  });

  test('of a delay lengthens every round trip by as much', () => {
    const { stdout } = run('crossings-bench', [
      '--mechanism',
      'ring',
      '--messages',
      0,
      '--round-trips',
      200,
      '--plant',
      '0,50000',
    ]);
    expect(eventsOf(stdout).find(({ type }) => type === 'roundTrip').ns.min).toBeGreaterThan(49_000);
  });

  test.each(['', 'getpid', '100', '100,', '1,2,3', '-1,2', '2000000,1', '1,2x'])('"%s" is refused', (text) => {
    const { status, stderr } = run('crossings-bench', ['--mechanism', 'ring', '--plant', text]);
    expect(status).toBe(2);
    expect(stderr).toContain(
      `--plant must be getppid, or two delays from 0 to 1000000 ns, as in 100,1200; got "${text}".`,
    );
  });
});

describe('bench --against', () => {
  test('finds that the other build is slower and makes other system calls, and writes its file', () => {
    const json = join(folder, 'against.json');
    const other = checkout('slower', '--plant 0,20000');
    const args = ['bench', ...small, '--against', other, '--json', json, '--fail-on-regression', '10%'];
    const { status, stdout, stderr } = cli(args, decisive);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const comparison = JSON.parse(readFileSync(json, 'utf8'));
    const validate = ajv.compile(compareSchema);
    expect(validate(comparison) ? [] : validate.errors).toEqual([]);
    expect(comparison).toMatchObject({
      a: { folder: other, version: '0.0.1' },
      b: { folder: root },
      rule: { unit: 'rounds', questions: 2 },
      parameters: { messages: 500 },
    });
    expect(comparison.mechanisms[0].roundTrip).toMatchObject({ verdict: 'faster' });
    expect(comparison.mechanisms[0].roundTrip.observations[0]).toBe(comparison.parameters.samples);
    expect(stdout).toContain('The versions of crossings differ: 0.0.1 (baseline)');
    expect(stdout.indexOf('The versions')).toBeLessThan(stdout.indexOf('ring, round trip ns'));
  });

  test('states a system call that only one of the builds makes', () => {
    const { status, stdout } = cli(['bench', ...small, '--against', checkout('calls', '--plant getppid')], brief);
    expect(status).toBe(0);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'ring makes 0 system calls per round trip instead of 2 and 0 system calls per message instead of 1.',
    );
  });

  test.each([
    [() => '/nowhere', 'the folder does not exist.'],
    [() => folder, 'it has no program build/Release/crossings-bench; run npm install there.'],
    [() => checkout('broken', '--nonsense'), 'its build/Release/crossings-bench does not list its mechanisms.'],
  ])('refuses a folder without a build that runs', (path, why) => {
    const { status, stdout, stderr } = cli(['bench', ...small, '--against', path()]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(`--against must be a built checkout of crossings; got "${path()}": ${why}\n`);
  });
});

describe('a regression', () => {
  /** @param {Partial<import('../lib/bench/compare/verdicts.js').Answer>} roundTrip @returns {any} */
  const comparisonOf = (roundTrip) => ({ mechanisms: [{ mechanism: 'pipe', throughput: null, roundTrip }] });

  test('beyond the threshold is an error that names it', () => {
    const slower = comparisonOf({ verdict: 'slower', ratio: 1.25, low: 1.2, high: 1.3 });
    expect(() => failOnRegression(slower, 0.1)).toThrow(
      'Slower by more than 10 %: pipe, round trip (95 % interval of the ratio 1.20 to 1.30)',
    );
    const throughput = {
      mechanisms: [{ mechanism: 'pipe', roundTrip: null, throughput: { verdict: 'slower', low: 0.7, high: 0.8 } }],
    };
    expect(() => failOnRegression(/** @type {any} */ (throughput), 0.1)).toThrow('pipe, throughput');
  });

  test('that could not be found is told apart from none', () => {
    /** @param {number} samples @param {boolean} disturbed @returns {any} */
    const sidesOf = (samples, disturbed) => ({
      ...comparisonOf({ verdict: 'undetected', observations: [samples, samples] }),
      rule: { unit: 'samples', questions: 1, disturbed },
    });
    expect(reasonUndecided(sidesOf(20, false))).toBeNull();
    expect(reasonUndecided(sidesOf(20, true))).toContain('there are no verdicts');
    expect(reasonUndecided(sidesOf(2, false))).toBe(
      'a verdict requires at least 4 samples on each side, and there are fewer',
    );
  });

  test('is none if it may be within the threshold, if it has no verdict, or if it is an improvement', () => {
    failOnRegression(comparisonOf({ verdict: 'slower', low: 1.09, high: 1.3 }), 0.1);
    failOnRegression(comparisonOf({ verdict: 'undetected', low: 1.2, high: 1.3 }), 0.1);
    failOnRegression(comparisonOf({ verdict: 'faster', low: 0.2, high: 0.3 }), 0.1);
  });

  test('against a baseline file ends the command with status 1, and only then', () => {
    const file = join(folder, 'baseline.json');
    writeFileSync(file, JSON.stringify(runOf([result('ring', { tripNs: around(1) })])));
    const { status, stdout, stderr } = cli(
      ['bench', ...small, '--baseline', file, '--fail-on-regression', '10%'],
      { env: { ...process.env, CROSSINGS_TEST_ROUNDS: '5' } }, // it is a thousand times slower
    );
    // On a busy machine, a single run gets no verdict, and there is no regression to report.
    const detected = /ring, round trip ns .* slower/.test(stdout);
    expect(detected || stdout.includes('Other processes used the machine')).toBe(true);
    expect(status).toBe(detected ? 1 : 0);
    expect(stderr).toBe(
      stderr.match(
        detected
          ? /^Slower by more than 10 %: ring, round trip \(.*\) \(ERR_REGRESSION\)\n$/
          : /^--fail-on-regression could not decide: .*\.\n$/,
      )?.[0],
    );
  });
});

test.each([
  [['--against', '.', '--baseline', 'x.json'], '--against and --baseline cannot be used together.'],
  [['--against', '.', '--csv', 'x.csv'], '--against and --csv cannot be used together.'],
  [['--self-test', '--baseline', 'x.json'], '--self-test and --baseline cannot be used together.'],
  [['--self-test', '--messages', '100'], '--self-test and --messages cannot be used together.'],
  [['--fail-on-regression', '10%'], '--fail-on-regression requires --baseline or --against.'],
  [
    ['--baseline', 'x.json', '--fail-on-regression', 'ten'],
    '--fail-on-regression must be a percentage from 0% to 1000%, as in 10%; got "ten".',
  ],
  [
    ['--baseline', '/none.json'],
    '--baseline must be a run file written by bench --json; cannot read "/none.json": no such file or directory.',
  ],
])('bench %j is refused', (args, sentence) => {
  expect(cli(['bench', ...args])).toEqual({ status: 2, stdout: '', stderr: `${sentence}\n` });
});

describe('bench --self-test', () => {
  testInCi('reports false alarms, misses and the planted system call, and ends as its criteria say', () => {
    const json = join(folder, 'self-test.json');
    const { status, stdout, stderr } = cli([
      'bench',
      '--self-test',
      '--quick',
      '--pairs',
      '1',
      '--mechanism',
      'ring',
      '--json',
      json,
    ]);
    const file = JSON.parse(readFileSync(json, 'utf8'));
    const validate = ajv.compile(selfTestSchema);
    expect(validate(file) ? [] : validate.errors).toEqual([]);
    expect(file.counts).toMatchObject([
      { mechanism: 'ring', getppid: { perMessage: 1, perRoundTrip: 2 }, passed: true },
    ]);
    expect(file.planted.map((/** @type {any} */ { measure }) => measure)).toEqual(['roundTrip', 'throughput']);
    expect(file.falseAlarms).toMatchObject({ comparisons: 1, questions: 2 });
    // Whether a busy machine meets the criteria is not ours to say; that the status agrees with the file is.
    expect(status).toBe(file.missed.length > 0 ? 1 : 0);
    expect(stderr === '').toBe(file.missed.length === 0);
    expect(stdout).toContain('identical builds: false alarms');
  });

  /** @param {{alarms?: number, found?: number, getppid?: number}} figures @returns {any} */
  const figuresOf = ({ alarms = 1, found = 19, getppid = 1 }) => ({
    parameters: { rounds: 10, slowdown: 0.1 },
    falseAlarms: { comparisons: 20, withFalseAlarm: alarms, allowed: 1, passed: alarms <= 1 },
    planted: [{ mechanism: 'pipe', measure: 'roundTrip', found, of: 20, needed: 19, ratio: 1.1, passed: found >= 19 }],
    counts: [{ mechanism: 'pipe', getppid: { perMessage: getppid, perRoundTrip: 2 }, passed: getppid === 1 }],
  });

  test.each([
    [{}, []],
    [{ alarms: 2 }, ['false alarms']],
    [{ found: 18 }, ['the slowdown of pipe (round trip)']],
    [{ getppid: 0.99 }, ['the system call in pipe']],
  ])('with %j misses %j', (figures, missed) => {
    expect(describeSelfTest(figuresOf(figures)).missed).toEqual(missed);
  });
});
