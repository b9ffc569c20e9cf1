'use strict';
// The ring's performance goals, most of them as ratios: the ring in C compared with floors and other mechanisms, and the Node
// transports compared with each other. Each goal is one row of ROWS. Every figure is measured in the same run.
const { join } = require('node:path');
const { eventOf, runNode, runProgram } = require('../../measure/programs.js');
const { unlessShortened } = require('../../measure/run.js');
const { median, summarize } = require('../../measure/statistics.js');

const IDLE_SAMPLES = 3; // of a second each

/**
 * What a row is computed from.
 * @typedef {object} Measured
 * @property {Record<string, number[]>} samples taken by {@link measureReferences}, by name
 * @property {(name: string) => number[]} callsPerTrip system calls per round trip of a transport; empty if not counted
 * @property {(name: string, sizeBytes: number) => Gathered} inNode samples of a transport; empty if it was not measured
 *
 * @typedef {{tripNs: number[], floorNs: (number | null)[], rates: number[]}} Gathered
 *
 * @typedef {object} Row
 * @property {string} what
 * @property {'×' | '%' | 'calls' | 'messages/s'} [unit] default: ×
 * @property {'most' | 'least'} bound is the goal an upper or a lower bound?
 * @property {number | null} goal what the project promises; null: no goal, for information only
 * @property {number | null} aim a target at least as strict as the goal; null: none
 * @property {(measured: Measured) => number[] | undefined} values one per sample; a row without values is omitted
 */

/** @typedef {Omit<Row, 'values'> & {unit: string, value: {median: number, q1: number, q3: number}, met: boolean | null}} Ratio */

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
    values: ({ samples }) => samples.tripOverFloor,
  },
  {
    what: 'C throughput, 64 bytes, batches of 32, over shm-spin',
    bound: 'least',
    goal: 15,
    aim: 25,
    values: ({ samples }) => samples.batchedOverSpin,
  },
  {
    what: 'C throughput, 64 bytes, each published',
    unit: 'messages/s',
    bound: 'least',
    goal: 50e6,
    aim: 80e6,
    values: ({ samples }) => samples.published,
  },
  {
    what: 'C throughput, 64 bytes, each published, over pipe',
    bound: 'least',
    goal: 12,
    aim: 12,
    values: ({ samples }) => samples.publishedOverPipe,
  },
  {
    what: 'C throughput, 64 KiB, over one plain memcpy',
    bound: 'least',
    goal: 0.7,
    aim: 0.95,
    values: ({ samples }) => samples.largeOverCopy,
  },
  {
    what: 'try round trip, 32 bytes, over the floor',
    bound: 'most',
    goal: 1.45,
    aim: 1.25,
    values: ({ inNode }) => pairwise(inNode('ring', 32).tripNs, inNode('ring', 32).floorNs),
  },
  {
    what: 'bare memory in JavaScript, round trip over the floor',
    bound: 'most',
    goal: null,
    aim: null,
    values: ({ inNode }) => pairwise(inNode('bare-memory', 32).tripNs, inNode('bare-memory', 32).floorNs),
  },
  {
    what: 'await round trip over the try round trip',
    bound: 'most',
    goal: 2.5,
    aim: 1.7,
    values: ({ inNode }) => pairwise(inNode('ring-async', 32).tripNs, inNode('ring', 32).tripNs),
  },
  {
    what: 'bare async functions, round trip over try',
    bound: 'most',
    goal: null,
    aim: null,
    values: ({ inNode }) => pairwise(inNode('ring-bare-async', 32).tripNs, inNode('ring', 32).tripNs),
  },
  {
    what: 'request() round trip over the try round trip',
    bound: 'most',
    goal: 4,
    aim: 3,
    values: ({ inNode }) => pairwise(inNode('ring-request', 32).tripNs, inNode('ring', 32).tripNs),
  },
  {
    what: 'system calls per await round trip, both sides',
    unit: 'calls',
    bound: 'most',
    goal: 0.05,
    aim: 0,
    values: ({ callsPerTrip }) => callsPerTrip('ring-async'),
  },
  {
    what: 'process.send round trip over the try round trip',
    bound: 'least',
    goal: null,
    aim: null,
    values: ({ inNode }) => pairwise(inNode('send-json', 32).tripNs, inNode('ring', 32).tripNs),
  },
  {
    what: 'one core: await round trip over process.send',
    bound: 'most',
    goal: 1,
    aim: 0.6,
    values: ({ inNode }) => pairwise(inNode('ring-one-core', 32).tripNs, inNode('send-one-core', 32).tripNs),
  },
  {
    what: 'woken from sleep over a bare wake-up',
    bound: 'most',
    goal: 1.3,
    aim: 1.1,
    values: ({ inNode }) => pairwise(inNode('ring-asleep', 32).tripNs, inNode('wake', 32).tripNs),
  },
  {
    what: 'try throughput, 64 bytes',
    unit: 'messages/s',
    bound: 'least',
    goal: 15e6,
    aim: 30e6,
    values: ({ inNode }) => inNode('ring', 64).rates,
  },
  {
    what: 'try throughput, 64 bytes, over process.send',
    bound: 'least',
    goal: 60,
    aim: 60,
    values: ({ inNode }) => pairwise(inNode('ring', 64).rates, inNode('send-json', 64).rates),
  },
  {
    what: 'await send() and for await throughput, 64 bytes, over try',
    bound: 'least',
    goal: null,
    aim: null,
    values: ({ inNode }) => pairwise(inNode('ring-async', 64).rates, inNode('ring', 64).rates),
  },
  // In the next four rows the sender is the same: trySend(), or send() when the ring is full. The rows compare ways of receiving.
  {
    what: 'for await throughput, 64 bytes, over try',
    bound: 'least',
    goal: 0.35,
    aim: 0.5,
    values: ({ inNode }) => pairwise(inNode('ring-messages', 64).rates, inNode('ring', 64).rates),
  },
  {
    what: 'messages({reuse}) throughput, 64 bytes, over try',
    bound: 'least',
    goal: 0.4,
    aim: 0.5,
    values: ({ inNode }) => pairwise(inNode('ring-messages-reuse', 64).rates, inNode('ring', 64).rates),
  },
  {
    what: 'batches() throughput, 64 bytes, over try',
    bound: 'least',
    goal: 0.7,
    aim: 0.9,
    values: ({ inNode }) => pairwise(inNode('ring-batches', 64).rates, inNode('ring', 64).rates),
  },
  {
    what: 'batches({reuse}) throughput, 64 bytes, over try',
    bound: 'least',
    goal: 0.7,
    aim: 0.9,
    values: ({ inNode }) => pairwise(inNode('ring-batches-reuse', 64).rates, inNode('ring', 64).rates),
  },
  {
    what: '8 senders to one receiver, over process.send',
    bound: 'least',
    goal: 5,
    aim: 15,
    values: ({ samples }) => samples.fanInOverSend,
  },
  {
    what: 'lateness of a 1 ms timer beside a hot channel, p99',
    bound: 'most',
    goal: 3,
    aim: 1.5,
    values: ({ samples }) => samples.timerLateness,
  },
  {
    // The promise that the event loop keeps running, no matter what arrives: docs/reliability.md.
    what: 'lateness of a 1 ms timer under a flood of messages, p99',
    bound: 'most',
    goal: 5,
    aim: 2,
    values: ({ samples }) => samples.floodLateness,
  },
  {
    // The latest of some thousand: for information only, since it also includes anything else that the machine did meanwhile.
    what: 'lateness of a 1 ms timer under a flood of messages, worst',
    bound: 'most',
    goal: null,
    aim: null,
    values: ({ samples }) => samples.floodWorst,
  },
  {
    // Node's own idle work, the measurement's two timers and the clock's resolution of 1 µs together stay below this goal.
    what: 'CPU of two idle open channels',
    unit: '%',
    bound: 'most',
    goal: 0.1,
    aim: 0.1,
    values: ({ samples }) => samples.idleShare,
  },
];

