'use strict';
// Takes the samples of `crossings bill`: rounds in which every configuration of every mechanism runs once, in an order
// that rotates from round to round.
const { CrossingsError } = require('../../channel/errors.js');
const { listMechanisms } = require('../../bench/runner.js');
const { countRoundTrip } = require('../../measure/crossings.js');
const { eventOf, runProgram } = require('../../measure/programs.js');
const { beginRun } = require('../../measure/run.js');
const { median } = require('../../measure/statistics.js');
const { Bill } = require('./bill.js');
const { USUAL_SIZE, programName, readMechanisms } = require('./mechanisms.js');
const { explain, judge } = require('./sentences.js');

const PILOT_ROUND_TRIPS = 500;
const MAX_ROUND_TRIPS = 100_000;

/** How long to measure; see lib/bench/runner.js. @type {Record<string, import('../../measure/run.js').Limits & {tripsMs: number}>} */
const EFFORTS = {
  quick: { budgetMs: 22_000, minSamples: 7, maxSamples: 20, tripsMs: 80 },
  standard: { budgetMs: 85_000, minSamples: 7, maxSamples: 60, tripsMs: 150 },
  thorough: { budgetMs: Number.POSITIVE_INFINITY, minSamples: 100, maxSamples: 100, tripsMs: 200 },
};

/** @typedef {InstanceType<typeof Bill>} OneBill */
/** @typedef {import('./parts.js').Configuration} Configuration */
/** @typedef {{syscallNs: number, copyNs?: number, cacheLineNs: number | null, ns: number}} Sample */

/**
 * One sample of one configuration, in fresh processes.
 * @param {OneBill} bill
 * @param {Configuration} configuration
 * @param {{roundTrips: number, sizeBytes: number, signal?: AbortSignal}} options
 * @returns {Promise<Sample>}
 */
async function takeSample(bill, { name, options }, { roundTrips, sizeBytes, signal }) {
  const what = ['--mechanism', programName(bill.mechanism), '--messages', 0, '--round-trips', roundTrips];
  try {
    const events = await runProgram('crossings-bench', [...what, '--size', sizeBytes, ...options(bill.cores)], {
      signal,
    });
    const floors = eventOf(events, 'floors');
    const { syscallNs, copyNs, cacheLineRoundTripNs: cacheLineNs } = floors;
    return { syscallNs, copyNs, cacheLineNs, ns: eventOf(events, 'roundTrip').ns.p50 };
  } catch (error) {
    if (error instanceof CrossingsError && error.code !== 'ERR_SCHED_IDLE')
      error.message = `${bill.mechanism}, ${name}: ${error.message}`;
    throw error;
  }
}

/** The round of one bill, from the samples of its configurations. @param {Map<string, Sample>} samples */
function roundOf(samples) {
  const all = [...samples.values()];
  return {
    ns: Object.fromEntries([...samples].map(([name, { ns }]) => [name, ns])),
    syscallNs: median(all.map(({ syscallNs }) => syscallNs)),
    copyNs: /** @type {number} */ (samples.get('alone')?.copyNs),
    cacheLineNs: samples.get('two-cores')?.cacheLineNs ?? null,
  };
}

/**
 * @param {string[]} mechanisms
 * @param {number[]} cores
 * @param {AbortSignal} [signal]
 */
async function newBills(mechanisms, cores, signal) {
  const catalogue = await listMechanisms(signal);
  return mechanisms.map((name) => {
    const title = catalogue.find((entry) => entry.name === programName(name))?.title ?? name;
    return new Bill(name, title, cores);
  });
}

/**
 * Removes the configuration with spinning processes where the system forbids SCHED_IDLE.
 * @param {OneBill[]} bills
 * @param {{sizeBytes: number, signal?: AbortSignal}} options
 */
async function tryKeepingAwake([first, ...others], options) {
  const configuration = first.configurations.find(({ name }) => name === 'two-cores-awake');
  if (!configuration) return;
  try {
    await takeSample(first, configuration, { ...options, roundTrips: PILOT_ROUND_TRIPS });
  } catch (error) {
    if (!(error instanceof CrossingsError) || error.code !== 'ERR_SCHED_IDLE') throw error;
    for (const bill of [first, ...others]) bill.exclude(configuration.name, error.message);
  }
}

