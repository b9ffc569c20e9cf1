'use strict';
// `crossings bench node`: takes samples of all transports in turn. Each sample runs in new processes,
// with the cache-line floor measured right before and after it. references.js adds the ratios.
const { execFileSync } = require('node:child_process');
const { join } = require('node:path');
const { CrossingsError } = require('../../channel/errors.js');
const { eventOf, runNode, runProgram } = require('../../measure/programs.js');
const { RoundTrips } = require('../../measure/round-trips.js');
const { beginRun, unlessShortened } = require('../../measure/run.js');
const { Series } = require('../../measure/series.js');
const { median } = require('../../measure/statistics.js');
const { countCrossings } = require('./crossings.js');
const { measureReferences } = require('./references.js');
const { transports, workOf: wholeWorkOf } = require('./transports.js');

const SIDE = join(__dirname, 'side.js');
const SIZES = [32, 64, 65536];
const COUNTED_BYTES = 64;
const RATIO_BYTES = 32; // message size of transports that are measured only for a ratio
const EXPECTED_OF_BUDGET = 1.2;
const EXPECTED_THOROUGH_MS = 600_000;

/** @type {Record<'quick' | 'standard' | 'thorough', import('../../measure/run.js').Limits>} */
const EFFORTS = {
  quick: { budgetMs: 20_000, minSamples: 3, maxSamples: 30 },
  standard: { budgetMs: 100_000, minSamples: 5, maxSamples: 30 },
  thorough: { budgetMs: Number.POSITIVE_INFINITY, minSamples: 30, maxSamples: 30 },
};

/**
 * The command prefixes that pin a process to a core. They are empty if `cores` is null or taskset is missing.
 * @param {number[] | null} cores
 */
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
    both: on(String(cores)), // two threads of one process: the scheduler distributes them over the two cores
    possible: true,
  };
}

/**
 * The command that takes one sample of a transport.
 * @param {ReturnType<typeof pinning>} pins
 * @param {string} name
 * @param {number} sizeBytes
 * @param {import('./transports.js').Work} work
 */
function sampleCommand(pins, name, sizeBytes, { trips, messages }) {
  const { oneCore, oneProcess } = transports[name];
  const task = {
    transport: name,
    role: 'first',
    sizeBytes,
    trips,
    messages,
    prefix: oneCore ? pins.first : pins.other,
  };
  const prefix = oneProcess ? pins.both : pins.first;
  return [...prefix, process.execPath, SIDE, JSON.stringify(task)];
}

/** The work of one sample. @param {import('./transports.js').Transport} transport @param {number} sizeBytes */
function workOf(transport, sizeBytes) {
  const { trips, messages } = wholeWorkOf(transport, sizeBytes);
  return { trips: unlessShortened(trips), messages: unlessShortened(messages) };
}

/** The samples of one transport at one size. */
class TransportSeries extends Series {
  tripsPerReading = 1;

  /** @param {string} name @param {number} sizeBytes */
  constructor(name, sizeBytes) {
    super();
    this.name = name;
    this.sizeBytes = sizeBytes;
  }

  /** @param {any} sample as printed by side.js @param {number} floorNs */
  addSample({ messagesPerSecond, values, tripsPerReading }, floorNs) {
    const trips = new RoundTrips();
    trips.record(values);
    this.tripsPerReading = tripsPerReading;
    this.add({ messagesPerSecond, values, tripNs: Number(trips.summary().p50), floorNs });
  }

  /** One entry of the run file's `results`. @param {import('../../measure/crossings.js').Crossings} crossings */
  result(crossings) {
    const roundTrip = this.roundTrip();
    return {
      mechanism: this.name,
      title: transports[this.name].title,
      sizeBytes: this.sizeBytes,
      throughput: this.throughput(this.sizeBytes),
      roundTrip: {
        ...roundTrip,
        count: roundTrip.count * this.tripsPerReading,
        tripsPerReading: this.tripsPerReading,
      },
      crossings,
    };
  }
}

