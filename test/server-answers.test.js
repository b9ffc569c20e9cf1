'use strict';
// Answers of the lab that take long to compute: they are computed once, one at a time, and not endlessly many wait.
const { randomUUID } = require('node:crypto');
const { mkdtempSync, rmSync, utimesSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { spawnSync } = require('node:child_process');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { Answers, MAX_KEPT_BYTES, REFUSAL_BYTES } = require('../server/answers.js');
const { Comparisons } = require('../server/comparisons.js');
const { CostlyWork, MOST_WAITING } = require('../server/costly-work.js');
const { HttpError } = require('../server/http-error.js');
const { Pitfalls } = require('../server/pitfalls.js');
const { RunStore } = require('../server/run-store.js');
const { Runs } = require('../server/runs.js');
const shipped = require('../server/recordings/runs/904120c6-9f3f-4413-a801-8231564dd862.json');
const { FILES } = require('./experiment-files.js');
const { startLabHere } = require('./lab.js');

describe('answers that are kept', () => {
  test('one is computed once for each key, however many wait for it', async () => {
    const answers = new Answers();
    const compute = jest.fn(() => 'text');
    const asked = Array.from({ length: 2 * MOST_WAITING }, () => answers.later('a', compute));
    expect((await Promise.all(asked)).map(String)).toEqual(Array(2 * MOST_WAITING).fill('text'));
    expect(String(answers.now('a', compute))).toBe('text');
    expect(compute).toHaveBeenCalledTimes(1);
    await answers.later('b', compute);
    expect(compute).toHaveBeenCalledTimes(2);
  });

  // Hundreds of streams of events began in one turn of the event loop, with megabytes for each.
  test('clients that have waited for the same one get it in turns of their own', async () => {
    const answers = new Answers();
    let turns = 0;
    const count = () => {
      turns++;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    const asked = Array.from({ length: 20 }, () => answers.later('a', () => 'text').then(() => turns));
    expect(new Set(await Promise.all(asked)).size).toBe(20);
    const refused = Array.from({ length: 20 }, () =>
      answers
        .later('b', () => {
          throw new HttpError(404, 'ERR_NO_RUN', 'none');
        })
        .catch(() => turns),
    );
    expect(new Set(await Promise.all(refused)).size).toBe(20);
    clearImmediate(immediate);
  });

  test('those that were asked for the longest ago are dropped, and those that are too large', () => {
    const answers = new Answers();
    const third = jest.fn(() => 'x'.repeat(MAX_KEPT_BYTES / 3));
    for (const key of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'd']) answers.now(key, third);
    expect(third).toHaveBeenCalledTimes(4);
    answers.now('b', third);
    expect(third).toHaveBeenCalledTimes(5);
    const large = jest.fn(() => 'x'.repeat(MAX_KEPT_BYTES + 1));
    for (let i = 0; i < 2; i++) expect(answers.now('large', large)).toHaveLength(MAX_KEPT_BYTES + 1);
    expect(large).toHaveBeenCalledTimes(2);
  });

  test('an error is not kept', async () => {
    const answers = new Answers();
    const fails = () => {
      throw new Error('no');
    };
    await expect(answers.later('a', fails)).rejects.toThrow('no');
    expect(String(await answers.later('a', () => 'text'))).toBe('text');
  });
});

describe('an answer that others may make', () => {
  test('is not made any more when all who wait for it have disconnected, and is made anew for the next one', async () => {
    const answers = new Answers();
    const clients = [new AbortController(), new AbortController()];
    /** @type {AbortSignal[]} */ const signals = [];
    const stopped = (/** @type {AbortSignal} */ signal) => {
      signals.push(signal);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
    };
    const asked = clients.map(({ signal }) => answers.shared('a', /** @type {any} */ (stopped), signal));
    clients[0].abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    clients[1].abort();
    expect(String(await answers.shared('a', async () => 'text'))).toBe('text');
    expect(await Promise.all(asked)).toEqual([null, null]);
    expect(String(await answers.shared('a', /** @type {any} */ (stopped)))).toBe('text');
  });

  test('is not made for a client that has disconnected before it asks', async () => {
    const gone = new AbortController();
    gone.abort();
    const make = (/** @type {AbortSignal} */ signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
    expect(await new Answers().shared('a', /** @type {any} */ (make), gone.signal)).toBeNull();
  });

  // Each such refusal left less room, until nothing was kept any more.
  test('counts once among those that are kept, although it is refused twice', async () => {
    const answers = new Answers();
    const refused = async () => {
      await nextTurn();
      throw new HttpError(400, 'ERR_USAGE', 'no');
    };
    const keys = Array.from({ length: MAX_KEPT_BYTES / REFUSAL_BYTES + 1 }, (_, i) => `refused ${i}`);
    for (const key of keys) {
      const client = new AbortController();
      const first = answers.shared(key, refused, client.signal);
      client.abort();
      await Promise.allSettled([first, answers.shared(key, refused)]);
    }
    const compute = jest.fn(() => 'text');
    for (let i = 0; i < 2; i++) answers.now('a', compute);
    expect(compute).toHaveBeenCalledTimes(1);
  });
});

describe('costly work', () => {
  test('is done in its order, and others have a turn after each piece', async () => {
    const work = new CostlyWork();
    /** @type {string[]} */ const done = [];
    const all = ['a', 'b'].map((name) => work.run(() => done.push(name)));
    await all[0];
    done.push('another request');
    await all[1];
    expect(done).toEqual(['a', 'another request', 'b']);
  });

  test('of too much at a time, the rest is refused; errors do not end it', async () => {
    const work = new CostlyWork();
    const fails = () => {
      throw new Error('no');
    };
    const waiting = Array.from({ length: MOST_WAITING }, () => work.run(fails));
    await expect(work.run(fails)).rejects.toMatchObject({ status: 503, code: 'ERR_BUSY' });
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
    expect(await work.run(() => 'done')).toBe('done');
  });

  test('does not keep a lab alive that has closed', () => {
    const script = `
      const { CostlyWork } = require(${JSON.stringify(require.resolve('../server/costly-work.js'))});
      const work = new CostlyWork();
      let done = 0;
      for (let i = 0; i < 3; i++) work.run(() => done++);
      process.on('exit', () => console.log(done));`;
    expect(spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stdout: '1\n',
    });
  });
});

describe('the lab', () => {
  /** @type {Awaited<ReturnType<typeof startLabHere>>} */
  let lab;
  beforeAll(async () => {
    lab = await startLabHere();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => lab?.close());

  /** Save a run, and return its id. */
  function save(id = randomUUID(), fields = {}) {
    writeFileSync(join(lab.folder, `${id}.json`), JSON.stringify({ ...shipped, id, ...fields }));
    return id;
  }
  test('reads a run once for each form in which it is asked for, until its file changes', async () => {
    const id = save();
    const read = jest.spyOn(RunStore.prototype, 'read');
    const forms = ['', '/file?format=csv', '/file?format=markdown', '/events'];
    for (let i = 0; i < 3; i++) {
      const answers = await Promise.all(forms.map((form) => lab.ask(`/api/runs/${id}${form}`)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    expect((await lab.ask(`/api/runs/${id}/cancel`, { method: 'POST', body: {} })).body).toEqual({ state: 'done' });
    expect(read).toHaveBeenCalledTimes(3);
    save(id, { startedAt: '2026-02-03T04:05:06.700Z', more: 'so that the size differs' });
    const { text, headers } = await lab.ask(`/api/runs/${id}/file?format=markdown`);
    expect(text).toContain('2026-02-03T04:05:06.700Z');
    expect(headers['content-disposition']).toContain(`crossings-2026-02-03-${id.slice(0, 8)}.md`);
    expect(read).toHaveBeenCalledTimes(4);
  });

  test('reads no run while too many requests wait for that, and says when to ask again', async () => {
    const id = save();
    const read = jest.spyOn(RunStore.prototype, 'read');
    jest.spyOn(CostlyWork.prototype, 'run').mockRejectedValue(new HttpError(503, 'ERR_BUSY', 'Others wait.'));
    for (const path of [`runs/${id}`, `runs/${id}/file`, `runs/${id}/events`, `compare?a=${id}&b=${id}`]) {
      const { status, headers } = await lab.ask(`/api/${path}`);
      expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 503, retryAfter: '2' });
    }
    expect(read).not.toHaveBeenCalled();
  });

  test('the list of the runs is made once for all who ask at the same time, and again after a change', async () => {
    const list = jest.spyOn(Runs.prototype, 'list');
    const [id] = [save(), save()];
    const lists = async () =>
      (await Promise.all([1, 2, 3].map(() => lab.ask('/api/runs')))).map(({ body }) => body.runs);
    const [first, ...others] = await lists();
    expect(first.map((/** @type {any} */ line) => line.id)).toContain(id);
    expect(others).toEqual([first, first]);
    expect(list.mock.calls.length).toBeLessThan(3); // on a slow machine, one of them may have come later
    expect((await lab.ask(`/api/runs/${id}`, { method: 'DELETE' })).status).toBe(200);
    for (const runs of await lists()) expect(runs.map((/** @type {any} */ line) => line.id)).not.toContain(id);
  });

  test('the list of the runs has one that ends while the folder is read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ending-run-'));
    const runs = new Runs(folder, /** @type {any} */ ({ info() {}, warn: console.error, error: console.error }));
    let end = () => {};
    const ending = new Promise((resolve) => {
      end = () => resolve(undefined);
    });
    const run = async (/** @type {{id: string}} */ { id }) => ending.then(() => ({ ...shipped, id }));
    const id = runs.start(/** @type {any} */ ({ kind: 'bench', effort: 'quick', line: {}, advice: '', run }));
    const read = jest.spyOn(RunStore.prototype, 'list').mockImplementation(async () => {
      end();
      await runs.session(id)?.ended;
      return []; // it was not there when the folder was read
    });
    expect(await runs.list()).toMatchObject([{ id, state: 'done' }]);
    read.mockRestore();
    expect(await runs.list()).toMatchObject([{ id, state: 'done' }]);
    rmSync(folder, { recursive: true });
  });

  test('a run in progress is described once for all who ask before it changes', async () => {
    const started = { effort: 'thorough', mechanisms: ['pipe'], messages: 1_000_000, sizeBytes: 1024 };
    const { id } = (await lab.ask('/api/runs', { method: 'POST', body: started })).body;
    const stamp = jest.spyOn(Runs.prototype, 'stamp').mockReturnValue('running 0');
    const describeRun = jest.spyOn(Runs.prototype, 'describe');
    for (let i = 0; i < 3; i++) expect((await lab.ask(`/api/runs/${id}`)).body).toMatchObject({ id, state: 'running' });
    expect(describeRun).toHaveBeenCalledTimes(1);
    stamp.mockReturnValue('running 1');
    expect((await lab.ask(`/api/runs/${id}`)).status).toBe(200);
    expect(describeRun).toHaveBeenCalledTimes(2);
    stamp.mockRestore();
    expect((await lab.ask(`/api/runs/${id}/cancel`, { method: 'POST', body: {} })).body).toEqual({
      state: 'cancelled',
    });
    expect((await lab.ask(`/api/runs/${id}`)).body).toMatchObject({ id, state: 'cancelled' });
  });

  test('notices another file with the same size and time', async () => {
    const id = save();
    const time = new Date('2026-01-02T03:04:05Z');
    utimesSync(join(lab.folder, `${id}.json`), time, time);
    expect((await lab.ask(`/api/runs/${id}/file?format=json`)).body.startedAt).toBe(shipped.startedAt);
    save(id, { startedAt: '2026-02-03T04:05:06.700Z' });
    utimesSync(join(lab.folder, `${id}.json`), time, time);
    expect((await lab.ask(`/api/runs/${id}/file?format=json`)).body.startedAt).toBe('2026-02-03T04:05:06.700Z');
  });

  test('compares two runs once, and reads runs that cannot be compared once', async () => {
    const [id, other] = [save(), save()];
    const incomparable = randomUUID();
    writeFileSync(
      join(lab.folder, `${incomparable}.json`),
      JSON.stringify(FILES.prove({ id: incomparable, effort: 'quick' })),
    );
    const compared = jest.spyOn(Comparisons.prototype, 'compare');
    const read = jest.spyOn(RunStore.prototype, 'read');
    for (let i = 0; i < 3; i++) {
      const { status, body } = await lab.ask(`/api/compare?a=${id}&b=${other}`);
      expect({ status, mechanisms: body.mechanisms.length }).toEqual({
        status: 200,
        mechanisms: shipped.results.length,
      });
    }
    expect(compared).toHaveBeenCalledTimes(1);
    expect(read).toHaveBeenCalledTimes(2);
    for (let i = 0; i < 3; i++) {
      const { status, body } = await lab.ask(`/api/compare?a=${id}&b=${incomparable}`);
      expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'ERR_USAGE' });
    }
    expect(read).toHaveBeenCalledTimes(4);
  });

  test('reads a pitfall once for many requests', async () => {
    const describePitfall = jest.spyOn(Pitfalls.prototype, 'describe');
    for (let i = 0; i < 3; i++) expect((await lab.ask('/api/pitfalls/full-pipes')).body.name).toBe('full-pipes');
    expect(describePitfall).toHaveBeenCalledTimes(1);
  });
});
