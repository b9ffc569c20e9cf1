'use strict';
// A small sweep without and with each instrument that this machine permits: the system calls traced by ptrace, traced by
// a kernel tracepoint, and the processor's own counters. In each round, the instruments take turns.
const { eventOf, programPath, runProgram } = require('../../measure/programs.js');
const { median } = require('../../measure/statistics.js');
const { pointText } = require('./arguments.js');
const { FEWEST_SIZES } = require('./curves.js');
const { rateOf, shuffled } = require('./samples.js');

const MAX_WRITES = 4096; // a traced system call takes up to 0.1 ms
const PROGRAM = 'crossings-sweep';
const PLAIN = 'no instrument';
const COUNTERS = 'hardware counters';
const SHARE_BEFORE = 0.85; // of a run's progress, when the instruments begin

/** Rounds until the budget is spent, the first of which is discarded; and the most sizes. */
const LIMITS = {
  quick: { budgetMs: 9_000, minSamples: 9, maxSamples: 9, mostSizes: 5 },
  standard: { budgetMs: 40_000, minSamples: 11, maxSamples: 17, mostSizes: 10 },
  thorough: { budgetMs: 120_000, minSamples: 17, maxSamples: 31, mostSizes: 10 },
};

/** @typedef {import('./arguments.js').Plan} Plan */
/** @typedef {import('./arguments.js').Configuration} Configuration */

/** The configuration to probe: the document's, a pipe between two threads, if it is in the plan. @param {Plan} plan */
function probedConfiguration({ configurations }) {
  const rank = (/** @type {Configuration} */ { mechanism, mode, buffers }) =>
    (mechanism === 'pipe' ? 0 : mechanism === 'ring' ? 8 : 4) +
    (mode === 'thread' ? 0 : 2) +
    (buffers === 'default' ? 0 : 1);
  return [...configurations].sort((a, b) => rank(a) - rank(b))[0];
}

/** At most `most` of the sizes, evenly spaced from the first. @param {number[]} sizes @param {number} most */
function thinned(sizes, most) {
  const step = Math.ceil(sizes.length / most);
  return sizes.filter((_, index) => index % step === 0);
}

/** @param {string} name of an instrument @param {string} reason why this machine refuses it */
const refusal = (name, reason) => `Not possible here: ${name} (${reason}).`;

/**
 * @typedef {object} Instrument
 * @property {boolean} allowed
 * @property {string} reason why not
 * @property {(args: (string | number)[]) => Promise<any[]>} run crossings-sweep under it
 */

/**
 * The instruments that work on this machine, decided by trying.
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Record<string, Instrument>>}
 */
async function findInstruments(signal) {
  const methods = eventOf(await runProgram('crossings-count', ['--probe'], { signal }), 'methods');
  const counters = eventOf(await runProgram(PROGRAM, ['--probe'], { signal }), 'counters');
  const traced = (/** @type {string} */ method) => ({
    allowed: methods[method].allowed === 'yes',
    reason: methods[method].reason,
    /** @param {(string | number)[]} args */
    run: (args) => runProgram('crossings-count', ['--method', method, '--', programPath(PROGRAM), ...args], { signal }),
  });
  return {
    'tracing by ptrace': traced('ptrace'),
    'tracing by a perf tracepoint': traced('tracepoint'),
    [COUNTERS]: {
      allowed: counters.allowed === 'yes',
      reason: counters.reason,
      /** @param {(string | number)[]} args */
      run: (args) => runProgram(PROGRAM, ['--counters', ...args], { signal }),
    },
  };
}

/** The medians of the counters at each size, per byte moved. @param {any[][]} rounds of "sample" events, by size */
function summarizeCounters(rounds) {
  return rounds[0].map((first, index) => {
    const values = (/** @type {string} */ name) =>
      median(rounds.map((round) => round[index].counters[name] / round[index].totalBytes));
    return {
      sizeBytes: first.sizeBytes,
      cacheMissesPerKiB: values('cacheMisses') * 1024,
      cacheReferencesPerKiB: values('cacheReferences') * 1024,
      cyclesPerByte: values('cycles'),
      instructionsPerByte: values('instructions'),
    };
  });
}

/** The samples that a program printed, by size. @param {any[]} events */
const samplesOf = (events) => events.filter(({ type }) => type === 'sample').sort((a, b) => a.sizeBytes - b.sizeBytes);

/**
 * @param {Plan} plan
 * @param {'quick' | 'standard' | 'thorough'} effort
 * @param {any} run in progress
 * @param {AbortSignal | undefined} signal
 * @param {Record<string, Instrument>} [instruments]
 */
async function probe(plan, effort, run, signal, instruments) {
  const configuration = probedConfiguration(plan);
  const limits = LIMITS[effort];
  const sizes = thinned(plan.sizes, limits.mostSizes);
  run.report('trying the instruments', SHARE_BEFORE);
  const found = Object.entries(instruments ?? (await findInstruments(signal)));
  const refusals = found.filter(([, { allowed }]) => !allowed).map(([name, { reason }]) => refusal(name, reason));
  /** @type {{run: Instrument['run'], rounds: any[][]}} */
  const plain = { run: (args) => runProgram(PROGRAM, args, { signal }), rounds: [] };
  const lines = new Map([[PLAIN, plain]]);
  for (const [name, instrument] of found) {
    if (instrument.allowed) lines.set(name, { run: instrument.run, rounds: [] });
  }
  const maxWrites = Math.min(plan.maxWrites || MAX_WRITES, MAX_WRITES);
  const common = ['--total', plan.totalBytes, '--max-writes', maxWrites, ...run.placement];

  const takeRound = async (/** @type {number} */ round) => {
    if (lines.size === 1) return;
    const points = shuffled(sizes, plan.seed + round).map((size) => pointText(configuration, size));
    for (const [name, line] of shuffled([...lines], plan.seed + round)) {
      run.report(name, SHARE_BEFORE + ((1 - SHARE_BEFORE) * round) / limits.maxSamples);
      try {
        const samples = samplesOf(await line.run([...common, ...points]));
        if (round > 0) line.rounds.push(samples);
      } catch (error) {
        // On a busy machine, an instrument may lose records. The sweep continues without it.
        signal?.throwIfAborted();
        if (line === plain) throw error;
        lines.delete(name);
        refusals.push(refusal(name, /** @type {Error} */ (error).message));
      }
    }
  };
  const budgetMs = run.elapsedMs() + limits.budgetMs;
  if (lines.size > 1 && sizes.length >= FEWEST_SIZES) await run.takeRounds({ ...limits, budgetMs }, takeRound);

  const rates = (/** @type {any[][]} */ rounds) => rounds.map((round) => round.map(rateOf));
  const counted = lines.get(COUNTERS)?.rounds ?? [];
  const probed = [...lines].filter(([name]) => name !== PLAIN);
  return {
    configuration,
    sizes,
    refusals,
    probed: probed.map(([instrument, { rounds }]) => {
      return { instrument, raw: rates(plain.rounds), instrumented: rates(rounds) };
    }),
    counters: counted.length > 0 ? summarizeCounters(counted) : null,
  };
}

module.exports = { probe, SHARE_BEFORE };
