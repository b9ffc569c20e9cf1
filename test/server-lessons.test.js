'use strict';
// The lessons over HTTP: the list, a lesson, its runs, and the requests that are refused.
const { CrossingsError } = require('../lib/channel/errors.js');
const { listLessons } = require('../lib/lessons/folders.js');
const lesson = require('../lib/lessons/lesson.js');
const pitfalls = require('../lib/lessons/pitfalls.js');
const { HttpError } = require('../server/http-error.js');
const { Lessons } = require('../server/lessons.js');
const { Pitfalls } = require('../server/pitfalls.js');
const { descendantsOf, startLabHere } = require('./lab.js');
const { until } = require('./support.js');

/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
beforeAll(async () => {
  lab = await startLabHere();
});
afterAll(() => lab?.close());

/** @param {string} name @param {object} body */
const run = (name, body) => lab.ask(`/api/lessons/${name}/runs`, { method: 'POST', body });

test('the list has every folder, in its order', async () => {
  const { lessons } = (await lab.ask('/api/lessons')).body;
  expect(lessons).toEqual(lesson.listLines());
  expect(lessons.map((/** @type {any} */ { name }) => name)).toEqual(listLessons().map(({ name }) => name));
});

test('a lesson comes without its answers: which one is right is decided by a run', async () => {
  const { body } = await lab.ask('/api/lessons/01-kernel');
  expect(body.question.answers).toEqual(listLessons()[0].question.answers.map(({ text }) => text));
  expect(JSON.stringify(body.sections)).not.toContain('{{');
  expect(body.shipped[0]).toMatchObject({ origin: 'shipped', try: null, recordedAt: expect.any(String) });
});

test('a run has its figures, the right answer and the text that they fill in', async () => {
  const { status, body } = await run('01-kernel', { try: null });
  expect(status).toBe(201);
  expect(body).toMatchObject({ origin: 'here', try: null, trouble: null, right: expect.any(Number) });
  expect(body.why).not.toContain('{{');
  expect(body.figures.ratio.value).toBeGreaterThan(0);
});

test('a client that accepts lines hears what the run is doing, and then gets it', async () => {
  const headers = { accept: 'application/x-ndjson' };
  const answer = await lab.ask('/api/lessons/02-pipe/runs', { method: 'POST', body: { try: null }, headers });
  expect(answer.status).toBe(201);
  const lines = answer.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0]).toEqual({ progress: { doing: 'measuring', fraction: null } });
  expect(lines.at(-1).run).toMatchObject({ origin: 'here', trouble: null, figures: { writes: { value: 1000 } } });
});

test.each([
  [
    'a try that does not exist',
    '01-kernel',
    { try: 99 },
    400,
    /^try must be null or an integer from 0 to \d; got 99\.$/,
  ],
  ['arguments', '01-kernel', { args: ['--call', 'read'] }, 400, /^Unknown parameter/],
  [
    'a lesson that does not exist',
    '99-nothing',
    {},
    404,
    /^The lesson must be one of 01-kernel, .*; got "99-nothing"\.$/,
  ],
  ['a path', '..%2f..%2fetc', {}, 404, /^The lesson must be one of/],
])('refuses %s', async (_, name, body, status, message) => {
  const answer = await run(name, body);
  expect(answer.status).toBe(status);
  expect(answer.body.error.message).toMatch(message);
});

test('one program runs at a time, and none is left when the lab closes', async () => {
  const other = await startLabHere();
  const first = other.ask('/api/lessons/01-kernel/runs', { method: 'POST', body: { try: null } }).catch(() => null);
  await until(() => descendantsOf(process.pid).length > 0);
  const second = await other.ask('/api/lessons/01-kernel/runs', { method: 'POST', body: { try: null } });
  expect({ status: second.status, code: second.body.error?.code }).toEqual({ status: 409, code: 'ERR_BUSY' });
  await other.close();
  await first;
  expect(descendantsOf(process.pid)).toEqual([]);
});

test('a request that is refused because another run is in progress leaves no timer and no listener', async () => {
  const runs = { runExclusively: async () => Promise.reject(new HttpError(409, 'ERR_BUSY', 'Busy.')) };
  const disconnected = new AbortController().signal;
  const [any, timeout] = [jest.spyOn(AbortSignal, 'any'), jest.spyOn(AbortSignal, 'timeout')];
  await expect(new Lessons(/** @type {any} */ (runs)).run(listLessons()[0], null, disconnected)).rejects.toThrow(
    'Busy.',
  );
  const [{ name }] = pitfalls.listAll().pitfalls;
  await expect(new Pitfalls(/** @type {any} */ (runs)).run(name, disconnected)).rejects.toThrow('Busy.');
  expect([any, timeout].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  jest.restoreAllMocks();
});

test('a lesson whose program is killed is answered as a pitfall is: the lab works, but the run failed', async () => {
  const killed = new CrossingsError('ERR_PROGRAM', 'crossings-lessons was killed by SIGKILL.');
  const runs = /** @type {any} */ ({ runExclusively: async () => Promise.reject(killed) });
  const run = new Lessons(runs).run(listLessons()[0], null, new AbortController().signal);
  await expect(run).rejects.toMatchObject({ status: 503, code: 'ERR_PROGRAM', message: killed.message });
});
