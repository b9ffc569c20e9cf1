'use strict';
// `crossings bench node`: the transports between two Node processes, sampled in turn, each sample in fresh processes, with
// the cache-line floor measured right before and after each; and beside them the ring in C, for the ratios that we promise.
const { execFileSync } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const { join } = require('node:path');
const { version } = require('../../../package.json');
const { CrossingsError } = require('../../channel/errors.js');
const { describeEnvironment, stolenWarning, watchStolenTime } = require('../environment.js');
const { eventOf, runNode, runProgram } = require('../programs.js');
const { slope } = require('../crossings.js');
const { RoundTrips } = require('../round-trips.js');
const { median, medianInterval, summarize } = require('../statistics.js');
const { measureReferences } = require('./references.js');
const { transports } = require('./transports.js');

const SIDE = join(__dirname, 'side.js');
const SIZES = [32, 64, 65536];
const LARGE_BYTES = 4096;
// Only for one ratio each; they are no transports of their own.
const HELPERS = ['ring-asleep', 'wake'];

/** @type {Record<'quick' | 'standard' | 'thorough', {budgetMs: number, minSamples: number, maxSamples: number}>} */
const EFFORTS = {
  quick: { budgetMs: 20_000, minSamples: 3, maxSamples: 30 },
  standard: { budgetMs: 100_000, minSamples: 5, maxSamples: 30 },
  thorough: { budgetMs: Number.POSITIVE_INFINITY, minSamples: 30, maxSamples: 30 },
};

/** How much one sample does, so that each takes a few tenths of a second. @param {string} name @param {number} sizeBytes */
function workload(name, sizeBytes) {
  const { style } = transports[name];
  const share = sizeBytes >= LARGE_BYTES ? 1 / 50 : 1;
  if (name === 'wake') return { trips: 1500, messages: 0 };
  if (name === 'ring-asleep') return { trips: 1500, messages: 100 };
  if (style === 'loop') return { trips: Math.ceil(300_000 * share), messages: Math.ceil(5_000_000 * share ** 1.3) };
  if (name === 'ring-async') return { trips: Math.ceil(20_000 * share), messages: Math.ceil(1_000_000 * share) };
  return { trips: sizeBytes >= LARGE_BYTES ? 300 : 1000, messages: sizeBytes >= LARGE_BYTES ? 500 : 20_000 };
}

/** What puts a command on a core, where that is possible. @param {number[] | null} cores */
function pinning(cores) {
  try {
    if (cores) execFileSync('taskset', ['--version'], { stdio: 'ignore' });
  } catch {
    return { first: [], other: [], both: [], possible: false };
  }
  const on = (/** @type {string} */ list) => (cores ? ['taskset', '-c', list] : []);
  return {
    first: on(String(cores?.[0])),
    other: on(String(cores?.[1])),
    both: on(String(cores)), // two threads of one process: the scheduler places them
    possible: true,
  };
}

/** What was gathered of one transport at one size. */
class Series {
  /** @type {number[]} */ rates = [];
  /** @type {number[]} */ tripNs = [];
  /** @type {number[]} */ floorNs = [];
  roundTrips = new RoundTrips();
  tripsPerReading = 1;

  /** @param {string} name @param {number} sizeBytes */
  constructor(name, sizeBytes) {
    this.name = name;
    this.sizeBytes = sizeBytes;
  }

  /** @param {any} sample @param {number} floorNs */
  add(sample, floorNs) {
    const trips = new RoundTrips();
    trips.record(sample.values);
    this.roundTrips.record(sample.values);
    this.tripsPerReading = sample.tripsPerReading;
    this.tripNs.push(Number(trips.summary().p50));
    this.floorNs.push(floorNs);
    if (sample.messagesPerSecond) this.rates.push(sample.messagesPerSecond);
  }

  /** One entry of the run file's `results`. @param {any} crossings */
  result(crossings) {
    return {
      mechanism: this.name,
      title: transports[this.name].title,
      sizeBytes: this.sizeBytes,
      throughput: {
        messagesPerSecond: { ...summarize(this.rates), interval95: medianInterval(this.rates), samples: this.rates },
        bytesPerSecond: summarize(this.rates.map((rate) => rate * this.sizeBytes)),
      },
      roundTrip: {
        count: this.roundTrips.count * this.tripsPerReading,
        tripsPerReading: this.tripsPerReading,
        floorNs: median(this.floorNs),
        overFloor: summarize(this.tripNs.map((ns, i) => ns / this.floorNs[i])),
        ns: this.roundTrips.summary(),
        sampleP50Ns: this.tripNs,
        sampleFloorNs: this.floorNs,
        distribution: this.roundTrips.distribution(),
      },
      crossings,
    };
  }
}

/**
 * @typedef {object} NodeBenchOptions
 * @property {'quick' | 'standard' | 'thorough'} effort
 * @property {string[]} transports
 * @property {number[]} sizes
 * @property {number[] | null} cores
 * @property {boolean} pin
 * @property {string} countMethod
 */

/**
 * @param {NodeBenchOptions} options
 * @param {{signal?: AbortSignal, onProgress?: import('../runner.js').ProgressListener}} [control]
 */
