'use strict';
// The framework of the lessons: programs are confined, their figures are read, and every folder is complete and consistent.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { runConfined, sentencesOf } = require('../lib/lessons/confined.js');
const { findExperiment } = require('../lib/lessons/experiment.js');
const { figuresIn } = require('../lib/lessons/figures.js');
const { listLessons, listPitfalls, problemsOf, readAll } = require('../lib/lessons/folders.js');
const { describeLesson, runLesson } = require('../lib/lessons/lesson.js');
const { accepts, conditionsIn, figuresUsed, fill, rightAnswer } = require('../lib/lessons/outcomes.js');
const { explainTerms, readGlossary, sectionsOf, toHtml } = require('../lib/lessons/text.js');
const { inCi, testInCi } = require('./in-ci.js');
const { compile } = require('./hostile/build.js');
const { built, eventsOf, isAlive, root, run, until } = require('./support.js');

const lessons = listLessons();
/** @param {string[]} command @param {string[]} [options] */
const confine = (command, options = []) =>
  eventsOf(run('crossings-lessons', ['--confine', ...options, '--exec', '--', ...command]).stdout);
/** @param {any[]} events @param {string} type */
const of = (events, type) => events.filter((event) => event.type === type);

// It was ignored: the program ran for as long as --timeout says.
test('a recording of a confined program has one limit of time', () => {
  const args = ['--confine', '--limit-ms', '2000', '--trace', '01-kernel/calls'];
  const { status, stdout, stderr } = run('crossings-lessons', args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toBe('--limit-ms and --trace cannot be used together: the limit of a recording is --timeout.\n');
});

// The namespaces have a /dev/shm of their own, which hid the folder.
test('a program is confined although TMPDIR is in /dev/shm', () => {
  const env = { ...process.env, TMPDIR: '/dev/shm' };
  const { stdout } = spawnSync(built('crossings-lessons'), ['--confine', '--exec', 'true'], { env, encoding: 'utf8' });
  expect(of(eventsOf(stdout), 'ended')).toMatchObject([{ how: 'exited', status: 0 }]);
});

// It read its pipe to the end, which came when the last process closed it that had it.
const canSend = spawnSync('python3', ['-c', 'import socket; socket.send_fds']).status === 0;
(canSend ? test : test.skip)(
  'a confined program whose output another process holds open ends all the same',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holder-'));
    const path = join(folder, 'socket');
    // Keeps the descriptor that a client sends, until its standard input ends.
    const hold = `
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1]); server.listen(); print('ready', flush=True)
kept = socket.recv_fds(server.accept()[0], 1, 1)
sys.stdin.read()`;
    const program = `
import socket, sys
holder = socket.socket(socket.AF_UNIX)
holder.connect(sys.argv[1])
socket.send_fds(holder, [b'x'], [1])
print('over')`;
    const holder = spawn('python3', ['-c', hold, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(holder.stdout, 'data');
      const args = ['--confine', '--no-namespaces', '--exec', '--', 'python3', '-c', program, path];
      const { status, stdout } = spawnSync(built('crossings-lessons'), args, { encoding: 'utf8', timeout: 30_000 });
      expect({ status, lines: of(eventsOf(stdout), 'output') }).toEqual({
        status: 0,
        lines: [expect.objectContaining({ stream: 'stdout', line: 'over' })],
      });
      expect(of(eventsOf(stdout), 'ended')).toEqual([expect.objectContaining({ how: 'exited', status: 0 })]);
      expect(holder.exitCode).toBe(null);
    } finally {
      holder.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  },
);

// Its guard was blocked in a write, and ended nothing.
test.each([
  ['its time is over', null, [1, null], 'Nobody read the output in time: the rest of it is lost.\n'],
  ['it is asked to end', 'SIGTERM', [null, 'SIGTERM'], ''],
])('a confined program whose output nobody reads ends when %s', async (_, signal, end, said) => {
  const limit = ['--limit-ms', signal ? '600000' : '500'];
  const script = 'echo $$; while :; do echo 0123456789012345678901234567890123456789; done';
  const args = ['--confine', '--no-namespaces', ...limit, '--exec', 'sh', '-c', script];
  const child = spawn(built('crossings-lessons'), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (part) => {
    errors += part;
  });
  let first = '';
  while (!/"line":"\d+"/.test(first)) {
    await once(child.stdout, 'readable');
    first += child.stdout.read() ?? '';
  }
  const pid = Number(/"line":"(\d+)"/.exec(first)?.[1]);
  const ended = once(child, 'exit');
  if (signal) child.kill(/** @type {NodeJS.Signals} */ (signal));
  expect(await ended).toEqual(end);
  await until(() => !isAlive(pid));
  if (said) expect(errors).toBe(said);
  child.stdout.destroy();
});

// /proc shows such a process as a zombie, and its guard looked for it in vain.
test('a process that is left without its first thread ends with its confinement', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ended-leader-'));
  try {
    const program = compile(join(folder, 'ended-leader'), ['test/ended-leader.c'], ['-O1']);
    const events = confine([program], ['--no-namespaces']);
    expect(of(events, 'ended')).toMatchObject([{ how: 'exited', status: 0, left: 1 }]);
    const pid = Number(of(events, 'output')[0].line);
    expect(isAlive(pid)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('--exec without --confine is refused', () => {
  const refused = { status: 2, stdout: '', stderr: '--exec runs a confined program only: add --confine.\n' };
  expect(run('crossings-lessons', ['--exec', 'true'])).toMatchObject(refused);
});

describe.each([
  ['in namespaces', []],
  ['without namespaces', ['--no-namespaces']],
])('a confined program, %s', (_, plain) => {
  test('is ended when its time is up, with all that it started, and what they did is reported', () => {
    const script = 'echo begun; setsid sleep 600 & cat /dev/zero | sleep 600';
    const events = confine(['sh', '-c', script], ['--limit-ms', '700', ...plain]);
    expect(of(events, 'output')).toMatchObject([{ line: 'begun' }]);
    expect(of(events, 'ended')).toMatchObject([{ how: 'limit' }]);
    const doing = of(events, 'process');
    expect(doing).toContainEqual(expect.objectContaining({ state: 'sleeps', call: 'write', descriptor: 1 }));
    expect(sentencesOf(doing).join(' ')).toMatch(
      /Process \d+ \(cat\) sleeps in write\(\) on descriptor 1 \(a pipe\)\./,
    );
  });

  test('has its exit status or signal reported, and what it left behind counted and ended', () => {
    const [left] = of(confine(['sh', '-c', 'sleep 600 & exit 3'], plain), 'ended');
    expect(left).toMatchObject({ how: 'exited', status: 3, left: 1 });
    const orphans = 'for i in 1 2 3; do (true &); done; sleep 0.05';
    expect(of(confine(['sh', '-c', orphans], plain), 'ended')).toMatchObject([{ how: 'exited', status: 0, left: 0 }]);
    const [killed] = of(confine(['sh', '-c', 'kill -PIPE $$'], plain), 'ended');
    expect(killed).toMatchObject({ how: 'signal', signal: 'SIGPIPE', left: 0 });
  });

  test('has an empty folder that is removed', () => {
    const [folder] = of(confine(['sh', '-c', 'ls -A; pwd; touch a'], plain), 'output').map(({ line }) => line);
    expect(folder).toMatch(/crossings-lesson-/);
    expect(existsSync(folder)).toBe(false);
  });

  test('has what it created in /dev/shm removed, also if it is killed', () => {
    // A child of it kills itself while the memory has a name.
    const program = ['--confine', ...plain, '--', 'stale-shared-memory/wrong'];
    const { stdout } = spawnSync(built('crossings-lessons'), program, { encoding: 'utf8' });
    expect(of(eventsOf(stdout), 'ended')[0]).toMatchObject({ how: 'exited', left: 0 });
    expect(readdirSync('/dev/shm').filter((name) => name.includes('stale-shared-memory'))).toEqual([]);
  });

  test('leaves the files of others in /dev/shm, whatever their names', () => {
    const others = [1, 2, 3].map((number) => `/dev/shm/crossings-other-${number}-${process.pid}.tmp`);
    for (const file of others) writeFileSync(file, '');
    confine(['true'], plain);
    expect(others.filter((file) => !existsSync(file))).toEqual([]);
    for (const file of others) rmSync(file);
  });

  test('inherits no descriptors', () => {
    const script = 'exec 5</dev/null 6>&1 77</dev/null 300</dev/null; exec "$@"';
    const confined = [built('crossings-lessons'), '--confine', ...plain, '--exec', '--', 'ls', '/proc/self/fd'];
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', ...confined], { encoding: 'utf8' });
    expect(of(eventsOf(stdout), 'output').map(({ line }) => line)).toEqual(['0', '1', '2', '3']); // 3: of ls
  });

  test('cannot fill the memory of the machine, nor that of its reader', () => {
    const [ended] = of(confine(['sh', '-c', 'ulimit -v; yes'], ['--limit-ms', '500', ...plain]), 'ended');
    expect(ended).toMatchObject({ how: 'limit', truncated: 1 });
    const big = 'try { Buffer.alloc(2e9, 1); } catch (error) { console.log(error.name); }';
    const events = confine([process.execPath, '-e', big], ['--memory-mb', '512', ...plain]);
    expect(
      of(events, 'output')
        .map(({ line }) => line)
        .join(),
    ).toMatch(/Error|memory/);
  });
});

// Its parent took the stop for its end, and killed it.
test('a program that makes its parent its tracer and stops goes on until its limit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'crossings-traced-'));
  const program = compile(join(folder, 'traced-by-parent'), ['test/traced-by-parent.c'], ['-O1']);
  const [ended] = of(confine([program], ['--limit-ms', '300']), 'ended');
  rmSync(folder, { recursive: true });
  expect(ended).toMatchObject({ how: 'limit', limit: 'time' });
});

// The guard looked for them again and again, and was late itself: among their zombies, it counted for seconds.
test('a program whose processes replace themselves is ended, also without namespaces', () => {
  const folder = mkdtempSync(join(tmpdir(), 'crossings-hops-'));
  const hops = compile(join(folder, 'hops'), ['test/hops.c'], ['-O1']);
  const events = confine([hops, '60'], ['--limit-ms', '500', '--no-namespaces']);
  rmSync(folder, { recursive: true });
  expect(of(events, 'output')).toEqual([]);
  expect(of(events, 'ended')).toEqual([expect.objectContaining({ how: 'limit', limit: 'time' })]);
});

test.each([
  ['in namespaces, by the kernel or by its guard', []],
  ['without namespaces, by its guard or by the limit of its user', ['--no-namespaces']],
])('a program that starts processes without end is stopped, %s', (_, plain) => {
  const script = 'i=0; while [ $i -lt 5000 ]; do sleep 600 & i=$((i + 1)); done; echo all; wait';
  const events = confine(['sh', '-c', script], plain);
  expect(of(events, 'output').map(({ line }) => line)).not.toContain('all');
  const [ended] = of(events, 'ended');
  if (ended.how === 'limit') expect(ended.limit).toBe('processes');
  else expect(of(events, 'output').map(({ line }) => line)).toContainEqual(expect.stringMatching(/fork/));
});

test('a program has no rights of root, so that it cannot undo its namespaces', () => {
  const events = confine(['sh', '-c', 'umount /dev/shm || echo refused; grep CapEff /proc/self/status']);
  const [first, second] = of(events, 'output').filter(({ stream }) => stream === 'stdout');
  expect(first.line).toBe('refused');
  const reads = 4; // CAP_DAC_READ_SEARCH
  expect(Number.parseInt(second.line.split('\t')[1], 16) & ~reads).toBe(0);
});

test('a run that is aborted leaves no process and no folder behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lessons-'));
  writeFileSync(join(folder, 'sleeps.js'), 'console.log(process.cwd()); setInterval(() => {}, 1000);');
  const controller = new AbortController();
  let current = '';
  const onLine = (/** @type {{line: string}} */ { line }) => {
    current = line;
    controller.abort(new Error('enough'));
  };
  const run = runConfined({ folder, program: 'sleeps.js' }, { signal: controller.signal, onLine });
  await expect(run).rejects.toThrow('enough');
  expect(current).toMatch(/crossings-lesson-/);
  expect(existsSync(current)).toBe(false);
  rmSync(folder, { recursive: true });
});

test('neither a reader that ends nor a killed supervisor leaves a folder behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lessons-'));
  const program = join(root, 'build', 'Release', 'crossings-lessons');
  for (const kills of [false, true]) {
    const child = spawn(program, ['--confine', '--exec', 'yes'], { env: { ...process.env, TMPDIR: folder } });
    await once(child.stdout, 'data');
    expect(readdirSync(folder)).toHaveLength(1);
    child.stdout.destroy();
    if (kills) child.kill('SIGKILL');
    await until(() => readdirSync(folder).length === 0);
  }
  rmSync(folder, { recursive: true });
});

