'use strict';
// Each pitfall goes wrong as it promises, and its right program does not: in namespaces, without them, and on one core. Nothing
// is left behind.
const { spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { nameOf } = require('../lib/lessons/confined.js');
const { compareLines, groupDifferences } = require('../lib/lessons/differences.js');
const { listPitfalls } = require('../lib/lessons/folders.js');
const { ownCalls } = require('../lib/lessons/own-calls.js');
const { shippedRun, sourcesOf } = require('../lib/lessons/pitfalls.js');
const { inCi, testInCi } = require('./in-ci.js');
const { built, cli, eventsOf, until } = require('./support.js');
const { callOf, traceOf } = require('./tools/recordings.js');

/** @typedef {import('../lib/lessons/folders.js').Pitfall} Pitfall */

const pitfalls = listPitfalls();
const named = pitfalls.map((pitfall) => /** @type {const} */ ([pitfall.name, pitfall]));
const folder = mkdtempSync(join(tmpdir(), 'pitfalls-'));
afterAll(() => rmSync(folder, { recursive: true }));

// What these show depends on who runs when. On a busy machine one attempt may not show it.
const DEPENDS_ON_TIME = ['interleaved-writes', 'lost-updates', 'semaphore-per-message', 'small-writes-wait'];
// These compare two times, and on a machine that is busy with other tests either program may give either answer. So the test
// looks at what their memory looks like, and not at the times. If the machine is too busy for that as well, they say so and exit with 3.
const COMPARES_TIMES = ['false-sharing'];
const AT_ONCE = 6; // they wait most of the time
const ONE_CORE = 'Only one core is available';

/** @param {string[]} wrapper @param {string[]} options @param {Pitfall} pitfall @param {'wrong' | 'right'} which @returns {Promise<any[]>} */
function confine(wrapper, options, { folder: own, ...pitfall }, which) {
  const { program, args = [], limitSeconds = 20 } = pitfall[which];
  const named = program.endsWith('.js')
    ? ['--exec', '--', process.execPath, join(own, program)]
    : ['--', nameOf(own, program)];
  const limit = ['--limit-ms', String(1000 * limitSeconds)];
  const command = [...wrapper, built('crossings-lessons'), '--confine', ...limit, ...options, ...named, ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), { env: { ...process.env, TMPDIR: folder } });
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
    });
    child.on('error', reject);
    child.on('close', () => resolve(eventsOf(text)));
  });
}

/** What was observed, briefly. @param {any[]} events */
function summarize(events) {
  const { how, status, signal, left } = events.find(({ type }) => type === 'ended') ?? { how: 'no end' };
  return {
    end: how === 'limit' ? 'hang' : how === 'signal' ? signal : `${how} ${status}`,
    left,
    lines: events.filter(({ type }) => type === 'output').map(({ line }) => line),
    processes: events.filter(({ type }) => type === 'process'),
  };
}

/** The counters of the wrong program share a cache line, and those of the right one do not. @param {any} wrong @param {any} right */
function checkDistances(wrong, right) {
  const distanceOf = (/** @type {string[]} */ lines) => Number(/distance = (\d+) bytes/.exec(lines.join('\n'))?.[1]);
  const isTooBusy = (/** @type {any} */ { end, lines }) => end === 'exited 3' && /too busy$/.test(lines.at(-1));
  const measured = [wrong, right].filter((one) => !isTooBusy(one));
  if (measured.includes(wrong)) expect(distanceOf(wrong.lines)).toBeLessThan(64);
  if (measured.includes(right)) expect(distanceOf(right.lines)).toBeGreaterThanOrEqual(64);
  for (const { end, left, processes, lines } of measured) {
    expect([end, left, processes.length]).toEqual([expect.stringMatching(/^exited [01]$/), 0, 0]);
    expect(lines.some((/** @type {string} */ line) => line.endsWith('.'))).toBe(true);
  }
}

const promised = (/** @type {Pitfall} */ { wrong: { fails } }) => (fails === 'exit' ? 'exited 1' : fails);

