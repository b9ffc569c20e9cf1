'use strict';
// `crossings latency`: rounds of round trips over the ring, as fast as they go and at a fixed pace, in turn.
const { setImmediate: nextTurn } = require('node:timers/promises');
const { checkRealtime } = require('../../bench/realtime.js');
const { describeMachine } = require('../../measure/environment.js');
const { eventOf, runProgram } = require('../../measure/programs.js');
const { beginRun } = require('../../measure/run.js');
const { median } = require('../../measure/statistics.js');
const { figureOf, figureOrNull } = require('../figure.js');
const { DOCUMENT } = require('./document.js');
const { explain, judge } = require('./sentences.js');
const { PERCENTILES, Times } = require('./times.js');

const SCHEMA = 'crossings/latency/1';
const WARM_UP = 10_000; // round trips, as in the document
const LEAST_PER_ROUND = 100; // round trips
const PACE = 0.5; // of the rate that the closed loop reaches
const MUCH = 10; // times the median: a round trip that takes longer was disturbed

/** @type {Record<'quick' | 'standard' | 'thorough', {samples: number, rounds: number}>} */
const EFFORTS = {
  quick: { samples: DOCUMENT.samples, rounds: 6 },
  standard: { samples: DOCUMENT.samples, rounds: 20 },
  thorough: { samples: 10 * DOCUMENT.samples, rounds: 40 },
};

/** The round trips of one loop, from all rounds. */
class Loop {
  times = new Times();
  service = new Times(); // of a paced loop: from sending
  /** @type {Record<string, number | null>[]} */ summaries = []; // one of each round
  /** @type {number[]} */ rates = []; // round trips per second
  /** @type {(number | null)[]} */ floorNs = [];

  /** @param {import('../../measure/programs.js').ProgramEvent[]} events of one round */
  async add(events) {
    const { ticks, serviceTicks, count, elapsedNs } = eventOf(events, 'roundTrip');
    const round = new Times();
    round.add(ticks);
    await nextTurn();
    this.times.add(ticks);
    await nextTurn();
    if (serviceTicks) this.service.add(serviceTicks);
    this.summaries.push(round.summary(1e9 / eventOf(events, 'begin').clock.ticksPerSecond));
    this.rates.push((count / elapsedNs) * 1e9);
    this.floorNs.push(eventOf(events, 'floors').cacheLineRoundTripNs);
  }

  /** @param {number} nsPerTick */
  async result(nsPerTick) {
    const intervals = Object.fromEntries(
      Object.keys(PERCENTILES).map((name) => [name, figureOrNull(this.summaries.map((summary) => summary[name]))]),
    );
    const ns = this.times.summary(nsPerTick);
    await nextTurn(); // with millions of times, each part takes long, and the lab has other clients
    return {
      ns,
      intervals,
      roundTripsPerSecond: figureOf(this.rates),
      distribution: this.times.distribution(nsPerTick),
    };
  }
}

/** Rounds to two significant digits. @param {number} rate */
const roundRate = (rate) => Math.max(1, Number(rate.toPrecision(2)));

/** @param {any} options */
function readPlan(options) {
  const effort = EFFORTS[/** @type {keyof typeof EFFORTS} */ (options.effort)];
  const samples = options.samples ?? effort.samples;
  return {
    samples,
    sizeBytes: options.size ?? DOCUMENT.sizeBytes,
    warmUp: options.warmUp ?? WARM_UP,
    realtime: Boolean(options.realtime),
    rounds: Math.max(1, Math.min(effort.rounds, Math.floor(samples / LEAST_PER_ROUND))),
    paced: options.paced !== false,
  };
}

/**
 * @param {import('../command.js').ExperimentOptions} options samples, size, warmUp, rate, paced, realtime, mlock
 * @param {import('../command.js').ExperimentControl} [control]
 */