/**
 * @param {Row} row
 * @param {Measured} measured
 * @returns {Ratio[]} one ratio, or none if there are no samples
 */
function ratioOf({ values, ...row }, measured) {
  const samples = values(measured) ?? [];
  if (samples.length === 0) return [];
  const value = summarize(samples);
  const isMet = (/** @type {number} */ goal) => (row.bound === 'most' ? value.median <= goal : value.median >= goal);
  const met = row.goal === null ? null : isMet(row.goal);
  return [{ unit: '×', ...row, value, met }];
}

/**
 * Measures everything that is not a sample of a transport: the ring in C, many senders and a timer once per round, and the
 * idle channel a few times at the end.
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
    eventOf(await run(mechanism, '--messages', unlessShortened(messages), '--round-trips', 0, ...args), 'throughput')
      .messagesPerSecond;

  const sample = async () => {
    const trips = await run('ring', '--messages', 0, '--round-trips', unlessShortened(100_000), '--size', 32);
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
    const large = await run('ring', '--size', 65536, '--messages', unlessShortened(20_000), '--round-trips', 100);
    note('largeOverCopy', (eventOf(large, 'throughput').messagesPerSecond * eventOf(large, 'floors').copyNs) / 1e9);
  };

  /** @param {string} transport @param {number} messages */
  const fanIn = async (transport, messages) => {
    const task = JSON.stringify({ transport, messages: unlessShortened(messages), sizeBytes: 64 });
    const events = await runNode([process.execPath, join(__dirname, 'fan-in.js'), task], { signal });
    return eventOf(events, 'fan-in').messagesPerSecond;
  };

  /** @param {'channel' | 'flood' | 'nothing'} beside @returns {Promise<{p99: number, max: number}>} milliseconds */
  const timerLateness = async (beside) => {
    const command = [
      process.execPath,
      join(__dirname, 'timer.js'),
      JSON.stringify({ beside, ticks: unlessShortened(1000) }),
    ];
    return eventOf(await runNode(command, { signal }), 'timer').lateMs;
  };

  const sampleInNode = async () => {
    note('fanInOverSend', (await fanIn('ring', 400_000)) / (await fanIn('send', 24_000)));
    const [channel, flood, nothing] = [
      await timerLateness('channel'),
      await timerLateness('flood'),
      await timerLateness('nothing'),
    ];
    note('timerLateness', channel.p99 / nothing.p99);
    note('floodLateness', flood.p99 / nothing.p99);
    note('floodWorst', flood.max / nothing.max);
  };

  const idle = async () => {
    for (let i = 0; i < IDLE_SAMPLES; i++) {
      const events = await runNode([process.execPath, join(__dirname, 'idle.js')], { signal });
      note('idleShare', eventOf(events, 'idle').share * 100);
    }
  };

  /**
   * @param {(name: string, sizeBytes: number) => Gathered | undefined} find
   * @param {(name: string) => number[]} callsPerTrip
   * @returns {Ratio[]}
   */
  const ratios = (find, callsPerTrip) => {
    const none = { tripNs: [], floorNs: [], rates: [] };
    const measured = {
      samples,
      callsPerTrip,
      inNode: (/** @type {string} */ name, /** @type {number} */ size) => find(name, size) ?? none,
    };
    return ROWS.flatMap((row) => ratioOf(row, measured));
  };

  return { sample, sampleInNode, idle, ratios, syscallNs: () => median(samples.syscallNs) };
}

module.exports = { measureReferences, ratioOf };