test('figures are lines of their own', () => {
  expect(figuresIn(['tornPercent = 98.2 %', 'apart8 = 330 ms', 'The answer = 3 ms', 'count = -2'])).toEqual({
    tornPercent: { value: 98.2, unit: '%' },
    apart8: { value: 330, unit: 'ms' },
    count: { value: -2, unit: '' },
  });
});

test('a text shows the figures of a run, and the sentences whose condition holds', () => {
  const figures = figuresIn(['a = 3.14159 ns', 'b = 2 ns', 'n = 1001 calls']);
  const text = '{{a}} {{a|2}}{{#if a below 3}} small{{/if}}{{#if a than b atLeast 1.5 below 2}} between{{/if}}';
  expect(fill(text, figures)).toBe('3.14 3.1 between');
  expect(fill('{{b}} {{b|2}} {{n}} {{n|2}}', figures)).toBe('2 2 1,001 1,000'); // counts are whole
  expect(figuresUsed(text)).toEqual(['a', 'b']);
  expect(() => fill('{{c}}', figures)).toThrow('The text uses an unknown figure "c". Figures of this run: a, b, n.');
});

test('a folder that is invalid is left out with a sentence, and the others are listed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lessons-'));
  cpSync(lessons[0].folder, join(folder, '01-good'), { recursive: true });
  for (const [name, text] of [
    ['02-broken', '{'],
    ['03-incomplete', '{"title": "What is missing?"}'],
  ]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'lesson.json'), text);
  }
  const { valid, problems } = readAll('lesson', folder);
  rmSync(folder, { recursive: true });
  expect(valid.map(({ name }) => name)).toEqual(['01-good']);
  expect(problems).toEqual([
    expect.stringMatching(/02-broken\/lesson\.json is not valid JSON: .*\.$/),
    expect.stringMatching(/03-incomplete\/lesson\.json is invalid: .*\.$/),
  ]);
});