/** Runs every program of these pitfalls. @param {Pitfall[]} chosen @param {string[]} wrapper @param {string[]} options */
async function runAll(chosen, wrapper, options) {
  /** @type {Map<string, {wrong: ReturnType<typeof summarize>, right: ReturnType<typeof summarize>}>} */
  const observed = new Map();
  const one = async (/** @type {Pitfall} */ pitfall) => {
    let [wrong, right] = [summarize([]), summarize([])];
    const compares = COMPARES_TIMES.includes(pitfall.name);
    const isShown = (/** @type {string} */ end, /** @type {string} */ wanted) =>
      compares ? /^exited [01]$/.test(end) : end === wanted;
    for (let attempts = DEPENDS_ON_TIME.includes(pitfall.name) ? 15 : compares ? 3 : 1; attempts > 0; attempts--) {
      if (!isShown(wrong.end, promised(pitfall))) wrong = summarize(await confine(wrapper, options, pitfall, 'wrong'));
      if (!isShown(right.end, 'exited 0')) right = summarize(await confine(wrapper, options, pitfall, 'right'));
      observed.set(pitfall.name, { wrong, right });
      if (isShown(wrong.end, promised(pitfall)) && isShown(right.end, 'exited 0')) return;
      if (wrong.lines.join().includes(ONE_CORE)) return;
    }
  };
  const waiting = [...chosen];
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await one(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return observed;
}

// Elsewhere than in CI, the second and the third have one that exits, one that hangs and one that needs two cores.
const few = ['end-of-file-never-comes', 'false-sharing', 'sigpipe'];

describe.each([
  ['in namespaces', [], [], pitfalls.map(({ name }) => name)],
  ['without namespaces', [], ['--no-namespaces'], few],
  ['on one core', ['taskset', '-c', '0'], [], few],
])('%s', (_, wrapper, options, chosen) => {
  const isChosen = (/** @type {Pitfall} */ { name }) => inCi || chosen.includes(name);
  /** @type {Awaited<ReturnType<typeof runAll>>} */
  let observed;
  beforeAll(async () => {
    observed = await runAll(pitfalls.filter(isChosen), wrapper, options);
  });

  /** @param {Pitfall} pitfall */
  function check(pitfall) {
    const { name } = pitfall;
    const { wrong, right } = observed.get(name) ?? { wrong: null, right: null };
    const oneCore = wrapper.length > 0 && wrong?.lines.join().includes(ONE_CORE);
    if (COMPARES_TIMES.includes(name) && !oneCore) return checkDistances(wrong, right);
    expect(wrong).toMatchObject({ end: oneCore ? 'exited 0' : promised(pitfall), left: 0 });
    expect(right).toMatchObject({ end: 'exited 0', left: 0, processes: [] });
    // What went wrong is in a sentence, or in what the processes did when their time was up.
    expect(wrong?.lines.some((line) => line.endsWith('.'))).toBe(true);
    if (pitfall.wrong.fails !== 'hang') return;
    expect(wrong?.processes.length).toBeGreaterThan(0);
    for (const { state, call } of wrong?.processes ?? []) {
      expect([state, call === null]).toEqual(name === 'plain-flag' ? ['runs', true] : ['sleeps', false]);
    }
  }
  for (const pitfall of pitfalls) {
    const testThis = isChosen(pitfall) ? test : testInCi;
    testThis(`${pitfall.name} fails as promised, and its right program does not`, () => check(pitfall));
  }

  test('nothing is left', async () => {
    expect(readdirSync(folder)).toEqual([]);
    const names = pitfalls.map(({ name }) => name);
    // Another run on this machine may have files there for a moment; what is left by this one would stay.
    await until(() => !readdirSync('/dev/shm').some((file) => names.some((name) => file.includes(`${name}-`))));
  });
});

describe.each(named)('%s', (_, pitfall) => {
  const { wrong, right } = sourcesOf(pitfall);

  test('is short, and its programs differ in a few lines that say why', () => {
    for (const text of [wrong, right]) expect(text.split('\n').length).toBeLessThan(120);
    const changed = compareLines(wrong, right).filter(({ mark }) => mark !== ' ');
    expect(changed.length).toBeGreaterThan(0);
    expect(changed.length).toBeLessThanOrEqual(12);
    const added = changed.filter(({ mark }) => mark === '+').map(({ text }) => text);
    expect(added.join('\n')).toMatch(/\/\* [\s\S]+\*\/|\/\/ /);
  });

  test('is explained', () => {
    const headings = [...pitfall.text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['What goes wrong', 'Why', 'What to do']);
  });
});

describe('the run that ships', () => {
  test.each(named)('of %s shows it, with a recording or a sentence that says why there is none', (_, pitfall) => {
    const run = shippedRun(pitfall);
    expect(run?.verdict).toBe('shown');
    if (pitfall.wrong.notRecorded) expect(run?.notRecorded).toBe(pitfall.wrong.notRecorded);
    else expect(run?.recording?.events.length).toBeGreaterThan(0);
    // The event that is shown first is the one that the pitfall names.
    const { moment } = pitfall.wrong.recorded ?? {};
    const event = run?.recording?.events[run.event ?? 0];
    if (moment) expect(event?.name).toBe(moment.call);
    if (moment?.fails) expect(event?.result).toMatch(/^-1 E/);
    if (moment?.sleeps) expect(event?.sleeps).toBeGreaterThan(0);
  });

  test('all of them together are small', () => {
    const sizes = pitfalls.map(({ folder: own }) => statSync(join(own, 'shipped.json')).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(900_000);
  });
});

test('of a recording of Node, the calls of its own lines are kept, and those in which it waited', () => {
  const source = { file: 'app.js', line: 5 };
  const call = (/** @type {string} */ name, /** @type {object} */ fields = {}) =>
    callOf({ t: 0, end: 1, pid: 7, tid: 7, objects: [], name, ...fields });
  const events = [
    call('mmap'),
    call('epoll_wait', { result: '1' }), // Node starts
    call('socket', { source, objects: [2] }),
    call('futex', { tid: 8 }),
    call('epoll_wait', { result: '0' }), // nothing to wait for
    call('epoll_wait', { sleeps: 1, wokenBy: 3 }),
    call('read', { source, objects: [2], wokenBy: 2 }),
    call('exit_group'),
  ];
  const thread = (/** @type {number} */ tid) => ({ tid, name: 'node', start: 0, end: 1 });
  const trace = traceOf({
    events,
    notes: [],
    processes: [{ pid: 7, threads: [thread(7), thread(8)] }],
    objects: [{ id: 1 }, { id: 2 }],
    descriptors: [{ object: 1 }, { object: 2 }],
  });
  const own = ownCalls(trace);
  expect(own?.events.map(({ name, wokenBy }) => [name, wokenBy])).toEqual([
    ['socket', null],
    ['epoll_wait', null],
    ['read', 0],
  ]);
  expect(own?.notes).toEqual([
    expect.stringMatching(/^Node made 8 system calls\. These are the 3 that belong to a line/),
  ]);
  expect([own?.objects, own?.descriptors, own?.processes[0].threads]).toEqual([
    [{ id: 2 }],
    [{ object: 2 }],
    [thread(7)],
  ]);
  expect(ownCalls({ ...trace, events: [call('mmap')] })).toBeNull();
});

// test/compilers.test.js compiles them with others.
testInCi('each C program compiles alone, without a warning', () => {
  const files = pitfalls.flatMap(({ folder: own, programs }) => programs.map((program) => join(own, program)));
  const sources = files.filter((file) => file.endsWith('.c'));
  const flags = ['-O2', '-pthread', '-Wall', '-Wextra', '-Werror'];
  const { status, stderr } = spawnSync('cc', [...flags, '-S', ...sources], { cwd: folder, encoding: 'utf8' });
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('lines that differ are found, with lines around them', () => {
  const lines = compareLines('a\nb\nc\nd\ne\nf\n', 'a\nB\nc\nd\ne\nf\ng\n');
  const [first, last] = groupDifferences(lines, 1);
  expect(first.map(({ mark, text }) => mark + text)).toEqual([' a', '-b', '+B', ' c']);
  expect(last).toEqual([
    { mark: ' ', text: 'f', wrong: 6, right: 6 },
    { mark: '+', text: 'g', wrong: null, right: 7 },
  ]);
});

describe('crossings pitfall', () => {
  const path = join(folder, 'file.json');
  afterEach(() => rmSync(path, { force: true }));
  /** @param {string} schema */
  function readValid(schema) {
    const validate = new Ajv({ strict: false }).compile(require(`../lib/lessons/${schema}.schema.json`));
    const file = JSON.parse(readFileSync(path, 'utf8'));
    validate(file);
    expect(validate.errors ?? []).toEqual([]);
    return file;
  }

  test('NAME shows what was observed, the difference and why, and writes it', () => {
    const { status, stdout, stderr } = cli(['pitfall', 'end-of-file-never-comes', '--json', path]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/Process \d+ \(reader\) sleeps\s+in read\(\) on descriptor 3 \(a pipe\)/);
    expect(stdout).toMatch(/^\+ {5}close\(ends\[1\]\);/m);
    const file = readValid('pitfall-run');
    expect(file).toMatchObject({ verdict: 'shown', wrong: { failed: true, end: 'hang' }, right: { failed: false } });
  });

  test('--list lists every pitfall, and writes the list', () => {
    const { status, stdout } = cli(['pitfall', '--list', '--json', path]);
    expect(status).toBe(0);
    const file = readValid('pitfall-list');
    expect(file.pitfalls.map((/** @type {any} */ { name }) => name)).toEqual(pitfalls.map(({ name }) => name));
    for (const { name, title } of pitfalls) expect(stdout).toMatch(new RegExp(`^ *${name} +${title}$`, 'm'));
  });

  test('exits with 1 if the wrong program does not fail', () => {
    // On one core, false sharing cannot happen.
    const { status, stdout } = spawnSync(
      'taskset',
      ['-c', '0', process.execPath, 'server/cli.js', 'pitfall', 'false-sharing'],
      {
        cwd: join(__dirname, '..'),
        encoding: 'utf8',
      },
    );
    expect(status).toBe(1);
    expect(stdout).toContain('The wrong program did not fail here.');
  });

  test.each([
    [[], /The name of the pitfall is missing/],
    [['no-such-pitfall'], /The pitfall must be one of address-in-use, .*; got "no-such-pitfall"/],
    [['sigpipe', 'extra'], /Unexpected argument "extra"/],
    [['sigpipe', '--list'], /--list does not accept a name; got "sigpipe"/],
    [['sigpipe', '--json', '/no/such/folder/file.json'], /folder/],
  ])('%p is refused with one sentence', (args, sentence) => {
    const { status, stderr } = cli(['pitfall', ...args]);
    expect(status).toBe(2);
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