async function runNodeBench(options, { signal, onProgress = () => {} } = {}) {
  const effort = EFFORTS[options.effort];
  const startedAt = new Date();
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const expectedMs = Number.isFinite(effort.budgetMs) ? effort.budgetMs * 1.2 : 600_000;
  const report = (/** @type {string} */ doing) =>
    onProgress({ fraction: Math.min(0.99, elapsed() / expectedMs), doing });

  report('looking at the machine');
  const environment = await describeEnvironment({ ...options, signal });
  const stolenShare = watchStolenTime();
  const cores = environment.pinnedCores;
  if (cores && cores[0] === cores[1]) {
    throw new CrossingsError(
      'ERR_USAGE',
      'Two Node processes are compared on two cores: --cores takes two different ones here.',
    );
  }
  const pins = pinning(cores);
  if (!pins.possible)
    environment.warnings.push('The processes are not pinned: there is no taskset here (package util-linux).');
  const placement = cores ? ['--cores', cores.join(',')] : ['--no-pin'];

  /** @param {string} name @param {number} sizeBytes @param {{trips: number, messages: number}} work */
  const commandOf = (name, sizeBytes, { trips, messages }) => {
    const task = { transport: name, role: 'first', sizeBytes, trips, messages, prefix: pins.other };
    return [...(name === 'port' ? pins.both : pins.first), process.execPath, SIDE, JSON.stringify(task)];
  };
  const floor = async () => {
    const few = ['--mechanism', 'shm-spin', '--messages', 0, '--round-trips', 10, ...placement];
    return eventOf(await runProgram('crossings-bench', few, { signal }), 'floors').cacheLineRoundTripNs;
  };
  const named = (/** @type {string} */ name, /** @type {Promise<any>} */ work) =>
    work.catch((error) => {
      if (error instanceof CrossingsError) error.message = `${name}: ${error.message}`;
      throw error;
    });

  const crossings = new Map();
  for (const name of options.transports) {
    report(`counting the crossings of ${name}`);
    crossings.set(name, await named(name, countNode(name, commandOf, options.countMethod, signal)));
  }

  const all = options.transports.flatMap((name) => options.sizes.map((size) => new Series(name, size)));
  const helpers = options.transports.includes('ring-async') ? HELPERS.map((name) => new Series(name, 32)) : [];
  const references = measureReferences({ placement, signal });

  let rounds = 0;
  for (let longestMs = 0; rounds < effort.maxSamples; rounds++) {
    if (rounds >= effort.minSamples && elapsed() + longestMs > effort.budgetMs) break;
    const roundBegan = performance.now();
    for (const series of [...all, ...helpers]) {
      report(`sample ${rounds + 1}, ${series.name}, ${series.sizeBytes} bytes`);
      const before = await floor();
      const command = commandOf(series.name, series.sizeBytes, workload(series.name, series.sizeBytes));
      const events = await named(series.name, runNode(command, { signal }));
      series.add(eventOf(events, 'sample'), (before + (await floor())) / 2);
    }
    report(`sample ${rounds + 1}, the ring in C`);
    await references.sample();
    longestMs = Math.max(longestMs, performance.now() - roundBegan);
  }

  report('an idle channel');
  await references.idle();
  const stolen = stolenWarning(stolenShare());
  if (stolen) environment.warnings.push(stolen);
  return {
    schema: 'crossings/run/1',
    id: randomUUID(),
    startedAt: startedAt.toISOString(),
    tool: { version },
    environment,
    parameters: {
      messages: workload('ring', 64).messages,
      sizeBytes: 64,
      sizes: options.sizes,
      samples: rounds,
      mode: 'node',
      effort: options.effort,
      seconds: Number((elapsed() / 1000).toFixed(1)),
    },
    floors: {
      syscallNs: references.syscallNs(),
      cacheLineRoundTripNs: median(all.flatMap((series) => series.floorNs)),
    },
    results: all.map((series) => series.result(crossings.get(series.name))),
    ratios: references.ratios(
      new Map([...all, ...helpers].map((series) => [`${series.name} ${series.sizeBytes}`, series])),
    ),
  };
}

/**
 * The crossings of both Node processes: a slope, as in ../crossings.js. Node makes system calls of its own now and then,
 * so the numbers of messages are larger.
 * @param {string} name
 * @param {(name: string, sizeBytes: number, work: {trips: number, messages: number}) => string[]} commandOf
 * @param {string} countMethod
 * @param {AbortSignal} [signal]
 */
async function countNode(name, commandOf, countMethod, signal) {
  const many = transports[name].style === 'loop' ? 100 : 1;
  /** @param {number} trips @param {number} messages */
  const count = async (trips, messages) => {
    const command = commandOf(name, 64, { trips, messages });
    const events = await runProgram('crossings-count', ['--method', countMethod, '--', ...command], { signal });
    return eventOf(events, 'crossings');
  };
  try {
    const [tripsFew, tripsMany] = [2000 * many, 6000 * many];
    const [messagesFew, messagesMany] = [10_000 * many, 30_000 * many];
    const few = await count(tripsFew, messagesFew);
    const perTrip = slope(few, await count(tripsMany, messagesFew), (tripsMany - tripsFew) * 1.2); // warm-up trips, too
    const perMessage = slope(few, await count(tripsFew, messagesMany), messagesMany - messagesFew);
    return {
      perRoundTrip: Math.max(0, perTrip.total),
      perMessage: Math.max(0, perMessage.total),
      method: few.method,
      notice: few.notice,
      byName: perTrip.byName,
      byNamePerMessage: perMessage.byName,
    };
  } catch (error) {
    signal?.throwIfAborted();
    const notice = /** @type {Error} */ (error).message;
    return { perRoundTrip: null, perMessage: null, method: null, notice, byName: {}, byNamePerMessage: {} };
  }
}

/** The transports that are compared. */
const TRANSPORTS = Object.keys(transports).filter((name) => !HELPERS.includes(name));

/** @typedef {Awaited<ReturnType<typeof runNodeBench>>} NodeRun */

module.exports = { runNodeBench, TRANSPORTS, SIZES };