async function runLatency(options, { onPartial, ...control } = {}) {
  const { signal } = control;
  const { samples, sizeBytes, warmUp, realtime, rounds, paced } = readPlan(options);
  if (realtime) checkRealtime(options, await describeMachine({ cores: options.cores, signal }));
  const run = await beginRun(options, null, control, SCHEMA);
  let mlock = options.mlock === true || options.mlock === 'yes'; // the page sends words

  /** @param {number} trips @param {number | null} rate */
  const sample = async (trips, rate) => {
    const what = ['--mechanism', 'ring', '--messages', 0, '--size', sizeBytes, '--round-trips', trips, '--ticks'];
    const how = ['--warm-up', warmUp, ...(realtime ? ['--realtime'] : []), ...(mlock ? ['--mlock'] : [])];
    const pace = rate === null ? [] : ['--rate', rate];
    return runProgram('crossings-bench', [...what, ...how, ...pace, ...run.placement], { signal });
  };

  // The first round is a pilot: it is discarded, but for the rate that the closed loop reaches.
  run.report('warming up');
  const perRound = Math.ceil(samples / rounds);
  const pilot = await sample(perRound, null).catch((error) => {
    if (error.code !== 'ERR_MLOCK') throw error;
    mlock = false;
    run.environment.warnings.push(
      `Memory is not locked: ${error.message}. Raise the limit (ulimit -l) or run as root.`,
    );
    return sample(perRound, null);
  });
  const piloted = eventOf(pilot, 'roundTrip');
  const pilotedRate = (piloted.count / piloted.elapsedNs) * 1e9;
  const ratePerSecond = paced ? (options.rate ?? roundRate(pilotedRate * PACE)) : null;

  const closedLoop = new Loop();
  const pacedLoop = new Loop();
  /** @type {{ticksPerSecond: number, overheadNs: number}[]} */
  const clocks = [];

  /** @param {boolean} ended */
  const fileOf = async (ended) => {
    const { source, resolutionNs } = run.environment.clock;
    const calibrations = clocks.map(({ ticksPerSecond }) => ticksPerSecond);
    const ticksPerSecond = median(calibrations);
    const nsPerTick = 1e9 / ticksPerSecond;
    const closed = await closedLoop.result(nsPerTick);
    await nextTurn();
    const overFloor = closedLoop.floorNs.map((floor, i) => floor && Number(closedLoop.summaries[i].p50) / floor);
    const overheadNs = median(clocks.map((clock) => clock.overheadNs));
    const much = (MUCH * Number(closed.ns.p50)) / nsPerTick;
    const measured = {
      sizeBytes,
      samples: closedLoop.times.count,
      ...closed,
      oneWayEstimateNs: Number(closed.ns.p50) / 2,
      disturbedShare: closedLoop.times.shareAbove(much),
      floorNs: figureOrNull(closedLoop.floorNs),
      overFloor: figureOrNull(overFloor),
      clock: {
        source,
        ticksPerSecond,
        tickNs: nsPerTick,
        resolutionNs,
        overheadNs,
        shareOfP50: overheadNs / Number(closed.ns.p50),
        calibrations,
        spreadPpm: ((Math.max(...calibrations) - Math.min(...calibrations)) / ticksPerSecond) * 1e6,
      },
      paced:
        ratePerSecond === null || pacedLoop.times.count === 0
          ? null
          : {
              ratePerSecond,
              shareOfClosedLoop: ratePerSecond / closed.roundTripsPerSecond.median,
              ...(await pacedLoop.result(nsPerTick)),
              serviceNs: pacedLoop.service.summary(nsPerTick),
              disturbedShare: pacedLoop.times.shareAbove(much),
            },
      document: DOCUMENT,
    };
    const parameters = { sizeBytes, samples, rounds, warmUp, realtime, mlock, ratePerSecond, effort: options.effort };
    const cores = run.environment.cores;
    return run.file(parameters, {
      ...measured,
      sentences: ended ? explain({ ...measured, parameters, cores }) : [],
      verdict: ended ? judge(measured) : /** @type {const} */ ('unknown'),
    });
  };

  for (let round = 0; round < rounds; round++) {
    const trips = Math.floor((samples * (round + 1)) / rounds) - Math.floor((samples * round) / rounds);
    run.report(`round ${round + 1} of ${rounds}, closed loop`, round / rounds);
    const events = await sample(trips, null);
    clocks.push(eventOf(events, 'begin').clock);
    await closedLoop.add(events);
    if (ratePerSecond !== null) {
      run.report(`round ${round + 1} of ${rounds}, paced`, (round + 0.4) / rounds);
      await pacedLoop.add(await sample(trips, ratePerSecond));
    }
    onPartial?.(await fileOf(false));
  }
  run.end();
  return fileOf(true);
}

/** @typedef {Awaited<ReturnType<typeof runLatency>>} LatencyFile */

module.exports = { runLatency };
