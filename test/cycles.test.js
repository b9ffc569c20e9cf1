'use strict';
// `crossings cycles`: one short run, its file, and what it says about the document's table.
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { explain, judge } = require('../lib/experiments/cycles/sentences.js');
const { cli, eventsOf, run } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'cycles-'));
afterAll(() => rmSync(folder, { recursive: true }));

const validate = new Ajv({ strict: false }).compile(require('../lib/experiments/cycles/cycles.schema.json'));

const path = join(folder, 'cycles.json');
const { status, stdout, stderr } = cli(['cycles', '--quick', '--rounds', '1', '--json', path]);
const file = status === 0 ? JSON.parse(readFileSync(path, 'utf8')) : null;
/** @param {string} name */
const row = (name) => file.rows.find((/** @type {any} */ { name: other }) => other === name);

const listed = eventsOf(run('crossings-bench', ['--list']).stdout).map(({ name }) => name);
const [machine] = eventsOf(run('crossings-bench', ['--describe']).stdout);

test('succeeds, and the file has every member of its schema', () => {
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(validate(file) ? [] : validate.errors).toEqual([]);
});

test('has a row for each mechanism of the table that crossings-bench has, and names the others', () => {
  const wanted = ['ring', 'ring-auth', 'pipe', 'eventfd-signalfd', 'dgram', 'uds', 'tcp', 'futex'];
  const rows = file.rows.filter((/** @type {any} */ { kind }) => kind === 'mechanism');
  expect(rows.map((/** @type {any} */ { name }) => name)).toEqual(wanted.filter((name) => listed.includes(name)));
  expect(file.missing).toEqual(wanted.filter((name) => !listed.includes(name)));
});

test("has the document's figures beside ours", () => {
  expect(row('function-call').document.cycles).toBe(12);
  expect(row('ring').document).toMatchObject({ cycles: 150, overCall: 12.5 });
  expect(row('pipe').document.cycles).toBe(610);
  expect(row('eventfd-signalfd').document.cycles).toBe(1040);
  expect(row('dgram').document.cycles).toBe(1280);
  expect(row('futex').document).toBeNull();
});

test('a cycle is a tick of the time-stamp counter where there is one', () => {
  if (machine.clock.source !== 'tsc') return expect(file.cycle.source).not.toBe('tsc');
  expect(file.cycle.source).toBe('tsc');
  const { ticksPerSecond } = file.environment.clock;
  for (const { cycles, ns } of file.rows) expect(cycles / ((ns * ticksPerSecond) / 1e9)).toBeCloseTo(1, 9);
});

test('ratios are those of the same round', () => {
  const [call] = row('function-call').samplesNs;
  for (const { kind, samplesNs, overCall } of file.rows) {
    if (kind !== 'call') expect(overCall.median).toBeCloseTo(samplesNs[0] / call, 6);
  }
});

test('prints the table with both columns and the machine of the document', () => {
  expect(stdout).toContain('i7-13700K');
  expect(stdout).toMatch(/Futex wake/);
  expect(stdout).toMatch(/eventfd and signalfd .*1,040/);
});

test.each([
  [['--rounds', '0'], '"0"'],
  [['--size', '3'], '"3"'],
  [['--placement', 'near'], '"near"'],
  [['--json', '/nowhere/at/all.json'], '/nowhere/at/all.json'],
  [['more'], '"more"'],
])('%j ends with exit status 2 and one sentence', (args, value) => {
  const refused = cli(['cycles', ...args]);
  expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: 2, stdout: '' });
  expect(refused.stderr).toMatch(/^[^\n]*[.'"]\n$/);
  expect(refused.stderr).toContain(value);
});

describe('the answer', () => {
  /**
   * Rows as a run would have them, from cycles.
   * @param {Record<string, number>} cycles by row
   */
  const rowsFrom = (cycles) =>
    Object.entries(cycles).map(([name, value]) => {
      const samplesNs = Array.from({ length: 9 }, (_, i) => value * (1 + i / 1000));
      const figure = { median: value, low: value, high: value * 1.01 };
      const document = { 'function-call': 12, ring: 150, pipe: 610, dgram: 1280 }[name];
      return /** @type {any} */ ({
        name,
        cycles: value,
        ns: value,
        interval: figure,
        intervalNs: figure,
        overCall: figure,
        crossings: name === 'pipe' ? 4 : 0,
        document: document === undefined ? null : { cycles: document, overCall: document / 12 },
        samplesNs,
      });
    });
  /** @param {any[]} rows */
  const textOf = (rows) =>
    explain({
      rows,
      cycle: { source: 'tsc', GHz: 1, coreGHz: 1.5 },
      missing: [],
      sizeBytes: 64,
      pinnedCores: [0, 1],
      clock: { overheadNs: 20 },
    }).join(' ');
  const asDocument = { 'function-call': 12, 'cache-line': 100, syscall: 100, ring: 140, pipe: 610, dgram: 1280 };

  test("is 'held' on a machine like the document's", () => {
    const rows = rowsFrom(asDocument);
    expect(judge({ rows, sizeBytes: 64 })).toBe('held');
    expect(textOf(rows)).toContain('leaves room for');
  });

  test("is 'partly' where the ring takes longer, and says so where the floor itself does", () => {
    const rows = rowsFrom({ ...asDocument, 'cache-line': 700, ring: 800, pipe: 9000, dgram: 12_000 });
    expect(judge({ rows, sizeBytes: 64 })).toBe('partly');
    expect(textOf(rows)).toContain('cannot be right on this machine');
  });

  test("is 'failed' where the order does not hold either", () => {
    const rows = rowsFrom({ ...asDocument, ring: 800, pipe: 9000, dgram: 2000 });
    expect(judge({ rows, sizeBytes: 64 })).toBe('failed');
    expect(textOf(rows)).toContain('pipe is slower than dgram');
  });

  test("is 'unknown' for messages of another size", () => {
    expect(judge({ rows: rowsFrom(asDocument), sizeBytes: 128 })).toBe('unknown');
  });

  test("is 'unknown' with too few samples", () => {
    const rows = rowsFrom(asDocument).map((each) => ({ ...each, interval: { median: 1, low: null, high: null } }));
    expect(judge({ rows, sizeBytes: 64 })).toBe('unknown');
  });

  test('does without cycles where there are none', () => {
    const rows = rowsFrom(asDocument).map((each) => ({ ...each, cycles: null, interval: null }));
    expect(judge({ rows, sizeBytes: 64 })).toBe('unknown');
    expect(textOf(rows)).not.toMatch(/NaN|null|undefined/);
  });
});
