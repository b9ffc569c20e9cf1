'use strict';
// Every experiment as the lab runs it: it begins with progress, and when it is canceled, its processes have been killed before the
// answer arrives.
const { EXPERIMENTS } = require('../lib/experiments/index.js');
const { descendantsOf, hasEnded, startLabHere } = require('./lab.js');
const { until } = require('./support.js');

/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
beforeAll(async () => {
  lab = await startLabHere();
});
afterAll(() => lab?.close());

test.each(EXPERIMENTS.map(({ name }) => name))('%s', async (name) => {
  const { status, body } = await lab.ask('/api/runs', {
    method: 'POST',
    body: { experiment: name, effort: 'thorough' },
  });
  expect(status).toBe(202);
  const shown = async () => (await lab.ask(`/api/runs/${body.id}`)).body;
  const isBeginning = async () => /^(starting|examining the machine)$/.test((await shown()).progress.doing);
  while (await isBeginning()) await new Promise((resolve) => setTimeout(resolve, 50));
  await until(() => descendantsOf(process.pid).length > 0);
  expect((await shown()).state).toBe('running');
  const processes = descendantsOf(process.pid);
  const { body: ended } = await lab.ask(`/api/runs/${body.id}/cancel`, { method: 'POST', body: {} });
  expect(ended).toEqual({ state: 'cancelled' });
  expect(descendantsOf(process.pid)).toEqual([]);
  await until(() => processes.every(hasEnded)); // one that runs only while the machine is idle (SCHED_IDLE) dies only then, too
});
