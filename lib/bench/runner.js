'use strict';
// One run: the environment, the crossings of each mechanism, then samples of all mechanisms taken in turn until the
// medians are steady or the time is up. Each sample is a fresh pair of processes.
const { randomUUID } = require('node:crypto');
const { version } = require('../../package.json');
const { countCrossings } = require('./crossings.js');
const { describeEnvironment, stolenWarning, watchStolenTime } = require('./environment.js');
const { eventOf, runProgram } = require('./programs.js');
const { RoundTrips } = require('./round-trips.js');
const { isSteady, median, medianInterval, summarize } = require('./statistics.js');

const SCHEMA = 'crossings/run/1';
const STEADY_TOLERANCE = 0.02;
const PILOT_ROUND_TRIPS = 1000;
const MOST_ROUND_TRIPS = 100_000; // in one sample

/**
 * How much trouble to take. budgetMs: begin no round of samples that would end past it; tripsMs: about how long the
 * round trips of one sample take.
 * @typedef {{messages: number, budgetMs: number, minSamples: number, maxSamples: number, tripsMs: number}} Effort
 * @type {Record<'quick' | 'standard' | 'thorough', Effort>}
 */
const EFFORTS = {
  quick: { messages: 20_000, budgetMs: 19_000, minSamples: 3, maxSamples: 30, tripsMs: 150 },
  standard: { messages: 100_000, budgetMs: 88_000, minSamples: 3, maxSamples: 100, tripsMs: 500 },
  thorough: { messages: 100_000, budgetMs: Number.POSITIVE_INFINITY, minSamples: 30, maxSamples: 30, tripsMs: 500 },
};

/**
 * @typedef {object} BenchOptions
 * @property {string[]} mechanisms
 * @property {number} messages of one throughput pass
 * @property {number} sizeBytes of a message
 * @property {number} batch messages shown at once, by mechanisms that can
 * @property {'quick' | 'standard' | 'thorough'} effort
 * @property {number[] | null} cores two core numbers; null: chosen from the topology
 * @property {boolean} pin
 * @property {boolean} realtime
 * @property {string} countMethod 'auto', 'tracepoint' or 'ptrace'
 * @property {{name: string, title: string}[]} catalogue every mechanism there is
 */

/**
 * Told now and then how far a run has come.
 * @typedef {(progress: {fraction: number, doing: string}) => void} ProgressListener
 */

/**
 * Told after each sample: the run file as it would be if this had been the last one, with the mechanisms that have
 * samples, and the name of the mechanism that the sample was of.
 * @typedef {(partial: Run, mechanism: string) => void} SampleListener
 */

/** The mechanisms that the compiled benchmark knows. @param {AbortSignal} [signal] */
async function listMechanisms(signal) {
  const events = await runProgram('crossings-bench', ['--list'], { signal });
  return events.map(({ name, title, source }) => ({
    name: /** @type {string} */ (name),
    title: /** @type {string} */ (title),
    source: /** @type {string} */ (source).replace(/^(\.\.\/)+/, ''),
  }));
}

/** What was gathered of one mechanism. */
class Series {
  /** @type {number[]} */ messagesPerSecond = [];
  /** @type {number[]} */ tripNs = []; // the median of each sample's round trips
  /** @type {(number | null)[]} */ floorNs = []; // the cache-line floor beside each
  roundTrips = new RoundTrips();
  tripsPerSample = PILOT_ROUND_TRIPS;

  /** @param {string} mechanism */
  constructor(mechanism) {
    this.mechanism = mechanism;
  }

  /** @param {import('./programs.js').ProgramEvent[]} events of one sample */
  add(events) {
    const trips = eventOf(events, 'roundTrip');
    this.messagesPerSecond.push(eventOf(events, 'throughput').messagesPerSecond);
    this.tripNs.push(trips.ns.p50);
    this.floorNs.push(eventOf(events, 'floors').cacheLineRoundTripNs);
    this.roundTrips.record(trips.values);
  }

  isSteady() {
    return isSteady(this.messagesPerSecond, STEADY_TOLERANCE) && isSteady(this.tripNs, STEADY_TOLERANCE);
  }
}

/**
 * Round trips a sample: as many as fill the time, judged by the pilot.
 * @param {number} pilotNs
 * @param {Effort} effort
 */
function tripsFor(pilotNs, effort) {
  const fitting = Math.round((effort.tripsMs * 1e6) / pilotNs / 100) * 100;
  return Math.min(Math.max(fitting, PILOT_ROUND_TRIPS), MOST_ROUND_TRIPS);
}

/** @param {(number | null)[]} values */
const known = (values) => values.filter((value) => value !== null);

/** @param {(number | null)[]} values @returns {number | null} */
const medianOrNull = (values) => (known(values).length > 0 ? median(/** @type {number[]} */ (known(values))) : null);

/**
 * One entry of the run file's `results`.
 * @param {Series} series
 * @param {import('./crossings.js').Crossings} crossings
 * @param {BenchOptions} options
 */
function resultOf(series, crossings, options) {
  const overFloor = series.tripNs.flatMap((ns, i) => {
    const floor = series.floorNs[i];
    return floor === null ? [] : [ns / floor];
  });
  const bytes = series.messagesPerSecond.map((rate) => rate * options.sizeBytes);
  return {
    mechanism: series.mechanism,
    title: options.catalogue.find(({ name }) => name === series.mechanism)?.title ?? series.mechanism,
    throughput: {
      messagesPerSecond: {
        ...summarize(series.messagesPerSecond),
        interval95: medianInterval(series.messagesPerSecond),
        samples: [...series.messagesPerSecond],
      },
      bytesPerSecond: summarize(bytes),
    },
    roundTrip: {
      count: series.roundTrips.count,
      floorNs: medianOrNull(series.floorNs),
      overFloor: overFloor.length > 0 ? summarize(overFloor) : null,
      ns: series.roundTrips.summary(),
      sampleP50Ns: [...series.tripNs],
      sampleFloorNs: [...series.floorNs],
      distribution: series.roundTrips.distribution(),
      histogram: series.roundTrips.histogram(),
    },
    crossings,
    steady: series.isSteady(),
  };
}