test('every folder of the package is valid', () => {
  expect([...problemsOf('lesson'), ...problemsOf('pitfall')]).toEqual([]);
});

test('a lesson lists the pitfalls that name it, and no others', () => {
  const pitfalls = listPitfalls();
  const numbers = lessons.map(({ name }) => name.slice(0, 2));
  for (const { name, pitfalls: listed = [] } of lessons) {
    const own = pitfalls.filter(({ lesson }) => lesson === name).map((pitfall) => pitfall.name);
    expect({ name, listed: [...listed].sort() }).toEqual({ name, listed: own.sort() });
  }
  const strangers = pitfalls.filter(
    ({ lesson }) => numbers.includes(lesson.slice(0, 2)) && !lessons.some(({ name }) => name === lesson),
  );
  expect(strangers.map(({ name, lesson }) => `${name}: ${lesson}`)).toEqual([]);
});

/** Values at, beside and between all limits. @param {import('../lib/lessons/folders.js').Condition[]} conditions */
function values(conditions) {
  const limits = conditions
    .flatMap(({ below, atLeast, equals }) => [below, atLeast, equals])
    .filter((x) => x !== undefined);
  const whole = conditions.some(({ equals }) => equals !== undefined);
  const beside = limits.flatMap((x) => (whole ? [x - 1, x, x + 1] : [x * (1 - 1e-9), x, x * (1 + 1e-9)]));
  return [0, ...beside, 1e12].filter((x) => x >= 0);
}

