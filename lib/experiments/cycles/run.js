'use strict';
// `crossings cycles`: samples a function call and every mechanism of the table in turn, each in fresh processes.
const os = require('node:os');
const { listMechanisms } = require('../../bench/runner.js');
const { countCrossings } = require('../../measure/crossings.js');
const { eventOf, runProgram } = require('../../measure/programs.js');
const { beginRun } = require('../../measure/run.js');
const { medianOrNull } = require('../../measure/series.js');
const { isSteady, median } = require('../../measure/statistics.js');
const { figureOf, figureOrNull, scale } = require('../figure.js');
const { DOCUMENT, ROWS } = require('./document.js');
const { explain, judge } = require('./sentences.js');

const SCHEMA = 'crossings/cycles/1';
const PILOT_TRIPS = 1000;
const MAX_TRIPS = 100_000; // in one sample
const STEADY_TOLERANCE = 0.02; // of the median

/** @typedef {import('../../measure/run.js').Limits & {tripsMs: number}} Effort tripsMs: of one sample */
/** @type {Record<'quick' | 'standard' | 'thorough', Effort>} */
const EFFORTS = {
  quick: { budgetMs: 22_000, minSamples: 6, maxSamples: 30, tripsMs: 100 },
  standard: { budgetMs: 85_000, minSamples: 6, maxSamples: 100, tripsMs: 300 },
  thorough: { budgetMs: Number.POSITIVE_INFINITY, minSamples: 30, maxSamples: 30, tripsMs: 500 },
};

/** The samples of one row. */
class RowSamples {
  /** @type {number[]} */ ns = [];
  /** @type {number[]} */ overCall = [];
  /** @type {(number | null)[]} */ overFloor = [];
  trips = PILOT_TRIPS; // of the next sample
  /** @type {number | null} */ crossings = null;

  /** @param {import('./document.js').RowPlan} plan */
  constructor(plan) {
    this.plan = plan;
  }

  /** @param {number} ns @param {number} callNs of the same round @param {number | null} floorNs beside it */
  add(ns, callNs, floorNs) {
    this.ns.push(ns);
    this.overCall.push(ns / callNs);
    this.overFloor.push(floorNs === null ? null : ns / floorNs);
  }
}

/**
 * What a cycle is here.
 * @param {any} clock of the environment
 * @param {number | null} coreGHz measured
 * @returns {{source: 'tsc' | 'stated' | null, GHz: number | null, coreGHz: number | null}}
 */
function cycleOf(clock, coreGHz) {
  if (clock.source === 'tsc') return { source: 'tsc', GHz: clock.ticksPerSecond / 1e9, coreGHz };
  const stated = os.cpus()[0]?.speed ?? 0; // MHz
  return stated > 0 ? { source: 'stated', GHz: stated / 1e3, coreGHz } : { source: null, GHz: null, coreGHz };
}

/** @param {RowSamples} row @param {number | null} cyclesPerNs */
function rowOf({ plan, ns, overCall, overFloor, crossings }, cyclesPerNs) {
  const intervalNs = figureOf(ns);
  const interval = cyclesPerNs === null ? null : scale(intervalNs, cyclesPerNs);
  const call = ROWS[0].document?.cycles ?? Number.NaN;
  return {
    name: plan.name,
    kind: plan.kind,
    title: plan.title,
    cycles: interval?.median ?? null,
    ns: intervalNs.median,
    interval,
    intervalNs,
    overCall: plan.kind === 'call' ? null : figureOf(overCall),
    overFloor: plan.kind === 'mechanism' ? figureOrNull(overFloor) : null,
    crossings,
    document: plan.document && { ...plan.document, overCall: plan.document.cycles / call },
    samplesNs: ns,
  };
}

/** @typedef {ReturnType<typeof rowOf>} Row */

/**
 * @param {import('../command.js').ExperimentOptions} options `rounds`: take exactly this many
 * @param {import('../command.js').ExperimentControl} [control]
 */