/**
 * Measures. The result is a file of schema crossings/bill/1: the members of the first mechanism, and `others`.
 * @param {import('../command.js').ExperimentOptions} options `mechanism` (comma-separated, or "all"), `size` in bytes,
 *   and, to replace those of the effort, `rounds` and `roundTrips` per sample
 * @param {import('../command.js').ExperimentControl} [control]
 */
async function runBill(options, control = {}) {
  const { signal, onPartial } = control;
  const mechanisms = readMechanisms(options.mechanism);
  const sizeBytes = Number(options.size ?? USUAL_SIZE);
  const { rounds, roundTrips } = options;
  const limits = EFFORTS[options.effort];
  const expectedMs = Number.isFinite(limits.budgetMs) && !rounds ? limits.budgetMs : null;
  const run = await beginRun({ cores: options.cores, pin: true }, expectedMs, control, 'crossings/bill/1');
  const cores = /** @type {number[]} */ (run.environment.pinnedCores);
  const bills = await newBills(mechanisms, cores, signal);
  run.report('trying to keep the cores awake');
  await tryKeepingAwake(bills, { sizeBytes, signal });
  /** @type {{bill: OneBill, configuration: Configuration, roundTrips: number}[]} */
  const samples = bills.flatMap((bill) =>
    bill.configurations.map((configuration) => ({ bill, configuration, roundTrips: roundTrips ?? PILOT_ROUND_TRIPS })),
  );

  for (const { bill, configuration } of samples.filter((sample) => sample.configuration.counted)) {
    run.report(`counting the system calls of ${bill.mechanism}, ${configuration.name}`);
    const placement = configuration.options(cores);
    const counting = { sizeBytes, countMethod: 'auto', signal };
    bill.counts.set(configuration.name, await countRoundTrip(programName(bill.mechanism), placement, counting));
  }
  if (!roundTrips) {
    // The pilot: it also warms up whatever is slower the first time.
    for (const sample of samples) {
      run.report(`pilot, ${sample.bill.mechanism}, ${sample.configuration.name}`);
      const { ns } = await takeSample(sample.bill, sample.configuration, { ...sample, sizeBytes, signal });
      const fitting = Math.round((limits.tripsMs * 1e6) / ns / 100) * 100;
      sample.roundTrips = Math.min(Math.max(fitting, PILOT_ROUND_TRIPS), MAX_ROUND_TRIPS);
    }
  }

  /** @param {number} taken rounds */
  const fileOf = (taken) => {
    const [first, ...others] = bills.map((bill) => bill.summary());
    return run.file({ effort: options.effort, sizeBytes, rounds: taken }, { ...first, others });
  };
  /** @param {number} round */
  const takeRound = async (round) => {
    /** @type {Map<OneBill, Map<string, Sample>>} */
    const taken = new Map(bills.map((bill) => [bill, new Map()]));
    for (let i = 0; i < samples.length; i++) {
      const { bill, configuration, roundTrips: trips } = samples[(i + round) % samples.length];
      const done = (round + i / samples.length) / (rounds ?? limits.minSamples);
      run.report(`round ${round + 1}, ${bill.mechanism}, ${configuration.name}`, done);
      const sample = await takeSample(bill, configuration, { roundTrips: trips, sizeBytes, signal });
      taken.get(bill)?.set(configuration.name, sample);
    }
    for (const [bill, one] of taken) bill.rounds.push(roundOf(one));
    onPartial?.({ ...fileOf(round + 1), sentences: [], verdict: 'unknown' });
  };
  const exactly = rounds ? { budgetMs: 0, minSamples: rounds, maxSamples: rounds } : limits;
  const taken = await run.takeRounds(exactly, takeRound);
  run.end();
  const file = fileOf(taken);
  return { ...file, sentences: explain(file), verdict: judge(file) };
}

/** @typedef {Awaited<ReturnType<typeof runBill>>} BillFile */

module.exports = { runBill };
