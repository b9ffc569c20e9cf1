'use strict';
// `crossings latency`: short runs, their files, and the distribution that HdrHistogram's plotter reads.
const { mkdtempSync, readFileSync, rmSync, existsSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { toHgrm } = require('../lib/experiments/latency/hgrm.js');
const { explain, judge } = require('../lib/experiments/latency/sentences.js');
const { Times } = require('../lib/experiments/latency/times.js');
const { cli } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'latency-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (/** @type {string} */ name) => join(folder, name);

const validate = new Ajv({ strict: false }).compile(require('../lib/experiments/latency/latency.schema.json'));

/** @param {string} name of the file @param {string[]} args */
function measure(name, args) {
  const { status, stdout, stderr } = cli(['latency', '--quick', '--json', path(name), ...args]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const file = JSON.parse(readFileSync(path(name), 'utf8'));
  expect(validate(file) ? [] : validate.errors).toEqual([]);
  return { file, stdout };
}

/** What a plotter reads from a .hgrm file: the lines that are neither empty, nor the heading, nor a remark. @param {string} text */
const linesOf = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line && !line.startsWith('#') && !line.startsWith('Value'))
    .map((line) => line.split(/\s+/).map(Number));

describe('one run', () => {
  /** @type {any} */ let file;
  let stdout = '';
  beforeAll(() => {
    const sizes = ['--samples', '6001', '--warm-up', '100', '--rate', '5000', '--mlock'];
    ({ file, stdout } = measure('run.json', [
      ...sizes,
      '--hdr',
      path('closed.hgrm'),
      '--hdr-paced',
      path('paced.hgrm'),
    ]));
  });

  test('times exactly as many round trips as asked for, in both loops', () => {
    expect(file).toMatchObject({
      sizeBytes: 32,
      samples: 6001,
      parameters: { rounds: 6, warmUp: 100, ratePerSecond: 5000 },
    });
    expect(file.distribution.at(-1)[2]).toBe(6001);
    expect(file.paced.distribution.at(-1)[2]).toBe(6001);
  });

  test('the figures agree with each other', () => {
    for (const ns of [file.ns, file.paced.ns, file.paced.serviceNs]) {
      const values = [ns.min, ns.p50, ns.p90, ns.p99, ns['p99.9'], ns.max];
      expect(values).toEqual([...values].sort((a, b) => a - b));
    }
    expect(file.oneWayEstimateNs).toBe(file.ns.p50 / 2);
    expect(file.clock.shareOfP50).toBeCloseTo(file.clock.overheadNs / file.ns.p50, 9);
    expect(file.clock.calibrations).toHaveLength(6);
    expect(file.paced.ns.mean).toBeGreaterThanOrEqual(file.paced.serviceNs.mean);
  });

  test('times keep the precision of the clock', () => {
    const ticks = file.ns.min / file.clock.tickNs;
    expect(ticks).toBeCloseTo(Math.round(ticks), 6);
  });

  test('the .hgrm files have the percentiles of the run file', () => {
    for (const [name, { ns }] of [
      ['closed.hgrm', file],
      ['paced.hgrm', file.paced],
    ]) {
      const lines = linesOf(readFileSync(path(name), 'utf8'));
      const at = (/** @type {number} */ share) => lines.find(([, percentile]) => percentile === share)?.[0];
      expect(lines[0].slice(0, 2)).toEqual([Number(ns.min.toFixed(3)), 0]);
      expect(at(0.5)).toBe(Number(ns.p50.toFixed(3)));
      expect(at(0.9)).toBe(Number(ns.p90.toFixed(3)));
      expect(lines.at(-1)).toEqual([Number(ns.max.toFixed(3)), 1, 6001]);
      for (const [, percentile, count, inverse] of lines.slice(0, -1)) {
        expect(inverse).toBeCloseTo(1 / (1 - percentile), 2);
        expect(count).toBeGreaterThanOrEqual(Math.floor(percentile * 6001));
      }
    }
  });

  test("prints the document's column beside both loops", () => {
    expect(stdout).toContain('i7-12650H');
    expect(stdout).toMatch(/p50 \(median\) .* 56\.5$/m);
    expect(stdout).toContain('paced, 5,000 per second');
  });
});

test('without a paced loop, and with other sizes', () => {
  const { file, stdout } = measure('closed.json', [
    '--no-paced',
    '--samples',
    '500',
    '--size',
    '1KiB',
    '--warm-up',
    '0',
  ]);
  expect(file).toMatchObject({
    paced: null,
    sizeBytes: 1024,
    samples: 500,
    parameters: { rounds: 5, ratePerSecond: null },
  });
  expect(file.ns['p99.9']).toBeNull(); // none of 500 is beyond it
  expect(stdout).not.toContain('paced');
  expect(file.verdict).toBe('unknown');
});

describe('invalid arguments end with exit status 2, one sentence and no file:', () => {
  test.each([
    [['--samples', '99'], '"99"'],
    [['--rate', '0'], '"0"'],
    [['--warm-up', '-1'], '"-1"'],
    [['--size', '1'], '"1"'],
    [['--no-paced', '--rate', '100'], '--no-paced and --rate cannot be used together.'],
    [['--no-paced', '--hdr-paced', path('no.hgrm')], '--hdr-paced'],
    [['--hdr-paced', '/nowhere/at/all.hgrm'], '--hdr-paced must be'],
    [['--realtime', '--placement', 'same'], '--realtime requires'],
    [['--realtime', '--no-pin'], '--realtime requires'],
  ])('%j', (args, value) => {
    const { status, stdout, stderr } = cli(['latency', '--json', path('refused.json'), ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^[^\n]*[.'"]\n$/);
    expect(stderr).toContain(value);
    expect(existsSync(path('refused.json'))).toBe(false);
  });
});

describe('Times', () => {
  /** Each number of ticks from 1 to n, once. @param {number} n */
  const each = (n) => {
    const times = new Times();
    times.add(Array.from({ length: n }, (_, i) => [i + 1, 1]));
    return times;
  };

  test('percentiles are exact, by nearest rank', () => {
    expect(each(100_000).summary(0.5)).toMatchObject({
      min: 0.5,
      p50: 25_000,
      p90: 45_000,
      p99: 49_500,
      'p99.9': 49_950,
      'p99.99': 49_995,
      max: 50_000,
      mean: 25_000.25,
    });
  });

  test('the standard deviation is that of the population', () => {
    // Of 1 to n: sqrt((n^2 - 1) / 12).
    expect(each(1000).summary(1).standardDeviation).toBeCloseTo(Math.sqrt((1000 ** 2 - 1) / 12), 9);
  });

  test('a percentile with no round trip beyond it is null', () => {
    expect(each(1000).summary(1)).toMatchObject({ 'p99.9': 999, 'p99.99': null });
    expect(each(999).summary(1)).toMatchObject({ 'p99.9': null });
  });

  test('the distribution has the steps of HdrHistogram', () => {
    const percents = each(1000)
      .distribution(1)
      .map(([percent]) => percent);
    const known = [0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 77.5, 80, 82.5, 85, 87.5, 88.75, 90, 91.25, 92.5, 93.75];
    expect(percents.slice(0, known.length)).toEqual(known);
    expect(percents.at(-1)).toBe(100);
  });

  test('the distribution as text is what HdrHistogram prints for the same values', () => {
    const times = new Times();
    times.add([
      [100, 6],
      [200, 4],
    ]);
    // As printed by hdr-histogram-js 3.0.1, with three decimals and without the sizes of its buckets.
    expect(toHgrm({ distribution: times.distribution(1), ns: times.summary(1) })).toBe(`\
       Value     Percentile TotalCount 1/(1-Percentile)

     100.000 0.000000000000          6           1.00
     100.000 0.100000000000          6           1.11
     100.000 0.200000000000          6           1.25
     100.000 0.300000000000          6           1.43
     100.000 0.400000000000          6           1.67
     100.000 0.500000000000          6           2.00
     100.000 0.550000000000          6           2.22
     100.000 0.600000000000          6           2.50
     200.000 0.650000000000         10           2.86
     200.000 1.000000000000         10
#[Mean    =      140.000, StdDeviation   =       48.990]
#[Max     =      200.000, Total count    =           10]
`);
  });
});

describe('the answer', () => {
  /** @param {number} p50 @param {number} tail */
  const measured = (p50, tail) => ({
    sizeBytes: 32,
    ns: { min: p50, p50, 'p99.9': tail, max: 2e6 },
    intervals: { p50: { median: p50, low: p50, high: p50 } },
  });

  test.each([
    [50, 100, 'held'],
    [50, 1000, 'partly'],
    [500, 600, 'partly'],
    [500, 5000, 'failed'],
  ])('with a median of %i ns and p99.9 of %i ns: %s', (p50, tail, verdict) => {
    expect(judge(measured(p50, tail))).toBe(verdict);
  });

  test('is unknown for messages of another size', () => {
    expect(judge({ ...measured(50, 100), sizeBytes: 64 })).toBe('unknown');
  });

  test('says how many messages a stall would have delayed', () => {
    const text = explain({
      ...measured(500, 1000),
      samples: 1000,
      floorNs: null,
      oneWayEstimateNs: 250,
      disturbedShare: 0.001,
      roundTripsPerSecond: { median: 1e6, low: null, high: null },
      clock: { source: 'clock_monotonic', overheadNs: 25, shareOfP50: 0.05 },
      paced: {
        ratePerSecond: 500_000,
        shareOfClosedLoop: 0.5,
        roundTripsPerSecond: { median: 499_000, low: null, high: null },
        ns: { 'p99.9': 1.5e6 },
        serviceNs: { 'p99.9': 1000 },
        disturbedShare: 0.4,
      },
      parameters: { rounds: 1, realtime: false, mlock: false },
      cores: 4,
    }).join(' ');
    expect(text).toContain('would delay about 1,000 of its messages'); // 2 ms at 500,000 per second
    expect(text).not.toMatch(/NaN|null|undefined/);
  });
});