/**
 * Measure. The result is a run file (schema crossings/run/1).
 * @param {BenchOptions} options
 * @param {{signal?: AbortSignal, id?: string, onProgress?: ProgressListener, onSample?: SampleListener}} [control]
 * @returns {Promise<Run>}
 */
async function runBench(options, { signal, id = randomUUID(), onProgress = () => {}, onSample } = {}) {
  const effort = EFFORTS[options.effort];
  const startedAt = new Date();
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const expectedMs = Number.isFinite(effort.budgetMs) ? effort.budgetMs : null;
  /** @param {string} doing @param {number} share of the samples, when there is no budget */
  const report = (doing, share) =>
    onProgress({ fraction: Math.min(0.99, Math.max(expectedMs ? elapsed() / expectedMs : 0, share)), doing });

  report('looking at the machine', 0);
  const environment = await describeEnvironment({ ...options, signal });
  const stolenShare = watchStolenTime();
  const placement = options.pin
    ? ['--cores', /** @type {number[]} */ (environment.pinnedCores).join(',')]
    : ['--no-pin'];

  const crossings = new Map();
  for (const mechanism of options.mechanisms) {
    report(`counting the crossings of ${mechanism}`, 0);
    crossings.set(mechanism, await countCrossings(mechanism, placement, { ...options, signal }));
  }

  const all = options.mechanisms.map((mechanism) => new Series(mechanism));
  /** @type {number[]} */
  const syscallNs = [];
  /** @param {Series} series @param {number} messages */
  const sample = async ({ mechanism, tripsPerSample }, messages) => {
    const what = [
      '--mechanism',
      mechanism,
      '--messages',
      messages,
      '--size',
      options.sizeBytes,
      '--batch',
      options.batch,
    ];
    const how = ['--round-trips', tripsPerSample, ...placement, ...(options.realtime ? ['--realtime'] : [])];
    try {
      return await runProgram('crossings-bench', [...what, ...how], { signal });
    } catch (error) {
      if (!signal?.aborted && error instanceof Error && 'code' in error)
        error.message = `${mechanism}: ${error.message}`;
      throw error;
    }
  };

  // The first sample of each is thrown away; its round trips tell how many fit into the time of one.
  for (const series of all) {
    report(`warming up ${series.mechanism}`, 0);
    const events = await sample(series, Math.ceil(options.messages / 10));
    series.tripsPerSample = tripsFor(eventOf(events, 'roundTrip').ns.p50, effort);
  }

  /** @type {Map<string, ReturnType<typeof resultOf>>} */
  const results = new Map();
  /** @param {number} samples */
  const fileOf = (samples) => ({
    schema: SCHEMA,
    id,
    startedAt: startedAt.toISOString(),
    tool: { version },
    environment,
    parameters: {
      messages: options.messages,
      sizeBytes: options.sizeBytes,
      batch: options.batch,
      samples,
      mode: 'process',
      effort: options.effort,
      realtime: options.realtime,
      seconds: Number((elapsed() / 1000).toFixed(1)),
    },
    floors: {
      syscallNs: median(syscallNs),
      cacheLineRoundTripNs: medianOrNull(all.flatMap((series) => series.floorNs)),
    },
    results: [...results.values()],
  });
  /** @param {Series} series */
  const reduce = (series) => results.set(series.mechanism, resultOf(series, crossings.get(series.mechanism), options));

  let rounds = 0;
  for (let longestMs = 0; rounds < effort.maxSamples; rounds++) {
    if (rounds >= effort.minSamples && elapsed() + longestMs > effort.budgetMs) break;
    if (rounds >= effort.minSamples && options.effort !== 'thorough' && all.every((series) => series.isSteady())) break;
    const roundBegan = performance.now();
    for (const [index, series] of all.entries()) {
      report(
        `sample ${rounds + 1}, ${series.mechanism}`,
        expectedMs ? 0 : (rounds + index / all.length) / effort.minSamples,
      );
      const events = await sample(series, options.messages);
      series.add(events);
      syscallNs.push(eventOf(events, 'floors').syscallNs);
      if (onSample) {
        reduce(series);
        onSample(fileOf(rounds + 1), series.mechanism);
      }
    }
    longestMs = Math.max(longestMs, performance.now() - roundBegan);
  }

  const stolen = stolenWarning(stolenShare());
  if (stolen) environment.warnings.push(stolen);
  for (const series of all) reduce(series);
  return fileOf(rounds);
}

/**
 * A run file.
 * @typedef {object} Run
 * @property {string} schema
 * @property {string} id
 * @property {string} startedAt
 * @property {{version: string}} tool
 * @property {Awaited<ReturnType<typeof describeEnvironment>>} environment
 * @property {{messages: number, sizeBytes: number, batch: number, samples: number, mode: string,
 *   effort: BenchOptions['effort'], realtime: boolean, seconds: number}} parameters
 * @property {{syscallNs: number, cacheLineRoundTripNs: number | null}} floors
 * @property {ReturnType<typeof resultOf>[]} results
 */

/** @typedef {Run['results'][number]} Result one mechanism of a run file */

module.exports = { runBench, listMechanisms, EFFORTS };
