'use strict';
// Where no more processes or threads can be started, each program fails and says so. None reports a measurement that did not take place.
// Where none can be killed, each program ends all the same.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { built, eventsOf, isAlive, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'no-fork-'));
const library = join(folder, 'no-fork.so');
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => {
  const words = ['-shared', '-fPIC', '-o', library, join(__dirname, 'no-fork.c'), '-ldl'];
  const { status, stderr } = spawnSync('cc', words, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

/** @param {number} forks that succeed @param {string} program @param {(string | number)[]} args */
function runWith(forks, program, args) {
  const env = { ...process.env, LD_PRELOAD: library, FORKS: String(forks) };
  const { status, stdout, stderr } = spawnSync(built(program), args.map(String), { env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

const REASON = 'Resource temporarily unavailable';
const stream = ['--mechanism', 'pipe', '--messages', 1000, '--round-trips', 0];
const trips = ['--mechanism', 'pipe', '--messages', 0, '--round-trips', 1000];

describe('crossings-bench', () => {
  test.each([
    ['neither of its two processes', 1, stream],
    ['neither of its two processes', 1, trips],
    ['only one of its two processes', 2, stream],
    ['only one of its two processes', 2, trips],
  ])('fails if it can start %s, with %i forks for %p', (_, forks, args) => {
    const { status, stdout, stderr } = runWith(forks, 'crossings-bench', args);
    const message = `cannot start a process: ${REASON}`;
    expect(eventsOf(stdout).at(-1)).toEqual({ type: 'error', code: 'ERR_SYSTEM', message });
    expect(eventsOf(stdout).map(({ type }) => type)).not.toContain('throughput');
    expect(eventsOf(stdout).map(({ type }) => type)).not.toContain('roundTrip');
    expect({ status, stderr }).toEqual({ status: 1, stderr: `${message} (ERR_SYSTEM)\n` });
  });
});

test.each([0, 1])('crossings-prove fails if it cannot start both processes, with %i forks', (forks) => {
  const { status, stdout, stderr } = runWith(forks, 'crossings-prove', ['--proof', 'c-ring', '--messages', 1000]);
  const message = `c-ring: starting a process: ${REASON}`;
  expect(eventsOf(stdout).at(-1)).toEqual({ type: 'error', code: 'ERR_PROOF_FAILED', message });
  expect({ status, stderr }).toEqual({ status: 1, stderr: `${message} (ERR_PROOF_FAILED)\n` });
});

test.each([
  [0, [], 'ERR_SYSTEM', `cannot start a thread: ${REASON}`],
  [1, ['getpid'], 'ERR_FILTER_REFUSED', REASON],
])(
  'in Node, a proof fails if one of its threads cannot be started, with %i of them',
  (threads, counted, code, message) => {
    const script = `const filter = require(process.argv[1]);
    process.env.FORKS = '${threads}'; // not before: Node starts threads of its own
    try { filter.enter(1, ${JSON.stringify(counted)}, 1000); }
    catch ({ code, message }) { console.log(JSON.stringify({ code, message })); }`;
    const env = { ...process.env, LD_PRELOAD: library };
    const args = ['-e', script, built('crossings-filter.node')];
    const { stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    expect(eventsOf(stdout)).toEqual([{ code, message }]);
  },
);

test.each([
  ['to own the memory', 0],
  ['to store into it', 1],
  ['to store into the unsealed memory', 3],
])('crossings-gates fails if it cannot start a process %s', (_, forks) => {
  const { status, stderr } = runWith(forks, 'crossings-gates', []);
  expect({ status, stderr }).toEqual({ status: 1, stderr: `Cannot try the gates: ${REASON}.\n` });
});

test.each([
  ['start', 'pipe', 0],
  ['begin', 'uds', 1], // the process that removes the name of the socket
])('crossings-demo fails if it cannot %s the demo of %s', (verb, mechanism, forks) => {
  const { status, stderr } = runWith(forks, 'crossings-demo', [mechanism]);
  expect({ status, stderr }).toEqual({ status: 1, stderr: `Cannot ${verb} the demo: ${REASON}\n` });
});

test.each([
  ['--probe', 0],
  ['--probe', 1], // of its two methods, each with a process of its own
  ['true', 0],
])('crossings-count %s fails if it cannot start a process, with %i forks, and kills no other', (argument, forks) => {
  const { status, stderr } = runWith(forks, 'crossings-count', [argument]);
  expect({ status, stderr }).toEqual({ status: 1, stderr: `Cannot start the command: ${REASON}\n` });
});

test.each([
  ['its guard', 0, []],
  ['its parent', 1, ['--no-namespaces']],
  ['the program', 2, ['--no-namespaces']],
  ['the program', 1, []],
])('crossings-lessons --confine fails if it cannot start %s, with %i forks and %j', (_, forks, options) => {
  const args = ['--confine', ...options, '--', '01-kernel/calls'];
  const { status, stdout, stderr } = runWith(forks, 'crossings-lessons', args);
  const message = `Cannot confine the program: ${forks === 0 ? '' : 'starting a process: '}${REASON}`;
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: `${message}.\n`,
  });
});

test('crossings-sweep fails if it cannot start a process or a thread', () => {
  for (const [mode, forks] of /** @type {const} */ ([
    ['process', 0],
    ['process', 1],
    ['thread', 0],
    ['thread', 1],
  ])) {
    const { status, stderr } = runWith(forks, 'crossings-sweep', ['--total', 262144, `pipe:${mode}:default:4096`]);
    expect({ mode, forks, status, stderr }).toEqual({
      mode,
      forks,
      status: 1,
      stderr: expect.stringContaining(REASON),
    });
  }
});

describe('where a filter refuses kill(),', () => {
  /** @param {string} program @param {(string | number)[]} args @param {object} [variables] */
  function runUnkillable(program, args, variables) {
    const env = { ...process.env, LD_PRELOAD: library, NO_KILL: '1', ...variables };
    const options = { env, encoding: /** @type {const} */ ('utf8'), timeout: 60_000 };
    const { status, stdout, stderr } = spawnSync(built(program), args.map(String), options);
    return { status, stderr, events: eventsOf(stdout) };
  }

  test('a control whose other process waits for ever ends, and says how', () => {
    const { status, stderr, events } = runUnkillable('crossings-prove', [
      '--proof',
      'hidden-call-control',
      '--messages',
      1000,
    ]);
    const fates = events.at(-1).sides.map((/** @type {any} */ side) => side.fate);
    expect({ status, stderr, fates }).toEqual({ status: 0, stderr: '', fates: ['killed', 'stopped'] });
  });

  test('a measurement whose other process waits for ever fails', () => {
    const { status, events } = runUnkillable('crossings-bench', stream, { FORKS: '2' });
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'ERR_SYSTEM' });
    expect(status).toBe(1);
  });

  test('a measurement ends while processes spin beside it', () => {
    const { status, events } = runUnkillable('crossings-bench', [...stream, '--keep-awake']);
    expect([status, events.at(-1)]).toEqual([0, { type: 'end' }]);
  });

  test('a sweep that can start only one of its two processes fails', () => {
    const args = ['--total', 262144, 'pipe:process:default:4096'];
    const { status, stderr } = runUnkillable('crossings-sweep', args, { FORKS: '1' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(REASON) });
  });

  test('a confined program that hangs ends when its time is up', () => {
    const args = ['--confine', '--no-namespaces', '--limit-ms', 300, '09-spin-or-sleep/hang'];
    const { status, stderr } = runUnkillable('crossings-lessons', args);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('Cannot confine the program') });
  });

  test('a recording ends when its time is up, and the program with it', async () => {
    const args = [
      '--output',
      1,
      '--timeout',
      1,
      '--',
      process.execPath,
      '-e',
      'console.error(process.pid); setInterval(() => {}, 1000)',
    ];
    const { status, stderr, events } = runUnkillable('crossings-trace', args);
    expect([status, events.at(-1)]).toMatchObject([0, { type: 'end', why: 'timeout', signal: 9 }]);
    expect(Number(stderr)).toBeGreaterThan(0);
    await until(() => !isAlive(Number(stderr)));
  });

  test('a recording ends at its limit of threads', () => {
    const { status, events } = runUnkillable('crossings-trace', [
      '--output',
      1,
      '--tasks',
      2,
      '--',
      process.execPath,
      '-e',
      '',
    ]);
    expect([status, events.at(-1)]).toMatchObject([0, { type: 'end', why: 'limit' }]);
  });

  test('crossings-count says which methods are permitted', () => {
    expect(runUnkillable('crossings-count', ['--probe'])).toMatchObject({ status: 0, events: [{ type: 'methods' }] });
  });
});
