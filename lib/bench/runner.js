'use strict';
// `crossings bench`: counts the crossings of each mechanism, then samples all mechanisms in turn until the medians are
// steady or the time is up. Each sample runs in a fresh pair of processes.
const { countCrossings } = require('../measure/crossings.js');
const { eventOf, runProgram } = require('../measure/programs.js');
const { beginRun } = require('../measure/run.js');
const { medianOrNull, Series } = require('../measure/series.js');
const { median } = require('../measure/statistics.js');
const { noticesOf, shapeOf } = require('./notices.js');

const PILOT_ROUND_TRIPS = 1000;
const MAX_ROUND_TRIPS = 100_000; // in one sample

/**
 * How long to measure. No round of samples begins that would end after budgetMs; tripsMs is the approximate time of the
 * round trips of one sample.
 * @typedef {{messages: number, budgetMs: number, minSamples: number, maxSamples: number, tripsMs: number}} Effort
 * @type {Record<'quick' | 'standard' | 'thorough', Effort>}
 */
const EFFORTS = {
  quick: { messages: 20_000, budgetMs: 19_000, minSamples: 3, maxSamples: 30, tripsMs: 150 },
  standard: { messages: 100_000, budgetMs: 88_000, minSamples: 3, maxSamples: 100, tripsMs: 500 },
  thorough: { messages: 100_000, budgetMs: Number.POSITIVE_INFINITY, minSamples: 30, maxSamples: 30, tripsMs: 500 },
};

/**
 * @typedef {object} SampleOptions
 * @property {number} sizeBytes of a message
 * @property {number} batch messages published at once, for mechanisms that support it
 * @property {boolean} realtime
 * @property {string} [program] another build's crossings-bench
 */

/**
 * @typedef {object} BenchOptions
 * @property {string[]} mechanisms
 * @property {number} messages per throughput pass
 * @property {number} sizeBytes of a message
 * @property {number} batch messages published at once, for mechanisms that support it
 * @property {'quick' | 'standard' | 'thorough'} effort
 * @property {number[] | null} cores two core numbers; null: chosen from the topology
 * @property {boolean} pin
 * @property {boolean} [sameCore] both processes on the first of the cores
 * @property {boolean} realtime
 * @property {string} countMethod 'auto', 'tracepoint' or 'ptrace'
 * @property {{name: string, title: string}[]} catalogue every mechanism
 */

/**
 * Receives, after each sample, the run file as of that sample, with only the mechanisms that have samples, and the name
 * of the mechanism that was sampled.
 * @typedef {(partial: Run, mechanism: string) => void} SampleListener
 */

/**
 * The mechanisms of the compiled benchmark. Those that are special take part in a comparison only if they are named.
 * @param {AbortSignal} [signal]
 * @param {string} [program] another build's crossings-bench
 */
async function listMechanisms(signal, program = 'crossings-bench') {
  const events = await runProgram(program, ['--list'], { signal });
  return events.map(({ name, title, source, special }) => ({
    special: special !== 0,
    name: /** @type {string} */ (name),
    title: /** @type {string} */ (title),
    source: /** @type {string} */ (source).replace(/^(\.\.\/)+/, ''),
  }));
}

/** The samples of one mechanism, and how many round trips one sample of it makes. */
class MechanismSeries extends Series {
  tripsPerSample = PILOT_ROUND_TRIPS;

  /** @param {string} mechanism */
  constructor(mechanism) {
    super();
    this.mechanism = mechanism;
  }

  /** @param {import('../measure/programs.js').ProgramEvent[]} events of one sample */
  addEvents(events) {
    const trips = eventOf(events, 'roundTrip');
    this.add({
      messagesPerSecond: eventOf(events, 'throughput').messagesPerSecond,
      values: trips.values,
      tripNs: trips.ns.p50,
      floorNs: eventOf(events, 'floors').cacheLineRoundTripNs,
    });
  }
}

/**
 * Round trips per sample: as many as fit into tripsMs, by the pilot's figure.
 * @param {number} pilotNs
 * @param {{tripsMs: number}} effort
 */
function tripsFor(pilotNs, effort) {
  const fitting = Math.round((effort.tripsMs * 1e6) / pilotNs / 100) * 100;
  return Math.min(Math.max(fitting, PILOT_ROUND_TRIPS), MAX_ROUND_TRIPS);
}

/**
 * One entry of the run file's `results`.
 * @param {MechanismSeries} series
 * @param {import('../measure/crossings.js').Crossings} crossings
 * @param {BenchOptions} options
 */
