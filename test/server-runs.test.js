'use strict';
// Runs over HTTP: started one at a time, watched, canceled, saved, reopened, exported, compared.
const { randomUUID } = require('node:crypto');
const { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { explainCharts } = require('../lib/bench/charts.js');
const { compareRuns } = require('../lib/bench/compare/runs.js');
const { toCsv, toJson, toMarkdown } = require('../lib/bench/export.js');
const schema = require('../lib/bench/run.schema.json');
const { explain } = require('../lib/bench/sentences.js');
const { MAX_RUNS } = require('../server/run-store.js');
const { descendantsOf, hasEnded, startLabHere } = require('./lab.js');
const { result, runOf } = require('./run-files.js');
const { until } = require('./support.js');

const SHORT = { effort: 'quick', mechanisms: ['pipe', 'uds'], messages: 100 };
const LONG = { effort: 'thorough', mechanisms: ['pipe'], messages: 1_000_000, sizeBytes: 1024 };
const NO_RUN = '00000000-0000-4000-8000-000000000000';

const folder = mkdtempSync(join(tmpdir(), 'saved-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
beforeAll(async () => {
  lab = await startLabHere({ dataFolder: folder });
});
afterAll(() => lab?.close());

/** @param {object} body */
const post = (body) => lab.ask('/api/runs', { method: 'POST', body });
/** @param {string} id */
const remove = (id) => lab.ask(`/api/runs/${id}`, { method: 'DELETE' });
/** @param {string} id */
const get = async (id) => (await lab.ask(`/api/runs/${id}`)).body;

/** Starts a run that lasts until it is canceled, and waits for its processes. */
async function startLong() {
  const { id } = (await post(LONG)).body;
  await until(() => descendantsOf(process.pid).length > 2);
  return { id, processes: descendantsOf(process.pid) };
}

/** A run whose file cannot be written, to its end. @param {string} dataFolder */
async function runUnsaved(dataFolder) {
  const other = await startLabHere({ dataFolder });
  const { id } = (await other.ask('/api/runs', { method: 'POST', body: { ...SHORT, mechanisms: ['pipe'] } })).body;
  const [last] = (await other.events(id)).slice(-1);
  const { body: shown } = await other.ask(`/api/runs/${id}`);
  const { runs } = (await other.ask('/api/runs')).body;
  const { status: removal } = await other.ask(`/api/runs/${id}`, { method: 'DELETE' });
  const { runs: left } = (await other.ask('/api/runs')).body;
  await other.close();
  return { id, last, shown, runs, removal, left };
}

describe('a run from its start to its end', () => {
  /** @type {string} */
  let id;
  /** @type {{event: string, data: any}[]} */
  let events;
  /** @type {any} */
  let finished;
  /** @type {Awaited<ReturnType<typeof runUnsaved>>[]} */
  let unsaved;
  beforeAll(async () => {
    const file = join(folder, 'not-a-folder');
    writeFileSync(file, '');
    const answer = await post(SHORT);
    expect(answer.status).toBe(202);
    ({ id } = answer.body);
    // Three labs at once, to save time: no test here depends on what they measure. In /proc, mkdir -p never returns.
    [events, ...unsaved] = await Promise.all([
      lab.events(id),
      runUnsaved(join(file, 'runs')),
      runUnsaved('/proc/nope/runs'),
    ]);
    rmSync(file);
    finished = await get(id);
  });
  const named = (/** @type {string} */ name) => events.filter(({ event }) => event === name).map(({ data }) => data);

  test('sends a snapshot, then progress and samples, then one final event', () => {
    const names = events.map(({ event }) => event);
    expect(names[0]).toBe('snapshot');
    expect(named('snapshot')[0]).toMatchObject({ id, state: 'running', run: null });
    expect(names.indexOf('progress')).toBeLessThan(names.indexOf('sample'));
    expect(names.slice(1, -1).every((name) => name === 'progress' || name === 'sample')).toBe(true);
    expect(events.at(-1)).toEqual({ event: 'done', data: { id } });
  });

  test('its progress is at least 0 and less than 1, and has a description', () => {
    for (const { fraction, doing } of named('progress')) {
      expect(fraction).toBeGreaterThanOrEqual(0);
      expect(fraction).toBeLessThan(1);
      expect(doing).not.toBe('');
    }
  });

  test('each sample event has its mechanism as in the run file, with one sample more than before', () => {
    for (const mechanism of SHORT.mechanisms) {
      const results = named('sample').flatMap(({ result }) => (result.mechanism === mechanism ? [result] : []));
      const counts = results.map(({ throughput }) => throughput.messagesPerSecond.samples.length);
      expect(counts).toEqual(counts.map((_, index) => index + 1));
      expect(results.at(-1)).toEqual(
        finished.run.results.find((/** @type {any} */ result) => result.mechanism === mechanism),
      );
    }
    expect(named('sample').at(-1).floors).toEqual(finished.run.floors);
  });

  test('produces a valid run file, with its sentences', () => {
    const { run, sentences, summary, state, partial, error } = finished;
    expect({ state, partial, error }).toEqual({ state: 'done', partial: null, error: null });
    const validate = new Ajv({ strict: false }).compile(schema);
    expect(validate(run) ? [] : validate.errors).toEqual([]);
    expect(run.id).toBe(id);
    expect(run.parameters).toMatchObject({ messages: 100, sizeBytes: 64, effort: 'quick' });
    expect({ sentences, summary }).toEqual({ sentences: explainCharts(run), summary: explain(run) });
  });

  test('is saved complete, and listed', async () => {
    expect(JSON.parse(readFileSync(join(folder, `${id}.json`), 'utf8'))).toEqual(finished.run);
    const { runs } = (await lab.ask('/api/runs')).body;
    expect(runs).toEqual([
      expect.objectContaining({ id, state: 'done', mechanisms: ['pipe', 'uds'], startedAt: finished.run.startedAt }),
    ]);
  });

  test('that cannot be saved is still listed and shown, and can be removed', () => {
    for (const { id: other, last, shown, runs, removal, left } of unsaved) {
      expect(last).toEqual({ event: 'done', data: { id: other } });
      expect(shown).toMatchObject({ state: 'done', run: { id: other } });
      expect(runs).toHaveLength(1);
      expect(shown).toMatchObject(runs[0]);
      expect([removal, left]).toEqual([200, []]);
    }
  });

  test('a client that connects after the end gets the whole run and the final event', async () => {
    expect(await lab.events(id)).toEqual([
      { event: 'snapshot', data: finished },
      { event: 'done', data: { id } },
    ]);
  });

  test.each([
    ['json', toJson, 'application/json', '.json'],
    ['csv', toCsv, 'text/csv', '.csv'],
    ['markdown', toMarkdown, 'text/markdown', '.md'],
  ])('is exported as %s, with the command line’s own converter', async (format, convert, type, extension) => {
    const { text, headers } = await lab.ask(`/api/runs/${id}/file?format=${format}`);
    expect(text).toBe(convert(finished.run));
    expect(headers['content-type']).toBe(`${type}; charset=utf-8`);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="?crossings-[\w-]+\.\w+"?$/);
    expect(headers['content-disposition']).toContain(extension);
  });

  // Comparing 40 results with 1000 samples each took half a minute, in which the lab answered nobody.
  test.each([
    ['samples', 6, 1000],
    ['results', 101, 1],
  ])('is not compared if it has too many %s', async (_what, results, samples) => {
    const long = result('pipe', { rate: Array(samples).fill(1), tripNs: Array(samples).fill(1) });
    const large = { ...runOf(Array(results).fill(long)), id: randomUUID() };
    writeFileSync(join(folder, `${large.id}.json`), JSON.stringify(large));
    for (const query of [`a=${large.id}&b=${id}`, `a=${id}&b=${large.id}`]) {
      const { status, body } = await lab.ask(`/api/compare?${query}`);
      expect([status, body.error.message]).toEqual([400, expect.stringContaining(`it has ${results} with`)]);
    }
    rmSync(join(folder, `${large.id}.json`));
  });

  test('is compared with another run in the folder', async () => {
    const other = structuredClone(finished.run);
    other.id = NO_RUN;
    for (const { roundTrip } of other.results) {
      roundTrip.sampleP50Ns = roundTrip.sampleP50Ns.map((/** @type {number} */ ns) => ns * 10);
    }
    writeFileSync(join(folder, `${NO_RUN}.json`), JSON.stringify(other));
    const { body } = await lab.ask(`/api/compare?a=${id}&b=${NO_RUN}`);
    expect(body).toEqual(JSON.parse(JSON.stringify(compareRuns([finished.run], [other]))));
    expect((await remove(NO_RUN)).body).toEqual({ state: 'removed' });
    expect(readdirSync(folder)).toEqual([`${id}.json`]);
  });

  test('is still there after a restart of the lab, until it is removed', async () => {
    await lab.close();
    lab = await startLabHere({ dataFolder: folder });
    expect(await get(id)).toEqual(finished);
    expect((await remove(id)).body).toEqual({ state: 'removed' });
    expect((await lab.ask(`/api/runs/${id}`)).status).toBe(404);
    expect((await lab.ask('/api/runs')).body.runs).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('while a run is in progress', () => {
  afterEach(async () => {
    const { runs } = (await lab.ask('/api/runs')).body;
    for (const { id, state } of runs) {
      if (state === 'running') await remove(id);
      await remove(id);
    }
  });

  test('a second run and a recording are refused with its id, and it continues', async () => {
    const { id } = await startLong();
    expect((await lab.ask('/api/mechanisms')).body.running).toBe(id);
    const trace = { method: 'POST', body: { mechanism: 'pipe' } };
    for (const answer of [await post(SHORT), await lab.ask('/api/traces', trace)]) {
      expect(answer.status).toBe(409);
      expect(answer.body.error).toEqual({ code: 'ERR_BUSY', message: expect.stringMatching(/\.$/), id });
    }
    expect((await lab.ask('/api/runs')).body.runs).toHaveLength(1);
    expect(await get(id)).toMatchObject({ state: 'running' });
    expect((await lab.ask(`/api/runs/${id}/file`)).body.error.code).toBe('ERR_NOT_FINISHED');
  });

  test('it can be canceled: its processes have ended when the answer arrives, and it is not saved', async () => {
    const { id, processes } = await startLong();
    const events = lab.events(id);
    const { status, body } = await remove(id);
    expect({ status, body }).toEqual({ status: 200, body: { state: 'cancelled' } });
    expect(processes.filter((pid) => !hasEnded(pid))).toEqual([]);
    expect((await events).at(-1)).toEqual({ event: 'cancelled', data: {} });
    expect(await get(id)).toMatchObject({ state: 'cancelled', run: null, error: { code: 'ERR_CANCELLED' } });
    const { runs } = (await lab.ask('/api/runs')).body;
    expect(runs).toEqual([expect.objectContaining({ id, state: 'cancelled', mechanisms: ['pipe'] })]);
    expect(readdirSync(folder)).toEqual([]);
    expect((await lab.ask('/api/mechanisms')).body.running).toBeNull();
    expect((await remove(id)).body).toEqual({ state: 'removed' });
  });

  test('canceling it twice, at once or later, keeps it in the list', async () => {
    const { id } = await startLong();
    const cancel = () => lab.ask(`/api/runs/${id}/cancel`, { method: 'POST', body: {} });
    for (const { status, body } of [...(await Promise.all([cancel(), cancel()])), await cancel()]) {
      expect({ status, body }).toEqual({ status: 200, body: { state: 'cancelled' } });
    }
    const { runs } = (await lab.ask('/api/runs')).body;
    expect(runs).toEqual([expect.objectContaining({ id, state: 'cancelled' })]);
  });

  test('a client that disconnects does not disturb it', async () => {
    const { id } = await startLong();
    const gone = await fetch(`http://${lab.host}/api/runs/${id}/events`, {
      headers: { 'x-crossings-token': lab.token },
    });
    await gone.body?.cancel();
    const events = lab.events(id);
    await remove(id);
    expect((await events).at(-1)?.event).toBe('cancelled');
  });

  test('closing the server cancels it and ends its processes', async () => {
    const other = await startLabHere();
    await other.ask('/api/runs', { method: 'POST', body: LONG });
    await until(() => descendantsOf(process.pid).length > 2);
    const processes = descendantsOf(process.pid);
    await other.close();
    expect(processes.filter((pid) => !hasEnded(pid))).toEqual([]);
  });
});

test('a run that reaches its time limit is stopped with an error that names the limit', async () => {
  const limited = await startLabHere({ limitsMs: { thorough: 1000 } });
  const { id } = (await limited.ask('/api/runs', { method: 'POST', body: LONG })).body;
  const end = (await limited.events(id)).at(-1);
  expect(end).toEqual({
    event: 'failed',
    data: {
      code: 'ERR_TIME_LIMIT',
      message: expect.stringMatching(/^The run was stopped: .* limit of 1 seconds .*\.$/),
    },
  });
  expect(descendantsOf(process.pid)).toEqual([]);
  const { runs } = (await limited.ask('/api/runs')).body;
  expect(runs).toEqual([expect.objectContaining({ id, state: 'failed', error: end?.data })]);
  await limited.close();
});

describe('an invalid request starts nothing, and its error names the parameter, what is valid and what was sent:', () => {
  test.each([
    [{}, 'effort must be quick, standard or thorough; got nothing.'],
    [{ effort: 'fast' }, 'effort must be quick, standard or thorough; got "fast".'],
    [
      { effort: 'quick', mechanisms: ['pipes'] },
      'one or more of ring, shm-spin, shm-sem, pipe, uds, tcp; got "pipes".',
    ],
    [{ effort: 'quick', mechanisms: [] }, '; got [].'],
    [{ effort: 'quick', mechanisms: 'pipe' }, '; got "pipe".'],
    [{ effort: 'quick', mechanisms: ['pipe', 7] }, '; got 7.'],
    [{ effort: 'quick', mechanisms: ['--help'] }, '; got "--help".'],
    [{ effort: 'quick', messages: 0 }, 'messages must be an integer from 1 to 1,000,000; got 0.'],
    [{ effort: 'quick', messages: 1_000_001 }, '; got 1000001.'],
    [{ effort: 'quick', messages: 1.5 }, '; got 1.5.'],
    [{ effort: 'quick', messages: '100' }, '; got "100".'],
    [{ effort: 'quick', sizeBytes: 7 }, 'sizeBytes must be an integer from 8 to 16,777,216; got 7.'],
    [{ effort: 'quick', sizeBytes: 16_777_217 }, '; got 16777217.'],
    [{ effort: 'quick', sizeBytes: null }, '; got null.'],
    [
      { effort: 'quick', sizeBytes: 65_536, messages: 1_000_000 },
      'messages must be at most 16,384 when sizeBytes is 65,536',
    ],
    [{ effort: 'quick', realtime: true }, 'Unknown parameter "realtime".'],
    [[], 'must be an object with mechanisms, messages, sizeBytes, effort; got [].'],
    ['"quick"', '; got "quick".'],
    ['{"effort":', 'must be valid JSON.'],
    ['', '; got nothing.'],
  ])('%j', async (body, expected) => {
    const { status, body: answer } = await lab.ask('/api/runs', { method: 'POST', body });
    expect(status).toBe(400);
    expect(answer.error.message).toMatch(/^[^\n]*\.$/);
    expect(answer.error.message).toContain(expected);
    expect(descendantsOf(process.pid)).toEqual([]);
  });

  test('a body of more than 16 kB', async () => {
    const { status, body } = await post({ effort: 'quick', mechanisms: Array(10_000).fill('pipe') });
    expect({ status, code: body.error.code }).toEqual({ status: 413, code: 'ERR_TOO_LARGE' });
  });

  test.each([
    ['GET', '/api/nothing', 404],
    ['GET', '/api', 404],
    ['PUT', '/api/runs', 404],
    ['GET', `/api/runs/${NO_RUN}`, 404],
    ['GET', `/api/runs/${NO_RUN}/events`, 404],
    ['GET', `/api/runs/${NO_RUN}/file`, 404],
    ['DELETE', `/api/runs/${NO_RUN}`, 404],
    ['POST', `/api/runs/${NO_RUN}/cancel`, 404],
    ['POST', '/api/runs/7/cancel', 400],
    ['GET', '/api/runs/..%2f..%2fpackage', 400],
    ['DELETE', '/api/runs/..%2f..%2fpackage', 400],
    ['GET', '/api/runs/%zz', 400],
    ['GET', '/api/compare', 400],
    ['GET', `/api/compare?a=${NO_RUN}&b=${NO_RUN}`, 404],
    ['GET', `/api/compare?a=${NO_RUN}&b=${NO_RUN}&c=1`, 400],
    ['GET', `/api/runs/${NO_RUN}/file?format=xml`, 400],
    ['GET', '/api/traces/pipes', 404],
    ['GET', '/api/traces/..%2f..%2fpackage', 404],
    ['GET', '/api/traces/__proto__', 404],
  ])('%s %s', async (method, path, expected) => {
    const { status, body } = await lab.ask(path, { method });
    expect(status).toBe(expected);
    expect(body.error).toEqual({ code: expect.stringMatching(/^ERR_/), message: expect.stringMatching(/^\S.*\.$/) });
  });
});

test('an invalid run file is skipped with a warning', async () => {
  const broken = mkdtempSync(join(tmpdir(), 'saved-'));
  const ids = [1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
  writeFileSync(join(broken, `${ids[0]}.json`), '{"schema": "crossings/run/1", "res');
  writeFileSync(join(broken, `${ids[1]}.json`), JSON.stringify({ schema: 'crossings/run/1', id: ids[1], results: 7 }));
  writeFileSync(join(broken, `${ids[2]}.json`), '');
  mkdirSync(join(broken, `${ids[3]}.json`));
  writeFileSync(join(broken, 'notes.json'), '{}');
  const other = await startLabHere({ dataFolder: broken });
  for (let again = 0; again < 2; again++) {
    expect((await other.ask('/api/runs')).body).toEqual({ runs: [] });
    for (const id of ids) expect((await other.ask(`/api/runs/${id}`)).status).toBe(404);
  }
  const warnings = other.logged.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
  expect(warnings.map(({ file }) => file).sort()).toEqual(ids.slice(0, 3).map((id) => join(broken, `${id}.json`)));
  await other.close();
  rmSync(broken, { recursive: true });
});

test('a folder with more files than the lab keeps: no run starts, the newest are listed, other requests are answered meanwhile', async () => {
  const full = mkdtempSync(join(tmpdir(), 'saved-'));
  const idOf = (/** @type {number} */ n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const count = MAX_RUNS + 20;
  for (let n = 0; n < count; n++) {
    const path = join(full, `${idOf(n)}.json`);
    // Invalid ones, each with a warning, show which were read.
    writeFileSync(path, JSON.stringify({ schema: 'crossings/run/1', id: idOf(n), results: n }));
    utimesSync(path, n, n);
  }
  const other = await startLabHere({ dataFolder: full });
  const lists = Promise.all([other.ask('/api/runs'), other.ask('/api/runs')]); // they share the reading of each file
  let listed = false;
  lists.then(() => {
    listed = true;
  });
  const meanwhile = await other.ask('/api/nothing');
  expect([meanwhile.status, listed]).toEqual([404, false]);
  for (const { body } of await lists) expect(body).toEqual({ runs: [] });
  const read = other.logged.flatMap((line) => JSON.parse(line).file ?? []);
  expect(read.sort()).toEqual(Array.from({ length: MAX_RUNS }, (_, index) => join(full, `${idOf(20 + index)}.json`)));
  const { status, body } = await other.ask('/api/runs', { method: 'POST', body: SHORT });
  expect({ status, error: body.error }).toEqual({
    status: 409,
    error: { code: 'ERR_FULL', message: 'The lab keeps at most 500 finished runs. Delete some of them first.' },
  });
  expect(descendantsOf(process.pid)).toEqual([]);
  await other.close();
  rmSync(full, { recursive: true });
});
