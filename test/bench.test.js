'use strict';
// One complete run, and every file that it writes.
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const schema = require('../lib/bench/run.schema.json');
const { renderTable } = require('../lib/bench/table.js');
const { cli, leftovers, ourProcesses, untilNothingIsLeft } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const file = (/** @type {string} */ name) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const before = leftovers();
const files = ['--json', file('run.json'), '--csv', file('run.csv'), '--markdown', file('run.md')];
// Two rounds are the fewest with quartiles that can differ.
const env = { ...process.env, CROSSINGS_TEST_ROUNDS: '2' };
const { status, stdout, stderr } = cli(['bench', '--quick', '--messages', '1000', ...files], { env });
const run = JSON.parse(readFileSync(file('run.json'), 'utf8'));
const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];

test('succeeds, writes nothing to a standard error that is not a terminal, and leaves nothing behind', async () => {
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(ourProcesses()).toEqual([]);
  await untilNothingIsLeft(before);
  expect(readdirSync(folder).sort()).toEqual(['run.csv', 'run.json', 'run.md']);
});

test('the run file has every field of its schema, for all mechanisms', () => {
  const validate = new Ajv({ strict: false }).compile(schema);
  expect(validate(run) ? [] : validate.errors).toEqual([]);
  expect(run.results.map((/** @type {any} */ result) => result.mechanism)).toEqual(MECHANISMS);
});

test('the figures of the run file agree with each other', () => {
  for (const { throughput, roundTrip } of run.results) {
    const { median, q1, q3, samples } = throughput.messagesPerSecond;
    expect(samples).toHaveLength(run.parameters.samples);
    expect(q1).toBeLessThanOrEqual(median);
    expect(median).toBeLessThanOrEqual(q3);
    expect(throughput.bytesPerSecond.median).toBeCloseTo(median * 64, 0);
    const { min, p50, p90, p99, max } = roundTrip.ns;
    expect([min, p50, p90, p99, max]).toEqual([min, p50, p90, p99, max].sort((a, b) => a - b));
  }
});

test('the CSV has one line per mechanism, with a number in each column of figures', () => {
  const [heads, ...lines] = readFileSync(file('run.csv'), 'utf8')
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  expect(lines.map(([mechanism]) => mechanism)).toEqual(MECHANISMS);
  const p50 = heads.indexOf('round_trip_p50_ns');
  for (const [index, line] of lines.entries()) {
    expect(line).toHaveLength(heads.length);
    expect(Number(line[p50])).toBeCloseTo(run.results[index].roundTrip.ns.p50, 3);
  }
});

test('the Markdown file is a table with one row per mechanism', () => {
  const rows = readFileSync(file('run.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'));
  expect(rows).toHaveLength(2 + MECHANISMS.length);
  expect(new Set(rows.map((row) => row.split('|').length)).size).toBe(1);
});

test('the table shows each mechanism, fastest round trip first, in lines that fit 120 columns', () => {
  const byTrip = [...run.results].sort((a, b) => a.roundTrip.ns.p50 - b.roundTrip.ns.p50);
  const places = byTrip.map(({ title }) => stdout.indexOf(title));
  expect(places.every((place) => place >= 0)).toBe(true);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  for (const line of stdout.split('\n').filter((text) => !text.startsWith('Wrote '))) {
    expect(line.length).toBeLessThanOrEqual(120); // numbers are longer on a busy machine
  }
});

test('the sentences below the table quote figures of this run', () => {
  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain('With pipe, a round trip makes 4 system calls');
  const { p50 } = run.results.find((/** @type {any} */ result) => result.mechanism === 'pipe').roundTrip.ns;
  expect(text).toContain(`${(p50 / 1000).toPrecision(3)} µs`);
});

test.each([
  [[2, 3], 'processes on cores 2 and 3'],
  [[2, 2], 'both processes on core 2'],
  [null, 'processes placed by the scheduler'],
])('the caption says where the processes ran (%j)', (pinnedCores, words) => {
  const plain = (/** @type {string} */ text) => text;
  const style = { bold: plain, dim: plain, good: plain, bad: plain };
  const placed = { ...run, environment: { ...run.environment, pinnedCores } };
  expect(renderTable(placed, style).split('\n')[0]).toContain(words);
});
