'use strict';
// Experiments over HTTP, with one that measures nothing: validated, started one at a time with the benchmark, watched, canceled,
// saved, listed with their kind, limited in what they send.
const { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/** What the experiment does next, and how it was called. */
const mockControl = {
  /** @type {any} */ options: null,
  /** @type {(control: any) => Promise<void>} */ work: async () => {},
};
const mockClaim = 'A message costs nothing.';

jest.mock('../lib/experiments/index.js', () => ({
  EXPERIMENTS: [
    {
      name: 'fake',
      title: 'A fake',
      document: '000',
      claim: mockClaim,
      question: 'Does it run?',
      choices: { mechanism: ['pipe', 'uds'], paced: ['no', 'yes'] },
      argument: 'mechanism',
      /** @param {any} options @param {any} control */
      async run(options, control) {
        mockControl.options = options;
        control.onProgress({ fraction: 0.5, doing: 'working' });
        await mockControl.work(control);
        control.signal.throwIfAborted();
        const { effort, mechanism } = options;
        return mockFile(control.id, { effort, seconds: 1, mechanism, points: Array(1000).fill(1) });
      },
      csv: () => 'a,b\r\n',
    },
  ],
}));
jest.mock(
  '../lib/experiments/fake/fake.schema.json',
  () => ({
    type: 'object',
    required: ['schema', 'id', 'startedAt', 'parameters', 'sentences', 'verdict'],
    properties: { verdict: { enum: ['held', 'partly', 'failed', 'unknown'] } },
  }),
  { virtual: true },
);

const { sourceOf } = require('../lib/experiments/documents.js');
const { descendantsOf, startLabHere } = require('./lab.js');
const { MAX_EVENT_BYTES, MIN_INTERVAL_MS } = require('../server/partial-events.js');

/** @param {string} id @param {object} parameters */
const mockFile = (id, parameters, verdict = 'held') => ({
  schema: 'crossings/fake/1',
  id,
  startedAt: new Date().toISOString(),
  tool: { version: '0' },
  environment: { warnings: [] },
  parameters,
  sentences: ['It did.'],
  verdict,
});

const BENCH = { effort: 'thorough', mechanisms: ['pipe'], messages: 1_000_000, sizeBytes: 1024 };
const folder = mkdtempSync(join(tmpdir(), 'saved-'));
/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
beforeAll(async () => {
  lab = await startLabHere({ dataFolder: folder, limitsMs: { thorough: 300 } });
});
afterAll(async () => {
  await lab?.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  mockControl.work = async () => {};
});

/** @param {object} body */
const post = (body) => lab.ask('/api/runs', { method: 'POST', body });
/** @param {object} [body] @returns {Promise<string>} its id */
const start = async (body = { experiment: 'fake', effort: 'quick' }) => (await post(body)).body.id;
/** @param {string} id */
const get = async (id) => (await lab.ask(`/api/runs/${id}`)).body;
/** @param {string} id */
const cancel = (id) => lab.ask(`/api/runs/${id}/cancel`, { method: 'POST', body: {} });
/** An experiment that lasts until it is canceled. */
const last = (/** @type {any} */ { signal }) =>
  /** @type {Promise<void>} */ (new Promise((resolve) => signal.addEventListener('abort', () => resolve())));

test('the list of experiments has what their pages show', async () => {
  expect((await lab.ask('/api/experiments')).body).toEqual({
    experiments: [
      {
        name: 'fake',
        title: 'A fake',
        source: sourceOf('000'),
        claim: mockClaim,
        question: 'Does it run?',
        choices: { mechanism: ['pipe', 'uds'], paced: ['no', 'yes'] },
        command: 'npx crossings-lab fake',
        argument: 'mechanism',
      },
    ],
  });
});

describe('an experiment from its start to its end', () => {
  /** @type {string} */ let id;
  /** @type {{event: string, data: any}[]} */ let events;
  /** @type {any} */ let finished;
  beforeAll(async () => {
    mockControl.work = async ({ onPartial, onProgress, id }) => {
      onPartial(mockFile(id, { effort: 'quick', part: 1 }, 'unknown'));
      onProgress({ fraction: 0.9, doing: 'working still' });
      await new Promise((resolve) => setTimeout(resolve, 300)); // until the client listens
      const rates = [{ median: 2, samples: [1, 2, 3] }];
      for (let part = 2; part < 100; part++) {
        onPartial({ ...mockFile(id, { effort: 'quick', samples: 3, part }, 'unknown'), rates });
      }
      await new Promise((resolve) => setTimeout(resolve, MIN_INTERVAL_MS * 1.5));
    };
    id = await start({ experiment: 'fake', effort: 'quick', mechanism: 'uds' });
    events = await lab.events(id);
    finished = await get(id);
  });

  test('runs with its choices, those left out at their defaults, on two cores of its own choice', () => {
    expect(mockControl.options).toEqual({
      effort: 'quick',
      mechanism: 'uds',
      paced: 'no',
      cores: null,
      pin: true,
      sameCore: false,
    });
  });

  test('sends a snapshot, the latest of many files so far, and one final event', () => {
    const names = events.map(({ event }) => event);
    expect(names[0]).toBe('snapshot');
    expect(events[0].data).toMatchObject({
      id,
      kind: 'fake',
      state: 'running',
      run: null,
      partial: { schema: 'crossings/fake/1' },
    });
    const partials = events.filter(({ event }) => event === 'partial');
    expect(partials.length).toBeLessThan(10);
    const { parameters, rates } = partials.at(-1)?.data ?? {};
    expect(parameters).toEqual({ effort: 'quick', samples: 3, part: 99 });
    expect(rates).toEqual([{ median: 2 }]); // without its samples, which no page draws
    expect(events.at(-1)).toEqual({ event: 'done', data: { id } });
  });

  test('is shown with its file, and has no sentences of the benchmark', () => {
    expect(finished).toMatchObject({
      kind: 'fake',
      state: 'done',
      verdict: 'held',
      mechanisms: [],
      sentences: null,
      summary: [],
      run: { schema: 'crossings/fake/1', sentences: ['It did.'] },
    });
  });

  test('is saved, and listed with its kind, its verdict and its choices only', async () => {
    expect(JSON.parse(readFileSync(join(folder, `${id}.json`), 'utf8'))).toEqual(finished.run);
    const { runs } = (await lab.ask('/api/runs')).body;
    expect(runs).toEqual([
      {
        id,
        kind: 'fake',
        startedAt: finished.run.startedAt,
        state: 'done',
        parameters: { effort: 'quick', seconds: 1, mechanism: 'uds' },
        mechanisms: [],
        verdict: 'held',
        error: null,
      },
    ]);
  });

  test('is exported as JSON and as CSV, not as Markdown, and not compared', async () => {
    const file = await lab.ask(`/api/runs/${id}/file`);
    expect(file.text).toBe(`${JSON.stringify(finished.run, null, 2)}\n`);
    const table = await lab.ask(`/api/runs/${id}/file?format=csv`);
    expect({ status: table.status, text: table.text }).toEqual({ status: 200, text: 'a,b\r\n' });
    for (const path of [`/api/runs/${id}/file?format=markdown`, `/api/compare?a=${id}&b=${id}`]) {
      const { status, body } = await lab.ask(path);
      expect({ status, error: body.error }).toEqual({
        status: 400,
        error: { code: 'ERR_USAGE', message: `Run ${id} must be a run of the benchmark; it is a run of fake.` },
      });
    }
  });

  test('is still there after a restart of the lab, until it is removed', async () => {
    await lab.close();
    lab = await startLabHere({ dataFolder: folder, limitsMs: { thorough: 300 } });
    expect(await get(id)).toEqual(finished);
    expect((await lab.ask(`/api/runs/${id}`, { method: 'DELETE' })).body).toEqual({ state: 'removed' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('one run at a time, over all kinds', async () => {
  mockControl.work = last;
  const id = await start();
  expect((await lab.ask('/api/mechanisms')).body).toMatchObject({ running: id, runningKind: 'fake' });
  for (const answer of [
    await post({ experiment: 'fake', effort: 'quick' }),
    await post(BENCH),
    await lab.ask('/api/traces', { method: 'POST', body: { mechanism: 'pipe' } }),
  ]) {
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({ code: 'ERR_BUSY', id });
  }
  expect(descendantsOf(process.pid)).toEqual([]);
  await cancel(id);

  const bench = await start(BENCH);
  expect((await lab.ask('/api/mechanisms')).body).toMatchObject({ running: bench, runningKind: 'bench' });
  expect((await post({ experiment: 'fake', effort: 'quick' })).body.error).toMatchObject({
    code: 'ERR_BUSY',
    id: bench,
  });
  await cancel(bench);
  expect((await lab.ask('/api/mechanisms')).body).toMatchObject({ running: null, runningKind: null });
});

test('a canceled experiment keeps what it had measured, is listed with its choices, and is not saved', async () => {
  mockControl.work = async (control) => {
    control.onPartial(mockFile(control.id, { effort: 'quick' }, 'unknown'));
    await last(control);
  };
  const id = await start();
  const events = lab.events(id);
  expect((await cancel(id)).body).toEqual({ state: 'cancelled' });
  expect((await events).at(-1)).toEqual({ event: 'cancelled', data: {} });
  expect(await get(id)).toMatchObject({ kind: 'fake', state: 'cancelled', run: null, partial: { verdict: 'unknown' } });
  const [line] = (await lab.ask('/api/runs')).body.runs;
  expect(line).toMatchObject({
    id,
    state: 'cancelled',
    parameters: { effort: 'quick', mechanism: 'pipe', paced: 'no' },
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('an experiment that reaches the time limit of its effort is stopped', async () => {
  mockControl.work = last;
  const id = await start({ experiment: 'fake', effort: 'thorough' });
  const { event, data } = (await lab.events(id)).at(-1) ?? {};
  expect({ event, data }).toEqual({
    event: 'failed',
    data: {
      code: 'ERR_TIME_LIMIT',
      message: expect.stringMatching(/limit of 0\.3 seconds for a thorough run\. Choose/),
    },
  });
});

test('a file so far that is too large is not sent, and the run continues', async () => {
  mockControl.work = async ({ onPartial, id }) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    onPartial(mockFile(id, { effort: 'quick', large: 'x'.repeat(MAX_EVENT_BYTES) }));
  };
  const events = await lab.events(await start());
  expect(events.filter(({ event }) => event === 'partial')).toEqual([]);
  expect(events.at(-1)?.event).toBe('done');
});

test('a saved file that is not as its schema says is skipped, whatever its kind', async () => {
  const broken = mkdtempSync(join(tmpdir(), 'saved-'));
  const ids = [1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
  const files = [
    mockFile(ids[0], { effort: 'quick' }),
    { ...mockFile(ids[1], { effort: 'quick' }), verdict: 'perhaps' },
    { ...mockFile(ids[2], { effort: 'quick' }), schema: 'crossings/constructor/1' },
    { ...mockFile(ids[3], { effort: 'quick' }), schema: 'crossings/fake/2' },
  ];
  for (const file of files) writeFileSync(join(broken, `${file.id}.json`), JSON.stringify(file));
  const other = await startLabHere({ dataFolder: broken });
  const { runs } = (await other.ask('/api/runs')).body;
  expect(runs.map((/** @type {any} */ run) => run.id)).toEqual([ids[0]]);
  expect((await other.ask(`/api/runs/${ids[2]}`)).status).toBe(404);
  await other.close();
  rmSync(broken, { recursive: true });
});

describe('an invalid request starts nothing, and its error names the parameter, what is valid and what was sent:', () => {
  test.each([
    [{ experiment: 'fake' }, 'effort must be quick, standard or thorough; got nothing.'],
    [{ experiment: 'sweeps', effort: 'quick' }, 'experiment must be one of fake; got "sweeps".'],
    [{ experiment: 'constructor', effort: 'quick' }, 'experiment must be one of fake; got "constructor".'],
    [{ experiment: null, effort: 'quick' }, 'experiment must be one of fake; got null.'],
    [{ experiment: ['fake'], effort: 'quick' }, 'experiment must be one of fake; got ["fake"].'],
    [{ experiment: 'fake', effort: 'quick', mechanism: 'tcp' }, 'mechanism must be one of pipe, uds; got "tcp".'],
    [{ experiment: 'fake', effort: 'quick', mechanism: ['pipe'] }, 'mechanism must be one of pipe, uds; got ["pipe"].'],
    [{ experiment: 'fake', effort: 'quick', paced: true }, 'paced must be one of no, yes; got true.'],
    [
      { experiment: 'fake', effort: 'quick', cores: [0, 1] },
      'Unknown parameter "cores". Parameters: experiment, effort, mechanism, paced.',
    ],
    ['{"experiment":"fake","effort":"quick","__proto__":{"a":1}}', 'Unknown parameter "__proto__".'],
  ])('%j', async (body, expected) => {
    mockControl.options = null;
    const { status, body: answer } = await lab.ask('/api/runs', { method: 'POST', body });
    expect(status).toBe(400);
    expect(answer.error.code).toBe('ERR_USAGE');
    expect(answer.error.message).toContain(expected);
    expect(mockControl.options).toBeNull();
  });
});