async function runCycles(options, { onPartial, ...control } = {}) {
  const { signal } = control;
  const sizeBytes = options.size ?? DOCUMENT.sizeBytes;
  const effort = EFFORTS[options.effort];
  const limits = options.rounds
    ? { budgetMs: Number.POSITIVE_INFINITY, minSamples: options.rounds, maxSamples: options.rounds }
    : effort;
  const expectedMs = Number.isFinite(limits.budgetMs) ? limits.budgetMs : null;
  const run = await beginRun(options, expectedMs, control, SCHEMA);

  const existing = (await listMechanisms(signal)).map(({ name }) => name);
  const present = ROWS.filter(({ name, kind }) => kind !== 'mechanism' || existing.includes(name));
  const missing = ROWS.filter((plan) => !present.includes(plan)).map(({ name }) => name);
  const rows = present.map((plan) => new RowSamples(plan));
  const mechanisms = rows.filter(({ plan }) => plan.kind === 'mechanism');
  const [call, line, syscall] = rows;

  /** @param {RowSamples} row */
  const sample = async ({ plan, trips }) => {
    const args = ['--mechanism', plan.name, '--messages', 0, '--size', sizeBytes, '--round-trips', trips];
    return runProgram('crossings-bench', [...args, ...run.placement], { signal });
  };

  for (const row of mechanisms) {
    run.report(`counting the crossings of ${row.plan.name}`);
    row.crossings = (
      await countCrossings(row.plan.name, run.placement, { sizeBytes, countMethod: 'auto', signal })
    ).perRoundTrip;
    const pilotNs = eventOf(await sample(row), 'roundTrip').ns.p50; // discarded, but for the time that a trip takes
    row.trips = Math.min(Math.max(Math.round((effort.tripsMs * 1e6) / pilotNs), PILOT_TRIPS), MAX_TRIPS);
  }

  /** @type {number[]} */
  const coreGHz = [];
  /** @param {number} rounds @param {boolean} ended */
  const fileOf = (rounds, ended) => {
    const cycle = cycleOf(run.environment.clock, coreGHz.length > 0 ? median(coreGHz) : null);
    const measured = {
      cycle,
      document: DOCUMENT,
      missing,
      rows: rows.filter(({ ns }) => ns.length > 0).map((row) => rowOf(row, cycle.GHz)),
    };
    const { pinnedCores, clock } = run.environment;
    const sentences = ended ? explain({ ...measured, sizeBytes, pinnedCores, clock }) : [];
    const verdict = ended ? judge({ rows: measured.rows, sizeBytes }) : 'unknown';
    return run.file({ sizeBytes, samples: rounds, effort: options.effort }, { ...measured, sentences, verdict });
  };

  /** @param {number} round */
  const takeRound = async (round) => {
    const called = eventOf(
      await runProgram('crossings-bench', ['--function-call', '--size', sizeBytes, ...run.placement], { signal }),
      'functionCall',
    );
    call.add(called.ns, called.ns, null);
    if (called.coreCyclesPerNs !== null) coreGHz.push(called.coreCyclesPerNs);
    /** @type {any[]} */
    const floors = [];
    for (const row of mechanisms) {
      run.report(`round ${round + 1}, ${row.plan.name}`, round / limits.maxSamples);
      const events = await sample(row);
      const floor = eventOf(events, 'floors');
      floors.push(floor);
      row.add(eventOf(events, 'roundTrip').ns.p50, called.ns, floor.cacheLineRoundTripNs);
    }
    const lineNs = medianOrNull(floors.map(({ cacheLineRoundTripNs }) => cacheLineRoundTripNs));
    if (lineNs !== null) line.add(lineNs, called.ns, null);
    syscall.add(median(floors.map(({ syscallNs }) => syscallNs)), called.ns, null);
    onPartial?.(fileOf(round + 1, false));
  };
  const rounds = await run.takeRounds(limits, takeRound, () =>
    mechanisms.every(({ ns }) => isSteady(ns, STEADY_TOLERANCE)),
  );
  run.end();
  return fileOf(rounds, true);
}

/** @typedef {Awaited<ReturnType<typeof runCycles>>} CyclesFile */

module.exports = { runCycles };
