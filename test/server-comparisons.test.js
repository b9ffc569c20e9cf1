'use strict';
// Comparisons of runs for the lab's page: in a thread of their own, one at a time, and not endlessly many.
const { setImmediate: nextTurn } = require('node:timers/promises');
const { compareRuns } = require('../lib/bench/compare/runs.js');
const { Comparisons } = require('../server/comparisons.js');
const { result, runOf } = require('./run-files.js');

const samples = (/** @type {number} */ from) => Array.from({ length: 40 }, (_, i) => from + i);
const side = (/** @type {number} */ from) => runOf([result('pipe', { rate: samples(from), tripNs: samples(from) })]);
const [a, b] = [side(100), side(200)];
const connected = new AbortController().signal;

test('a comparison does not stop the event loop, and has the result of the command', async () => {
  const order = [];
  const compared = new Comparisons().compare(a, b, connected).then((comparison) => {
    order.push('compared');
    return comparison;
  });
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  order.push('three turns');
  expect(await compared).toEqual(compareRuns([a], [b]));
  expect(order).toEqual(['three turns', 'compared']);
});

test('of more than 16 at a time, the others are refused; those that wait end when their client disconnects', async () => {
  const comparisons = new Comparisons();
  const client = new AbortController();
  const waiting = Array.from({ length: 16 }, () => comparisons.compare(a, b, client.signal));
  await expect(comparisons.compare(a, b, connected)).rejects.toMatchObject({ status: 503, code: 'ERR_BUSY' });
  client.abort();
  expect(await Promise.all(waiting)).toEqual(Array(16).fill(null));
  expect(await comparisons.compare(a, b, connected)).not.toBeNull();
});
