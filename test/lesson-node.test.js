'use strict';
// Lesson 11: its programs are recorded, its figures are counted from the recording, and its calls have their lines.
const { spawnSync } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { findLesson } = require('../lib/lessons/folders.js');
const { presentRun, runLesson } = require('../lib/lessons/lesson.js');
const { troubleOf } = require('../lib/lessons/shown.js');
const { root, run } = require('./support.js');

const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const describeWhereAllowed = allowed ? describe : describe.skip;

describeWhereAllowed('lesson 11', () => {
  const lesson = findLesson('11');
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('crossings-lesson-'));
  /** @typedef {ReturnType<typeof presentRun>} Shown */
  /** @type {Shown} */ let shown;
  beforeAll(async () => {
    process.env.FORCE_COLOR = '1'; // as CI services and runners of tasks set it: Node then colors numbers, also in a pipe
    shown = presentRun(lesson, await runLesson(lesson, null), 'here');
  });
  /** @param {Shown} from @param {string} name @param {RegExp} call */
  const lineOf = ({ moments }, name, call) => {
    const calls = moments.find((moment) => moment.name === name)?.calls ?? [];
    const source = calls.find((one) => call.test(`${one.name}(${one.args})`))?.source;
    if (!source) return source;
    return readFileSync(join(root, source.file), 'utf8')
      .split('\n')
      [source.line - 1].replace(/.*\/\/ /, '');
  };

  test('counts the system calls of each way, and one answer is right', () => {
    expect(shown.trouble).toBeNull();
    const { fork, unix, tcp, express, crossings } = shown.figures;
    for (const { value } of [fork, unix, tcp, express]) expect(value).toBeGreaterThanOrEqual(4); // two writes, two reads
    expect(crossings.unit).toBe('calls');
    expect(shown.right).not.toBeNull();
    expect(shown.why).not.toMatch(/[{}]/);
  });

  test('shows the calls of one message beside their lines', () => {
    expect(shown.moments.map(({ name }) => name)).toEqual(['fork', 'unix', 'tcp', 'express', 'crossings']);
    expect(lineOf(shown, 'fork', /^write\(.*number/)).toBe("the parent's message");
    expect(lineOf(shown, 'unix', /^write\(.*number/)).toBe("the client's message");
    expect(lineOf(shown, 'tcp', /^write\(.*number/)).toBe("the client's message");
    expect(lineOf(shown, 'express', /^writev\(.*200 OK/)).toBe("the route's answer");
  });

  test('records a route that starts a C server, which says that it is ready before the route connects', async () => {
    const which = (lesson.try ?? []).findIndex(({ program }) => program === 'route.js');
    const route = presentRun(lesson, await runLesson(lesson, which), 'here');
    expect(route.trouble).toBeNull();
    expect(route.figures.route.value).toBeGreaterThan(10);
    expect(route.note).not.toMatch(/[{}]/);
    expect(route.output).toContain('The C server answered {"number":1}');
  });

  test('leaves no folder behind', async () => {
    const before = folders();
    const controller = new AbortController();
    const running = runLesson(lesson, null, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(folders().filter((name) => !before.includes(name))).toEqual([]);
  });
});

// Such as where TMPDIR has no inodes left. The program ended with 0, and then the text was blamed, which found no figures.
test('the program of lesson 11 fails if a server cannot listen, and the lesson says the error', () => {
  const program = join(root, 'c-bench', 'lessons', '11-node', 'messages.js');
  const options = { cwd: '/proc', encoding: /** @type {const} */ ('utf8') }; // where nobody can make a socket
  const { status, stderr } = spawnSync(process.execPath, [program, '--count', '1'], options);
  expect(status).toBe(1);
  const lines = stderr.split('\n').map((line) => ({ stream: /** @type {const} */ ('stderr'), line }));
  const outcome = /** @type {any} */ ({ how: 'exited', status, lines, figures: {} });
  const ended = /** @type {any} */ ({ try: null, outcome });
  expect(troubleOf(findLesson('11'), ended)).toMatch(/^Error: listen E[A-Z]+: .* socket-\d+$/);
});
