'use strict';
// `crossings trace` and crossings-demo: output, files, invalid arguments, sudden ends.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { recordTrace } = require('../lib/trace/record.js');
const { toTraceEvents } = require('../lib/trace/perfetto.js');
const {
  built,
  cli,
  eventsOf,
  isAlive,
  leftovers,
  root,
  run,
  start,
  until,
  untilNothingIsLeft,
} = require('./support.js');

const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];
const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const testWhereAllowed = allowed ? test : test.skip;
const describeWhereAllowed = allowed ? describe : describe.skip;
const folder = mkdtempSync(join(tmpdir(), 'trace-'));
const file = (/** @type {string} */ name) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

describeWhereAllowed('crossings trace', () => {
  const files = ['--json', file('trace.json'), '--perfetto', file('perfetto.json')];
  const { status, stdout, stderr } = cli(['trace', 'pipe', '--messages', '3', ...files]);
  const trace = JSON.parse(readFileSync(file('trace.json'), 'utf8'));

  test('prints each event of the recording under its message', () => {
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const { t, source } of trace.events) {
      const at = (t / 1000).toFixed(1);
      const line = stdout.split('\n').find((text) => text.trimStart().startsWith(`${at} `));
      expect(line).toMatch(new RegExp(`${source.file.split('/').pop()}:${source.line}$`));
    }
    const headings = stdout.split('\n').filter((line) => /^(Setup|Message \d+|Teardown)$/.test(line));
    expect(headings).toEqual(['Setup', 'Message 1', 'Message 2', 'Message 3', 'Teardown']);
  });

  test('ends with the cost of a message, from the figures of this recording', () => {
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain('A message cost 2 system calls, 2 copies by the kernel, 0 copies by the processes');
    expect(text).toContain(`The cheapest system call takes ${trace.floors.syscallNs.toPrecision(3)} ns here`);
  });

  test('writes one event per line, and no other file', () => {
    const lines = readFileSync(file('trace.json'), 'utf8').split('\n');
    const events = lines.filter((line) => line.startsWith('    {"t":'));
    expect(events.map((line) => JSON.parse(line.replace(/,$/, '')))).toEqual(trace.events);
    expect(readdirSync(folder).sort()).toEqual(['perfetto.json', 'trace.json']);
  });

  test('writes complete Trace Event JSON: named processes and phases, one slice per event, paired arrows', () => {
    const written = JSON.parse(readFileSync(file('perfetto.json'), 'utf8'));
    expect(written).toEqual(JSON.parse(JSON.stringify(toTraceEvents(trace))));
    const pids = trace.processes.map((/** @type {any} */ { pid }) => pid);
    for (const event of written.traceEvents) {
      expect(event).toEqual(
        expect.objectContaining({
          ph: expect.any(String),
          ts: expect.any(Number),
          pid: expect.any(Number),
          name: expect.any(String),
        }),
      );
      expect(pids).toContain(event.pid);
      if (event.ph === 'X') expect(event.dur).toBeGreaterThanOrEqual(0);
    }
    const named = written.traceEvents.filter((/** @type {any} */ { name }) => name === 'process_name');
    expect(named.map((/** @type {any} */ { args }) => args.name)).toEqual(['Pipe: writer', 'Pipe: reader']);
    const slices = written.traceEvents.filter((/** @type {any} */ { cat }) => cat === 'syscall' || cat === 'step');
    expect(slices).toHaveLength(trace.events.length);
    const ends = (/** @type {string} */ ph) =>
      written.traceEvents.filter((/** @type {any} */ event) => event.ph === ph).map((/** @type {any} */ { id }) => id);
    expect(ends('s')).toEqual(ends('f'));
    const woken = trace.events.filter((/** @type {any} */ { wokenBy }) => wokenBy !== null);
    expect(ends('s')).toHaveLength(woken.length);
  });

  testWhereAllowed('a longer recording is whole, too', async () => {
    const { events, parameters } = await recordTrace({ mechanism: 'uds', messages: 200 });
    expect(parameters.messages).toBe(200);
    expect(events.filter(({ name }) => name === 'sendto')).toHaveLength(200);
  });

  testWhereAllowed('it is interpreted in another thread, so that the lab answers others meanwhile', async () => {
    await jest.isolateModulesAsync(async () => {
      jest.doMock('../lib/trace/causes.js', () => ({
        orderByCause() {
          throw new Error('interpreted in the thread of the lab');
        },
      }));
      const { interpret, recordTrace: record } = require('../lib/trace/record.js');
      expect(() => interpret(eventsOf(run('crossings-demo', ['--trace', 'pipe']).stdout))).toThrow('in the thread');
      expect((await record({ mechanism: 'pipe', messages: 1 })).events.length).toBeGreaterThan(0);
    });
    jest.dontMock('../lib/trace/causes.js');
  });
});

