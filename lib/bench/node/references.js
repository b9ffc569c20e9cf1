'use strict';
// The ring's performance goals, as ratios within one run: the ring in C against floors and other mechanisms, and the
// Node transports against each other. Each goal is one row of ROWS; every figure is measured in the same run.
const { join } = require('node:path');
const { eventOf, runNode, runProgram } = require('../../measure/programs.js');
const { median, summarize } = require('../../measure/statistics.js');

/**
 * What a row is computed from.
 * @typedef {object} Measured
 * @property {Record<string, number[]>} inC samples that {@link measureReferences} took, by name
 * @property {(name: string, sizeBytes: number) => Gathered} inNode samples of a transport; empty where it was not measured
 *
 * @typedef {{tripNs: number[], floorNs: (number | null)[], rates: number[]}} Gathered
 *
 * @typedef {object} Row
 * @property {string} what
 * @property {'×' | '%' | 'messages/s'} [unit] default: ×
 * @property {'most' | 'least'} bound is the goal an upper or a lower bound?
 * @property {number} goal what the project promises
 * @property {number} aim what it works towards
 * @property {(measured: Measured) => number[] | undefined} values one per sample; a row without any is left out
 */

/** @typedef {Omit<Row, 'values'> & {unit: string, value: {median: number, q1: number, q3: number}, met: boolean}} Ratio */

/**
 * The ratio of each pair of samples from the same round.
 * @param {(number | null)[]} a
 * @param {(number | null)[]} b
 */
const pairwise = (a, b) => a.slice(0, b.length).map((value, i) => Number(value) / Number(b[i]));

/** @type {Row[]} */
const ROWS = [
  {
    what: 'C round trip, 32 bytes, over the cache-line floor',
    bound: 'most',
    goal: 1.25,
    aim: 1.1,
    values: ({ inC }) => inC.tripOverFloor,
  },
  {
    what: 'C throughput, 64 bytes, batches of 32, over shm-spin',
    bound: 'least',
    goal: 15,
    aim: 25,
    values: ({ inC }) => inC.batchedOverSpin,
  },
  {
    what: 'C throughput, 64 bytes, each published',
    unit: 'messages/s',
    bound: 'least',
    goal: 50e6,
    aim: 80e6,
    values: ({ inC }) => inC.published,
  },
  {
    what: 'C throughput, 64 bytes, each published, over pipe',
    bound: 'least',
    goal: 12,
    aim: 12,
    values: ({ inC }) => inC.publishedOverPipe,
  },
  {
    what: 'C throughput, 64 KiB, over one plain memcpy',
    bound: 'least',
    goal: 0.7,
    aim: 0.95,
    values: ({ inC }) => inC.largeOverCopy,
  },
  {
    what: 'Node round trip, 32 bytes, over the floor',
    bound: 'most',
    goal: 1.8,
    aim: 1.3,
    values: ({ inNode }) => pairwise(inNode('ring', 32).tripNs, inNode('ring', 32).floorNs),
  },
  {
    what: 'Node round trip, times faster than process.send',
    bound: 'least',
    goal: 200,
    aim: 400,
    values: ({ inNode }) => pairwise(inNode('send-json', 32).tripNs, inNode('ring', 32).tripNs),
  },
  {
    what: 'Node throughput, 64 bytes, trySend',
    unit: 'messages/s',
    bound: 'least',
    goal: 15e6,
    aim: 30e6,
    values: ({ inNode }) => inNode('ring', 64).rates,
  },
  {
    what: 'Node throughput, 64 bytes, trySend, over process.send',
    bound: 'least',
    goal: 60,
    aim: 60,
    values: ({ inNode }) => pairwise(inNode('ring', 64).rates, inNode('send-json', 64).rates),
  },
  {
    what: 'Node throughput, 64 bytes, send and for await',
    unit: 'messages/s',
    bound: 'least',
    goal: 2e6,
    aim: 6e6,
    values: ({ inNode }) => inNode('ring-async', 64).rates,
  },
  {
    what: 'Node, woken from sleep, over a bare wake-up',
    bound: 'most',
    goal: 1.3,
    aim: 1.1,
    values: ({ inNode }) => pairwise(inNode('ring-asleep', 32).tripNs, inNode('wake', 32).tripNs),
  },
  {
    // Node's own idle work, two timers of the measurement and a clock with steps of 1 µs add up to less than this.
    what: 'CPU of two idle open channels',
    unit: '%',
    bound: 'most',
    goal: 0.1,
    aim: 0.1,
    values: ({ inC }) => inC.idleShare,
  },
];

/**
 * @param {Row} row
 * @param {Measured} measured
 * @returns {Ratio[]} none when there is nothing to compare
 */
function ratioOf({ values, ...row }, measured) {
  const samples = values(measured) ?? [];
  if (samples.length === 0) return [];
  const value = summarize(samples);
  const met = row.bound === 'most' ? value.median <= row.goal : value.median >= row.goal;
  return [{ unit: '×', ...row, value, met }];
}

/**
 * Measures the ring in C, one sample per round.
 * @param {{placement: string[], signal?: AbortSignal}} control
 */
function measureReferences({ placement, signal }) {
  /** @type {Record<string, number[]>} */
  const samples = {};
  const note = (/** @type {string} */ name, /** @type {number} */ value) => {
    samples[name] ??= [];
    samples[name].push(value);
  };
  /** @param {string} mechanism @param {(string | number)[]} args */
  const run = (mechanism, ...args) =>
    runProgram('crossings-bench', ['--mechanism', mechanism, ...args, ...placement], { signal });
  /** @param {string} mechanism @param {number} messages @param {(string | number)[]} args */
  const rate = async (mechanism, messages, ...args) =>
    eventOf(await run(mechanism, '--messages', messages, '--round-trips', 0, ...args), 'throughput').messagesPerSecond;

  const sample = async () => {
    const trips = await run('ring', '--messages', 0, '--round-trips', 100_000, '--size', 32);
    const floors = eventOf(trips, 'floors');
    note('tripOverFloor', eventOf(trips, 'roundTrip').ns.p50 / floors.cacheLineRoundTripNs);
    note('syscallNs', floors.syscallNs);
    const spin = await rate('shm-spin', 200_000);
    const batched = await rate('ring', 5_000_000, '--batch', 32);
    note('batchedOverSpin', batched / spin);
    const pipe = await rate('pipe', 200_000);
    const published = await rate('ring', 5_000_000);
    note('published', published);
    note('publishedOverPipe', published / pipe);
    const large = await run('ring', '--size', 65536, '--messages', 20_000, '--round-trips', 100);
    note('largeOverCopy', (eventOf(large, 'throughput').messagesPerSecond * eventOf(large, 'floors').copyNs) / 1e9);
  };

  const idle = async () => {
    const events = await runNode([process.execPath, join(__dirname, 'idle.js')], { signal });
    note('idleShare', eventOf(events, 'idle').share * 100);
  };

  /** @param {(name: string, sizeBytes: number) => Gathered | undefined} find @returns {Ratio[]} */
  const ratios = (find) => {
    const none = { tripNs: [], floorNs: [], rates: [] };
    const measured = {
      inC: samples,
      inNode: (/** @type {string} */ name, /** @type {number} */ size) => find(name, size) ?? none,
    };
    return ROWS.flatMap((row) => ratioOf(row, measured));
  };

  return { sample, idle, ratios, syscallNs: () => median(samples.syscallNs) };
}

module.exports = { measureReferences, ratioOf };
