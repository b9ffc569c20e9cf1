'use strict';
// What we promise of the ring, as ratios within one run: the ring in C against floors and other mechanisms, and the Node
// transports against each other. Goals are those of the project's issue "The ring"; the figures are this run's own.
const { join } = require('node:path');
const { eventOf, runNode, runProgram } = require('../programs.js');
const { median, summarize } = require('../statistics.js');

/** @typedef {{tripNs: number[], floorNs: number[], rates: number[]}} Gathered */

/**
 * Measures the ring in C, one sample a round.
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

  /**
   * @param {Map<string, Gathered>} series by "transport size"
   * @returns {Ratio[]}
   */
  const ratios = (series) => [...inC(samples), ...inNode(series), ...ofIdle(samples)];

  return { sample, idle, ratios, syscallNs: () => median(samples.syscallNs) };
}

/**
 * @typedef {object} Ratio
 * @property {string} what
 * @property {{median: number, q1: number, q3: number}} value
 * @property {string} unit '×', '%' of a core, or what is counted a second
 * @property {'most' | 'least'} bound may the value be at most, or at least, the goal?
 * @property {number} goal
 * @property {number} aim
 * @property {boolean} met
 */

/**
 * @param {string} what
 * @param {number[]} values
 * @param {'most' | 'least'} bound
 * @param {number} goal
 * @param {number} aim
 * @param {string} [unit]
 * @returns {Ratio[]} none when there is nothing to compare
 */
function ratio(what, values, bound, goal, aim, unit = '×') {
  if (values.length === 0) return [];
  const value = summarize(values);
  const met = bound === 'most' ? value.median <= goal : value.median >= goal;
  return [{ what, value, unit, bound, goal, aim, met }];
}

/** @param {Record<string, number[]>} samples */
function inC(samples) {
  return [
    ...ratio('C round trip, 32 bytes, over the cache-line floor', samples.tripOverFloor, 'most', 1.25, 1.1),
    ...ratio('C throughput, 64 bytes, batches of 32, over shm-spin', samples.batchedOverSpin, 'least', 15, 25),
    ...ratio('C throughput, 64 bytes, each published', samples.published, 'least', 50e6, 80e6, 'messages/s'),
    ...ratio('… over the pipe', samples.publishedOverPipe, 'least', 12, 12),
    ...ratio('C, 64 KiB messages, over one plain memcpy', samples.largeOverCopy, 'least', 0.7, 0.95),
  ];
}

/** @param {Record<string, number[]>} samples */
function ofIdle(samples) {
  // Node's own idle housekeeping, two timers of the measurement and a clock of 1 µs: a thousandth of a core is nothing.
  return ratio('CPU of two idle open channels', samples.idleShare ?? [], 'most', 0.1, 0.1, '%');
}

/** Sample by sample: both were taken in the same round. @param {number[]} a @param {number[]} b */
const pairwise = (a, b) => a.slice(0, b.length).map((value, i) => value / b[i]);

/** @param {Map<string, Gathered>} series */
function inNode(series) {
  /** @type {Gathered} */
  const none = { tripNs: [], floorNs: [], rates: [] };
  const of = (/** @type {string} */ name) => series.get(name) ?? none;
  const [small, medium, comfortable] = [of('ring 32'), of('ring 64'), of('ring-async 64')];
  const send = { small: of('send-json 32'), medium: of('send-json 64') };
  const [asleep, wake] = [of('ring-asleep 32'), of('wake 32')];
  return [
    ...ratio('Node round trip, 32 bytes, over the floor', pairwise(small.tripNs, small.floorNs), 'most', 1.8, 1.3),
    ...ratio(
      'Node round trip, times faster than process.send',
      pairwise(send.small.tripNs, small.tripNs),
      'least',
      200,
      400,
    ),
    ...ratio('Node throughput, 64 bytes, trySend', medium.rates, 'least', 15e6, 30e6, 'messages/s'),
    ...ratio('… over process.send', pairwise(medium.rates, send.medium.rates), 'least', 60, 60),
    ...ratio('Node throughput, 64 bytes, send and for await', comfortable.rates, 'least', 2e6, 6e6, 'messages/s'),
    ...ratio('Node, woken from sleep, over a bare wake-up', pairwise(asleep.tripNs, wake.tripNs), 'most', 1.3, 1.1),
  ];
}

module.exports = { measureReferences, ratio };