describe('invalid arguments are refused in one sentence:', () => {
  test.each([
    [['nope'], 'The mechanism must be one of ring, shm-spin, shm-sem, pipe, uds, tcp; got "nope".'],
    [['pipe', '--messages', '0'], '--messages must be a whole number from 1 to 1000; got "0".'],
    [['pipe', '--messages', '1001'], '--messages must be a whole number from 1 to 1000; got "1001".'],
    [['pipe', '--messages', '-1'], '--messages must be a whole number from 1 to 1000; got "-1".'],
    [['pipe', '--messages', '1e2'], '--messages must be a whole number from 1 to 1000; got "1e2".'],
    [
      ['pipe', '--json', '/no/such/folder/x'],
      '--json must be a file that can be written; got "/no/such/folder/x": the folder /no/such/folder does not exist.',
    ],
    [['pipe', 'tcp'], 'Unexpected argument "tcp"'],
    [[], "Missing required argument 'mechanism'"],
  ])('crossings trace %j', (args, sentence) => {
    const { status, stdout, stderr } = cli(['trace', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test.each([
    [[], 'The mechanism is missing.'],
    [['pipe', 'tcp'], 'give only one mechanism'],
    [['pipe', '--trace', '--time', '3'], '--trace and --time cannot be used together'],
    [['pipe', '--time', 'x'], '--time must be a whole number from 1 to 1000; got "x".'],
    [['pipe', '--parent', '1'], '--parent must be the PID of the process that started this one'],
  ])('crossings-demo %j', (args, sentence) => {
    const { status, stdout, stderr } = run('crossings-demo', args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});

describe('crossings-demo without a tracer', () => {
  test.each(MECHANISMS)('%s: every message arrives, and no name remains', async (mechanism) => {
    const before = leftovers();
    const { status, stdout, stderr } = run('crossings-demo', [mechanism, '--messages', 50]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('sent 50 messages; all arrived intact and in order.');
    await untilNothingIsLeft(before);
  });

  test('--list names each demo and its source', () => {
    const listed = eventsOf(run('crossings-demo', ['--list']).stdout);
    expect(listed.map(({ name }) => name)).toEqual(MECHANISMS);
    for (const { source } of listed) expect(readFileSync(join(root, source), 'utf8')).toContain('phase(MESSAGES)');
  });

  test('--time prints a time for each run', () => {
    const [timing] = eventsOf(run('crossings-demo', ['pipe', '--time', 5]).stdout);
    expect(timing.messageNs).toHaveLength(5);
    for (const ns of [...timing.messageNs, timing.syscallNs]) expect(ns).toBeGreaterThan(0);
  });
});

testWhereAllowed('where ptrace is refused it says what to do, and leaves nothing', async () => {
  // A process can have only one tracer.
  const before = leftovers();
  const command = [process.execPath, join(root, 'lib', 'cli.js'), 'trace', 'shm-sem'];
  const { status, stdout, stderr } = run('crossings-count', ['--method', 'ptrace', '--', ...command]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('ptrace is not permitted');
  expect(stderr).toContain('--cap-add=SYS_PTRACE');
  expect(stderr).toContain('(ERR_PTRACE_REFUSED)');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  await untilNothingIsLeft(before);
});

/** A process and its descendants. @param {number} pid @returns {number[]} */
function family(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return [pid, ...stdout.split('\n').filter(Boolean).map(Number).flatMap(family)];
}

describe('a killed process leaves nothing behind:', () => {
  test.each([
    ['the recorder', () => start(process.execPath, ['lib/cli.js', 'trace', 'shm-spin', '--messages', '1000']), 350],
    ['the tracer', () => start(built('crossings-demo'), ['shm-spin', '--trace', '--messages', '1000']), 12],
    ['the demo', () => start(built('crossings-demo'), ['shm-spin', '--time', '1000', '--messages', '1000']), 12],
    ['a demo of the socket', () => start(built('crossings-demo'), ['uds', '--time', '1000', '--messages', '1000']), 12],
  ])('SIGKILL to %s, at twelve moments', async (_, begin, longest) => {
    const before = leftovers();
    for (let i = 1; i <= 12; i++) {
      const child = begin();
      await new Promise((resolve) => setTimeout(resolve, (longest * i) / 12));
      const all = family(/** @type {number} */ (child.pid));
      child.kill('SIGKILL');
      await until(() => !all.some(isAlive));
    }
    await untilNothingIsLeft(before);
  });

  testWhereAllowed('an abort ends the recording and its processes', async () => {
    const before = leftovers();
    const controller = new AbortController();
    const recording = recordTrace({ mechanism: 'shm-spin', messages: 1000 }, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(recording).rejects.toThrow('enough');
    await untilNothingIsLeft(before);
  });
});