/** Prefixes an error with the name of its transport. @template T @param {string} name @param {Promise<T>} work */
async function named(name, work) {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CrossingsError) error.message = `${name}: ${error.message}`;
    throw error;
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
 * Run the benchmark. Returns a run file (schema crossings/run/1) with one result per transport and size, and the ratios.
 * @param {NodeBenchOptions} options
 * @param {import('../../measure/run.js').RunControl} [control]
 */
async function runNodeBench(options, control = {}) {
  const { signal } = control;
  const effort = EFFORTS[options.effort];
  const budgeted = Number.isFinite(effort.budgetMs);
  const run = await beginRun(options, budgeted ? effort.budgetMs * EXPECTED_OF_BUDGET : EXPECTED_THOROUGH_MS, control);
  const { environment, placement } = run;
  const cores = environment.pinnedCores;
  if (cores && cores[0] === cores[1]) {
    throw new CrossingsError('ERR_USAGE', `bench node needs two different cores; got --cores ${cores.join(',')}.`);
  }
  const pins = pinning(cores);
  if (!pins.possible) {
    environment.warnings.push('The processes are not pinned: taskset is not installed (package util-linux).');
  }

  const floor = async () => {
    const few = ['--mechanism', 'shm-spin', '--messages', 0, '--round-trips', 10, ...placement];
    return eventOf(await runProgram('crossings-bench', few, { signal }), 'floors').cacheLineRoundTripNs;
  };
  /** @param {TransportSeries} series */
  const sample = async ({ name, sizeBytes }) => {
    const command = sampleCommand(pins, name, sizeBytes, workOf(transports[name], sizeBytes));
    return eventOf(await named(name, runNode(command, { signal })), 'sample');
  };

  const crossings = new Map();
  for (const name of options.transports) {
    run.report(`counting the crossings of ${name}`);
    /** @param {import('./transports.js').Work} work */
    const commandOf = (work) => sampleCommand(pins, name, COUNTED_BYTES, work);
    const counting = countCrossings(transports[name], commandOf, { countMethod: options.countMethod, signal });
    crossings.set(name, await named(name, counting));
  }

  const compared = options.transports.flatMap((name) => options.sizes.map((size) => new TransportSeries(name, size)));
  const helpers = Object.keys(transports)
    .filter((name) => options.transports.includes(String(transports[name].ratioWith)))
    .map((name) => new TransportSeries(name, RATIO_BYTES));
  const all = [...compared, ...helpers];
  const measuresNode = helpers.length > 0; // true if ring-async, the transport that the helpers belong to, is selected
  const references = measureReferences({ placement, signal });

  const rounds = await run.takeRounds(effort, async (round) => {
    for (const series of all) {
      run.report(`sample ${round + 1}, ${series.name}, ${series.sizeBytes} bytes`);
      const before = await floor();
      const taken = await sample(series);
      series.addSample(taken, (before + (await floor())) / 2);
    }
    run.report(`sample ${round + 1}, the ring in C`);
    await references.sample();
    if (measuresNode) {
      run.report(`sample ${round + 1}, eight senders, and a timer beside a channel and under a flood`);
      await references.sampleInNode();
    }
  });

  run.report('an idle channel');
  await references.idle();
  run.end();
  return run.file(
    {
      messages: workOf(transports.ring, COUNTED_BYTES).messages,
      sizeBytes: COUNTED_BYTES,
      sizes: options.sizes,
      samples: rounds,
      mode: 'node',
      effort: options.effort,
    },
    {
      floors: {
        syscallNs: references.syscallNs(),
        cacheLineRoundTripNs: median(compared.flatMap(({ floorNs }) => floorNs.filter((ns) => ns !== null))),
      },
      results: compared.map((series) => series.result(crossings.get(series.name))),
      ratios: references.ratios(
        (name, sizeBytes) => all.find((series) => series.name === name && series.sizeBytes === sizeBytes),
        (name) => [crossings.get(name)?.perRoundTrip ?? []].flat(),
      ),
    },
  );
}

/** The transports in the table. */
const TRANSPORTS = Object.keys(transports).filter((name) => transports[name].ratioWith === undefined);

/** @typedef {Awaited<ReturnType<typeof runNodeBench>>} NodeRun */

module.exports = { runNodeBench, TRANSPORTS, SIZES };