// It was put into a regular expression as it was.
test('a term may have any characters', () => {
  const left = new Set(['C++', 'a.b (c)']);
  expect(explainTerms('<p>Written in C++, a.b (c) and aXb</p>', left).match(/class="term"/g)).toHaveLength(2);
  expect([...left]).toEqual([]);
});

test('a lesson whose experiment does not exist is refused with the names of those that do', () => {
  expect(() => findExperiment('bill')).not.toThrow();
  expect(() => findExperiment('tax')).toThrow('The experiment of a lesson must be one of bill; got "tax".');
});

describe.each(lessons.map((lesson) => /** @type {const} */ ([lesson.name, lesson])))('the lesson %s', (_, lesson) => {
  test('has exactly one right answer, whatever is measured', () => {
    const conditions = lesson.question.answers.map(({ right }) => right);
    expect(new Set(conditions.map(({ figure, than }) => `${figure}/${than}`)).size).toBe(1);
    for (const value of values(conditions)) {
      const right = conditions.filter((condition) => accepts(condition, value));
      expect({ value, right: right.length }).toEqual({ value, right: 1 });
    }
  });

  test('says something for every outcome', () => {
    const texts = [lesson.text, ...(lesson.try ?? []).map(({ note }) => note ?? '')];
    for (const text of texts) {
      const all = conditionsIn(text);
      for (const { figure, than } of all) {
        const conditions = all.filter((other) => other.figure === figure && other.than === than);
        for (const value of values(conditions)) {
          const shown = conditions.filter((condition) => accepts(condition, value)).length;
          expect({ value, conditions, isShown: shown > 0 }).toEqual({ value, conditions, isShown: true });
        }
      }
    }
  });

  // Lesson 3 keeps both cores busy for ten seconds.
  const testThis = lesson.name.startsWith('03') ? testInCi : test;
  testThis('runs, and every figure that its texts use is in the output', async () => {
    if (lesson.run.kind === 'record') return; // test/lesson-record.test.js
    const { text, question, see, try: tries = [], run } = lesson;
    const first = await runLesson(lesson, null);
    expect(rightAnswer(question.answers, first.outcome.figures)).not.toBeNull();
    fill(text, first.outcome.figures); // throws if one is missing
    const seen = new Set(Object.keys(first.outcome.figures));
    if (!inCi) return; // its variations take most of the time
    for (const [i, { label, program, hangs, note = '' }] of tries.entries()) {
      // Another choice of an experiment gives the same figures, and takes long.
      const { outcome } = run.kind === 'experiment' && !program ? first : await runLesson(lesson, i);
      const { how, status, left, figures } = outcome;
      const ended = hangs ? {} : { how: 'exited', status: expect.any(Number) };
      expect({ label, how, status, left }).toMatchObject({ label, left: 0, ...ended });
      fill(note, figures);
      for (const name of Object.keys(figures)) seen.add(name);
    }
    expect([...seen]).toEqual(expect.arrayContaining(see?.figures ?? []));
  });

  test('names lines of its programs that exist', () => {
    expect(() => describeLesson(lesson)).not.toThrow();
  });

  test('explains its terms where they first appear', () => {
    const glossary = readGlossary();
    expect((lesson.terms ?? []).filter((term) => !glossary.has(term.toLowerCase()))).toEqual([]);
    const notes = (lesson.try ?? []).map(({ note = '' }) => note);
    const left = new Set(lesson.terms);
    explainTerms(
      [...Object.values({ ...sectionsOf(lesson.text), worksheet: '' }), ...notes].map(toHtml).join('\n'),
      left,
    );
    expect([...left]).toEqual([]);
  });
});
