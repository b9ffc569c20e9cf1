'use strict';
// The folder of the lab's runs, when somebody else has filled it: with files that are large where the list is made of them, and
// with more files than anybody reads.
const { spawnSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setImmediate: nextTurn } = require('node:timers/promises');
const pino = require('pino').default;
const { faultOf } = require('../server/run-kinds.js');
const { CostlyWork } = require('../server/costly-work.js');
const { RunStore } = require('../server/run-store.js');
const { FILES } = require('./experiment-files.js');
const { startLabHere } = require('./lab.js');
const { result, runOf } = require('./run-files.js');

const MANY = 5500;
const idOf = (/** @type {number} */ n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** @type {string} */
let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const storeHere = () => new RunStore(folder, pino({ enabled: false }));

test('of the parameters of a run, the list keeps those that it shows, and no others', async () => {
  const long = 'x'.repeat(1 << 20);
  const run = { ...runOf([result('pipe', {})], { parameters: { long } }), id: idOf(1) };
  writeFileSync(join(folder, `${idOf(1)}.json`), JSON.stringify(run));
  const store = storeHere();
  const [line] = await store.list();
  expect(line).toMatchObject({ id: idOf(1), mechanisms: ['pipe'], parameters: { messages: 1000, effort: 'quick' } });
  expect(JSON.stringify(line).length).toBeLessThan(1000);
  expect(store.read(idOf(1))).toEqual(run);
});

const LONG = 'x'.repeat(5000);
const bench = () => runOf([result('pipe', {})]);
const bill = () => /** @type {any} */ (FILES.bill)({ id: 'made-up', effort: 'quick', mechanism: 'pipe', size: '64' });

test.each([
  ['the name of a mechanism', bench, (/** @type {any} */ run) => Object.assign(run.results[0], { mechanism: LONG })],
  ['its batch', bench, (/** @type {any} */ run) => Object.assign(run.parameters, { batch: LONG })],
  ['the choice of an experiment', bill, (/** @type {any} */ run) => Object.assign(run.parameters, { mechanism: LONG })],
])('a file is no run if what the list would show of it is long: %s', (_what, make, lengthen) => {
  expect(faultOf(make())).toBeNull();
  const run = make();
  lengthen(run);
  expect(faultOf(run)).toBe('its parameters, mechanisms and choices must have at most 4,096 characters');
});

test.each(Object.entries(FILES))('%s: the start of a run is a date of usual length', (_kind, make) => {
  const run = /** @type {any} */ (make)({ id: 'made-up', effort: 'quick', mechanism: 'pipe', size: '64' });
  run.startedAt = '2026-01-01T00:00:00.123456789Z';
  expect(faultOf(run)).toBeNull();
  run.startedAt = `2026-01-01T00:00:00.${'1'.repeat(1000)}Z`;
  expect(faultOf(run)).toMatch(/^startedAt: /);
});

test('a run of the benchmark has at most 200 results', () => {
  const withResults = (/** @type {number} */ count) => runOf(Array(count).fill(result('pipe', {})));
  expect(faultOf(withResults(200))).toBeNull();
  expect(faultOf(withResults(201))).toBe('results: it must have at most 200 entries');
});

test('a folder with thousands of names is looked at in parts, and not to its end', async () => {
  for (let n = 0; n < MANY; n++) mkdirSync(join(folder, `${idOf(n)}.json`));
  let turns = 0;
  let isOver = false;
  const listing = storeHere().list();
  listing.finally(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await nextTurn();
  expect(await listing).toEqual([]);
  expect(turns).toBeGreaterThan(40);
  expect(turns).toBeLessThan(54); // 55 for all of them
});

test('in a folder with thousands of other files, no run starts', async () => {
  for (let n = 0; n < MANY; n++) writeFileSync(join(folder, `other-${n}`), '');
  const lab = await startLabHere({ dataFolder: folder });
  const { status, body } = await lab.ask('/api/runs', {
    method: 'POST',
    body: { effort: 'quick', mechanisms: ['pipe'], messages: 100 },
  });
  await lab.close();
  expect({ status, error: body.error }).toEqual({
    status: 409,
    error: {
      code: 'ERR_FULL',
      message:
        'The folder of the runs has more than 5,000 files. Delete some of them first, or start the lab with another folder.',
    },
  });
});

test('a list that is being made rests between the files that it reads, and ends with the lab', async () => {
  for (let i = 1; i <= 20; i++)
    writeFileSync(join(folder, `${idOf(i)}.json`), JSON.stringify({ ...runOf([result('pipe', {})]), id: idOf(i) }));
  const work = jest.spyOn(CostlyWork.prototype, 'run');
  const store = storeHere();
  expect(await store.list()).toHaveLength(20);
  expect(work).toHaveBeenCalledTimes(20);
  work.mockClear();
  const ending = storeHere();
  const listing = ending.list();
  ending.close();
  expect((await listing).length).toBeLessThan(2);
  expect(work.mock.calls.length).toBeLessThan(2);
  work.mockRestore();
});

// It counted as invalid, until its file changed or the lab was started again.
test('a run that cannot be read for want of descriptors is read once there are some', () => {
  writeFileSync(join(folder, `${idOf(1)}.json`), JSON.stringify({ ...bench(), id: idOf(1) }));
  const script = `
    const { closeSync, openSync } = require('node:fs');
    const { RunStore } = require(${JSON.stringify(require.resolve('../server/run-store.js'))});
    const store = new RunStore(${JSON.stringify(folder)}, { warn: console.log });
    const held = [];
    try {
      for (;;) held.push(openSync('/dev/null'));
    } catch {}
    (async () => {
      const failed = ({ status, code }) => console.log(status, code);
      await store.list().catch(failed);
      try { store.read('${idOf(1)}'); } catch (error) { failed(error); }
      for (const fd of held) closeSync(fd);
      console.log(store.read('${idOf(1)}').id, (await store.list()).length);
    })();`;
  const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" -e "$1"', process.execPath, script], {
    encoding: 'utf8',
  });
  expect(stdout).toBe(`503 ERR_READ\n503 ERR_READ\n${idOf(1)} 1\n`);
});

test('the list leaves out what cannot be read now, although it could be read before', async () => {
  const path = join(folder, `${idOf(1)}.json`);
  writeFileSync(path, JSON.stringify({ ...bench(), id: idOf(1) }));
  const store = storeHere();
  expect(await store.list()).toHaveLength(1);
  rmSync(path);
  symlinkSync('/proc/self/mem', path); // whose first page cannot be read: an error that may pass
  expect(await store.list()).toEqual([]);
});

// Each list after a removal read all files again, beside the others.
test('lists that are asked for while runs are removed are made one after another', async () => {
  const RUNS = 40;
  for (let n = 0; n < RUNS; n++)
    writeFileSync(join(folder, `${idOf(n)}.json`), JSON.stringify({ ...bench(), id: idOf(n) }));
  const store = storeHere();
  const run = jest.spyOn(CostlyWork.prototype, 'run');
  const lists = [];
  for (let n = 0; n < 10; n++) {
    lists.push(store.list());
    store.remove(idOf(n));
    await nextTurn();
  }
  for (const list of (await Promise.all(lists)).slice(1)) expect(list).toHaveLength(RUNS - 10);
  expect(run.mock.calls.length).toBeLessThan(2 * RUNS);
  run.mockRestore();
});

test('a run is not saved where a named pipe is, which nobody may ever read', () => {
  spawnSync('mkfifo', [join(folder, `${idOf(1)}.json`)]);
  expect(storeHere().save(/** @type {any} */ ({ ...bench(), id: idOf(1) }))).toBe(false);
});
