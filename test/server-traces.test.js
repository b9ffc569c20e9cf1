'use strict';
// Recordings over HTTP: the shipped ones, new ones, and the errors where recording is impossible.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { CrossingsError } = require('../lib/channel/errors.js');
const { toTraceEvents } = require('../lib/trace/perfetto.js');
const recorder = require('../lib/trace/record.js');
const { descendantsOf, startLabHere } = require('./lab.js');
const { root, until } = require('./support.js');

const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];

/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
beforeEach(async () => {
  lab = await startLabHere();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await lab?.close();
});

/** @param {object} body */
const record = (body) => lab.ask('/api/traces', { method: 'POST', body });

test('the list of mechanisms states what can be played and whether this machine can record', async () => {
  const { mechanisms, tracing, running, version } = (await lab.ask('/api/mechanisms')).body;
  expect(mechanisms.map((/** @type {any} */ { name }) => name)).toEqual(MECHANISMS);
  for (const { title, source } of mechanisms) {
    expect(title).not.toBe('');
    expect(readFileSync(join(root, source), 'utf8')).not.toBe('');
  }
  expect({ running, version }).toEqual({ running: null, version: require('../package.json').version });
  expect(tracing).toEqual(
    tracing.allowed ? { allowed: true, reason: null } : { allowed: false, reason: expect.any(String) },
  );
});

test.each(MECHANISMS)('the shipped recording of %s is served unchanged', async (mechanism) => {
  const shipped = JSON.parse(readFileSync(join(root, 'server', 'recordings', `${mechanism}.json`), 'utf8'));
  expect((await lab.ask(`/api/traces/${mechanism}`)).body).toEqual({ ...shipped, origin: 'shipped' });
});

test('a recording is exported for Perfetto with the command line’s own converter', async () => {
  const { headers, body } = await lab.ask('/api/traces/pipe/perfetto');
  const { origin, ...trace } = (await lab.ask('/api/traces/pipe')).body;
  expect(origin).toBe('shipped');
  expect(body).toEqual(JSON.parse(JSON.stringify(toTraceEvents(trace))));
  expect(headers['content-disposition']).toMatch(/^attachment; filename="?crossings-pipe\.perfetto\.json"?$/);
});

test('the gates are tried again, and the new recording replaces the one that ships', async () => {
  expect((await lab.ask('/api/gates')).body.origin).toBe('shipped');
  const empty = await lab.ask('/api/gates', { method: 'POST', body: {} });
  expect(empty.body.error.message).toBe('record must be true; got nothing.');
  const { status, body } = await lab.ask('/api/gates', { method: 'POST', body: { record: true } });
  expect({ status, body }).toMatchObject({ status: 201, body: { schema: 'crossings/gates/1', origin: 'recorded' } });
  expect((await lab.ask('/api/gates')).body).toEqual(body);
});

test('a new recording replaces the shipped one of its mechanism, and no other', async () => {
  const { tracing } = (await lab.ask('/api/mechanisms')).body;
  const { status, body } = await record({ mechanism: 'pipe', messages: 3 });
  if (!tracing.allowed)
    return expect({ status, code: body.error.code }).toEqual({ status: 503, code: 'ERR_PTRACE_REFUSED' });
  expect(status).toBe(201);
  expect(body).toMatchObject({ mechanism: 'pipe', origin: 'recorded', parameters: { messages: 3 } });
  expect((await lab.ask('/api/traces/pipe')).body).toEqual(body);
  expect((await lab.ask('/api/traces/uds')).body.origin).toBe('shipped');
  expect(descendantsOf(process.pid)).toEqual([]);
});

test.each([
  [{}, 'mechanism must be one of ring, shm-spin, shm-sem, pipe, uds, tcp; got nothing.'],
  [{ mechanism: 'pipes' }, '; got "pipes".'],
  [{ mechanism: 'pipe', messages: 0 }, 'messages must be an integer from 1 to 1,000; got 0.'],
  [{ mechanism: 'pipe', messages: 1001 }, '; got 1001.'],
  [{ mechanism: 'pipe', file: '/etc/passwd' }, 'Unknown parameter "file".'],
])('%j is refused and records nothing', async (body, expected) => {
  const recordTrace = jest.spyOn(recorder, 'recordTrace');
  const { status, body: answer } = await record(body);
  expect(status).toBe(400);
  expect(answer.error.message).toContain(expected);
  expect(recordTrace).not.toHaveBeenCalled();
});

test('if the system refuses ptrace, its error is passed on and the shipped recording stays', async () => {
  const refused = new CrossingsError('ERR_PTRACE_REFUSED', 'This system refuses ptrace.');
  jest.spyOn(recorder, 'recordTrace').mockRejectedValue(refused);
  const { status, body } = await record({ mechanism: 'pipe' });
  expect({ status, body }).toEqual({
    status: 503,
    body: { error: { code: 'ERR_PTRACE_REFUSED', message: 'This system refuses ptrace.' } },
  });
  expect((await lab.ask('/api/traces/pipe')).body.origin).toBe('shipped');
});

describe('during a recording', () => {
  /** A recording that lasts until it is aborted. @returns {Promise<AbortSignal>} */
  const endless = () =>
    new Promise((begun) => {
      jest.spyOn(recorder, 'recordTrace').mockImplementation(
        /** @returns {Promise<any>} */ (_what, control) =>
          new Promise((_resolve, reject) => {
            const signal = /** @type {AbortSignal} */ (control?.signal);
            signal.addEventListener('abort', () => reject(signal.reason));
            begun(signal);
          }),
      );
    });

  test('neither a run nor another recording starts', async () => {
    const begun = endless();
    record({ mechanism: 'pipe' }).catch(() => {}); // closing the server aborts it
    await begun;
    const run = await lab.ask('/api/runs', { method: 'POST', body: { effort: 'quick' } });
    for (const { status, body } of [run, await record({ mechanism: 'uds' })]) {
      expect({ status, error: body.error }).toEqual({
        status: 409,
        error: { code: 'ERR_BUSY', message: expect.stringMatching(/^A recording is already in progress/), id: null },
      });
    }
  });

  test('it is stopped when its client disconnects', async () => {
    const begun = endless();
    const leaving = new AbortController();
    const response = fetch(`http://${lab.host}/api/traces`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'x-crossings-token': lab.token, origin: `http://${lab.host}`, 'content-type': 'application/json' },
      body: '{"mechanism":"pipe"}',
    }).catch(() => null);
    const signal = await begun;
    leaving.abort();
    await response;
    await until(() => signal.aborted);
    expect((await record({ mechanism: 'nothing' })).status).toBe(400);
  });
});
