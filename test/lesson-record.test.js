'use strict';
// Recorded lessons in C: the program is recorded while it is confined, and each call has its line.
const { findLesson, findPitfall } = require('../lib/lessons/folders.js');
const { presentRun, runLesson } = require('../lib/lessons/lesson.js');
const { runRecorded } = require('../lib/lessons/recorded.js');
const { run } = require('./support.js');

const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const testWhereAllowed = allowed ? test : test.skip;

testWhereAllowed('lesson 10 shows its calls beside their lines of C, and begins at the first attempt', async () => {
  const lesson = findLesson('10');
  const shown = presentRun(lesson, await runLesson(lesson, null), 'here');
  expect(shown).toMatchObject({ trouble: null, right: 0, figures: { refused: { value: 8 } }, notRecorded: null });
  expect(shown.confinement?.namespaces ?? shown.confinement?.refused).toEqual(expect.any(String));
  const { trace, event } = /** @type {any} */ (shown.recording);
  const file = 'c-bench/lessons/10-sealed/sealed.c';
  const lines = trace?.sources[file].split('\n') ?? [];
  const attempt = trace?.events[event];
  expect(attempt).toMatchObject({ name: 'mmap', result: expect.stringMatching(/^-1 EPERM/), source: { file } });
  expect(lines[(attempt?.source?.line ?? 0) - 1]).toContain('report("Map the memory for writing:"');
  for (const { name, source } of trace?.events ?? []) {
    if (['mprotect', 'pwrite64', 'ftruncate', 'memfd_create'].includes(name))
      expect(lines[(source?.line ?? 0) - 1]).toContain(name.replace('64', ''));
  }
});

testWhereAllowed('lesson 2 measures, then records a short run that opens where the reader sleeps', async () => {
  const lesson = findLesson('02');
  const shown = presentRun(lesson, await runLesson(lesson, null), 'here');
  expect(shown).toMatchObject({ trouble: null, hang: null, figures: { writes: { value: 1000 } }, notRecorded: null });
  const { trace, event } = /** @type {any} */ (shown.recording);
  expect(trace.events[event]).toMatchObject({ name: 'read', sleeps: 1, result: '64' });
  expect(trace.events[trace.events[event].wokenBy]).toMatchObject({ name: 'write', pid: trace.processes[0].pid });
});

testWhereAllowed('a try that hangs on purpose is no trouble: a sentence says why, and the note is shown', async () => {
  const lesson = findLesson('02');
  const which = (lesson.try ?? []).findIndex(({ hangs }) => hangs);
  const shown = presentRun(lesson, await runLesson(lesson, which), 'here');
  expect(shown).toMatchObject({ trouble: null, figures: { deadlocks: { value: 1 } } });
  expect(shown.hang).toMatch(/^Deadlock: .*so it never sees the end of file\.$/);
  expect(shown.note).toContain('the reader sleeps');
  const { trace, event } = /** @type {any} */ (shown.recording);
  expect(trace.events[event]).toMatchObject({ name: 'read', end: null });
});

testWhereAllowed(
  'a program that hangs while it is recorded and confined is ended, and the sentence says why',
  async () => {
    const { folder } = findPitfall('end-of-file-never-comes');
    const outcome = await runRecorded({ folder, program: 'wrong.c', args: [] });
    expect(outcome).toMatchObject({ how: 'limit', stuck: expect.stringMatching(/^Deadlock: .*read\(\) on pipe/) });
  },
);

test('where tracing is refused, the program runs all the same, and the calls are those of another machine', async () => {
  const lesson = findLesson('10');
  const refused = Object.assign(new Error('Cannot record system calls.'), { code: 'ERR_PTRACE_REFUSED' });
  let shown;
  await jest.isolateModulesAsync(async () => {
    jest.doMock('../lib/trace/program/record.js', () => ({ recordProgram: () => Promise.reject(refused) }));
    const isolated = require('../lib/lessons/lesson.js');
    shown = isolated.presentRun(lesson, await isolated.runLesson(lesson, null), 'here');
  });
  expect(shown).toMatchObject({
    trouble: null,
    figures: { refused: { value: 8 } },
    notRecorded: 'Cannot record system calls.',
    recording: { origin: 'shipped', trace: { schema: 'crossings/trace/1' } },
  });
});