function resultOf(series, crossings, options) {
  return {
    mechanism: series.mechanism,
    title: options.catalogue.find(({ name }) => name === series.mechanism)?.title ?? series.mechanism,
    throughput: series.throughput(options.sizeBytes),
    roundTrip: { ...series.roundTrip(), histogram: series.roundTrips.histogram() },
    crossings,
    steady: series.isSteady(),
    shape: {
      throughput: shapeOf(series.rates, series.floorNs),
      roundTrip: shapeOf(series.tripNs, series.floorNs),
    },
  };
}

/**
 * Takes one sample in a fresh pair of processes.
 * @param {{mechanism: string, tripsPerSample: number}} series
 * @param {number} messages
 * @param {string[]} placement
 * @param {SampleOptions} options
 * @param {AbortSignal} [signal]
 */
async function takeSample({ mechanism, tripsPerSample }, messages, placement, options, signal) {
  const what = ['--mechanism', mechanism, '--messages', messages, '--size', options.sizeBytes];
  const how = ['--batch', options.batch, '--round-trips', tripsPerSample, ...(options.realtime ? ['--realtime'] : [])];
  try {
    return await runProgram(options.program ?? 'crossings-bench', [...what, ...how, ...placement], { signal });
  } catch (error) {
    if (!signal?.aborted && error instanceof Error && 'code' in error) error.message = `${mechanism}: ${error.message}`;
    throw error;
  }
}

/**
 * Measures. The result is a run file (schema crossings/run/1).
 * @param {BenchOptions} options
 * @param {import('../measure/run.js').RunControl & {onSample?: SampleListener}} [control]
 * @returns {Promise<Run>}
 */
async function runBench(options, { onSample, ...control } = {}) {
  const { signal } = control;
  const effort = EFFORTS[options.effort];
  const expectedMs = Number.isFinite(effort.budgetMs) ? effort.budgetMs : null;
  const run = await beginRun(options, expectedMs, control);

  const crossings = new Map();
  for (const mechanism of options.mechanisms) {
    run.report(`counting the crossings of ${mechanism}`);
    crossings.set(mechanism, await countCrossings(mechanism, run.placement, { ...options, signal }));
  }

  const all = options.mechanisms.map((mechanism) => new MechanismSeries(mechanism));
  /** @param {MechanismSeries} series @param {number} messages */
  const sample = (series, messages) => takeSample(series, messages, run.placement, options, signal);

  // The first sample of each is a pilot: it is discarded, and its round trips show how many fit into one sample's time.
  for (const series of all) {
    run.report(`warming up ${series.mechanism}`);
    const events = await sample(series, Math.ceil(options.messages / 10));
    series.tripsPerSample = tripsFor(eventOf(events, 'roundTrip').ns.p50, effort);
  }

  /** @type {number[]} */
  const syscallNs = [];
  /** @type {Map<string, ReturnType<typeof resultOf>>} */
  const results = new Map();
  /** @param {MechanismSeries} series */
  const reduce = (series) => results.set(series.mechanism, resultOf(series, crossings.get(series.mechanism), options));
  /** @param {number} samples */
  const fileOf = (samples) => {
    const { messages, sizeBytes, batch, effort: name, realtime } = options;
    return run.file(
      { messages, sizeBytes, batch, samples, mode: 'process', effort: name, realtime },
      {
        floors: {
          syscallNs: median(syscallNs),
          cacheLineRoundTripNs: medianOrNull(all.flatMap(({ floorNs }) => floorNs)),
        },
        results: [...results.values()],
        notices: noticesOf([...results.values()]),
      },
    );
  };

  /** @param {number} round */
  const takeRound = async (round) => {
    for (const [index, series] of all.entries()) {
      const done = (round + index / all.length) / effort.minSamples;
      run.report(`sample ${round + 1}, ${series.mechanism}`, done);
      const events = await sample(series, options.messages);
      series.addEvents(events);
      syscallNs.push(eventOf(events, 'floors').syscallNs);
      if (!onSample) continue;
      reduce(series);
      onSample(fileOf(round + 1), series.mechanism);
    }
  };
  const rounds = await run.takeRounds(effort, takeRound, () => all.every((series) => series.isSteady()));

  run.end();
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
 * @property {import('../measure/environment.js').Environment} environment
 * @property {{messages: number, sizeBytes: number, batch: number, samples: number, mode: string,
 *   effort: BenchOptions['effort'], realtime: boolean, seconds: number}} parameters
 * @property {{syscallNs: number, cacheLineRoundTripNs: number | null}} floors
 * @property {ReturnType<typeof resultOf>[]} results
 * @property {string[]} [notices] about the shape of the samples
 */

/** @typedef {Run['results'][number]} Result the result of one mechanism */

module.exports = { runBench, listMechanisms, takeSample, tripsFor, EFFORTS, PILOT_ROUND_TRIPS };
