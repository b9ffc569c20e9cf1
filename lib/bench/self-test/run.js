'use strict';
// `crossings bench --self-test`: how good are the benchmark's verdicts on this machine? It compares identical builds,
// where every verdict is a false alarm, and a build with a known slowdown, which must be found; and it plants a system
// call, which the count must show.
const { countCrossings } = require('../../measure/crossings.js');
const { beginRun } = require('../../measure/run.js');
const { median } = require('../../measure/statistics.js');
const { answer, noiseOf } = require('../compare/verdicts.js');
const { Interleaved } = require('../interleaved.js');
const { describe } = require('./sentences.js');

/** @typedef {import('../compare/verdicts.js').Answer} Answer */
/** @typedef {import('../runner.js').BenchOptions} BenchOptions */

const PAIRS = 20;
const SLOWDOWN = 0.1;
const MOST_WRONG = 0.05; // false alarms, or misses: 1 of 20
const GETPPID_PER_TRIP = 2; // both sides send

/** @type {Record<'quick' | 'standard' | 'thorough', {rounds: number, messages: number, messagesMs: number, tripsMs: number, expectedMs: number}>} */
const EFFORTS = {
  quick: { rounds: 10, messages: 20_000, messagesMs: 5, tripsMs: 15, expectedMs: 90_000 },
  standard: { rounds: 28, messages: 100_000, messagesMs: 15, tripsMs: 50, expectedMs: 390_000 },
  thorough: { rounds: 40, messages: 100_000, messagesMs: 30, tripsMs: 100, expectedMs: 1_200_000 },
};

/** The planted delays of one mechanism, nanoseconds: in each send and receive of a message, in each round trip. @typedef {{message: number, trip: number}} Delays */

/**
 * A delay of SLOWDOWN, from the samples of the build without it.
 * @param {import('../interleaved.js').Samples} samples
 * @returns {Delays}
 */
const delaysFor = ({ rates, tripNs }) => ({
  message: Math.max(1, Math.round((1e9 / median(rates)) * SLOWDOWN)),
  trip: Math.max(1, Math.round(median(tripNs) * SLOWDOWN)),
});

/**
 * The crossings of a mechanism without and with one getppid() planted in each send.
 * @param {string} mechanism
 * @param {string[]} placement
 * @param {BenchOptions & {signal?: AbortSignal}} options
 */
async function countPlanted(mechanism, placement, options) {
  const plain = await countCrossings(mechanism, placement, options);
  const planted = await countCrossings(mechanism, [...placement, '--plant', 'getppid'], options);
  const exact =
    planted.byNamePerMessage.getppid === 1 &&
    planted.byName.getppid === GETPPID_PER_TRIP &&
    plain.byName.getppid === undefined &&
    plain.byNamePerMessage.getppid === undefined;
  return {
    mechanism,
    perMessage: [plain.perMessage, planted.perMessage],
    perRoundTrip: [plain.perRoundTrip, planted.perRoundTrip],
    getppid: { perMessage: planted.byNamePerMessage.getppid ?? 0, perRoundTrip: planted.byName.getppid ?? 0 },
    notice: planted.notice,
    passed: planted.method === null ? null : exact,
  };
}

/** As many of the pairs may be wrong. @param {number} pairs */
const mostMissed = (pairs) => Math.floor(pairs * MOST_WRONG);

/**
 * The outcome of all planted comparisons for one question.
 * @param {string} mechanism
 * @param {'throughput' | 'roundTrip'} measure
 * @param {Answer[]} answers one for each pair
 */
function plantedOutcome(mechanism, measure, answers) {
  const found = answers.filter(({ verdict }) => verdict === 'slower').length;
  // A delay adds to a round trip. In a stream, the two sides work at the same time and may hide it.
  const needed = measure === 'roundTrip' ? answers.length - mostMissed(answers.length) : null;
  return {
    mechanism,
    measure,
    found,
    of: answers.length,
    needed,
    ratio: median(answers.map(({ ratio }) => ratio)),
    passed: needed === null ? null : found >= needed,
  };
}

/**
 * Takes all figures of the test.
 * @param {BenchOptions & {pairs?: number}} options pairs: fewer, for the tests
 * @param {import('../../measure/run.js').RunControl} [control]
 */
async function measure(options, control = {}) {
  const { signal } = control;
  const effort = EFFORTS[options.effort];
  const pairs = options.pairs ?? PAIRS;
  const run = await beginRun(options, effort.expectedMs, control, 'crossings/self-test/1');

  const counts = [];
  for (const mechanism of options.mechanisms) {
    run.report(`planting a system call in ${mechanism}`);
    counts.push(await countPlanted(mechanism, run.placement, { ...options, signal }));
  }

  /** @type {Map<string, Delays>} */
  const delays = new Map();
  const none = () => ['--plant', '0,0'];
  const slowed = (/** @type {string} */ mechanism) => {
    const { message, trip } = delays.get(mechanism) ?? { message: 0, trip: 0 };
    return ['--plant', `${message},${trip}`];
  };
  const builds = [
    { name: 'baseline', extra: none },
    { name: 'same', extra: none },
    { name: 'slowed', extra: slowed },
  ];
  const interleaved = new Interleaved(options.mechanisms, builds, {
    ...options,
    ...effort,
    placement: run.placement,
    signal,
  });
  run.report('warming up');
  await interleaved.takePilots();

  const noise = noiseOf('rounds', false);
  /** @type {Answer[][]} */ const same = [];
  /** @type {Answer[][]} */ const planted = [];
  for (let pair = 0; pair < pairs; pair++) {
    for (const mechanism of options.mechanisms) {
      delays.set(mechanism, delaysFor(interleaved.samplesOf('baseline', mechanism)));
    }
    interleaved.clear();
    for (let round = 0; round < effort.rounds; round++) {
      run.report(`comparison ${pair + 1} of ${pairs}`, (pair + round / effort.rounds) / pairs);
      await interleaved.takeRound(round);
    }
    same.push(answer(interleaved.questions('baseline', 'same', noise)));
    planted.push(answer(interleaved.questions('baseline', 'slowed', noise)));
  }
  run.end();

  const isAlarm = (/** @type {Answer} */ { verdict }) => verdict !== 'undetected';
  const withFalseAlarm = same.filter((answers) => answers.some(isAlarm)).length;
  const results = {
    falseAlarms: {
      comparisons: same.length,
      withFalseAlarm,
      allowed: mostMissed(pairs),
      questions: same.flat().length,
      falseAnswers: same.flat().filter(isAlarm).length,
      passed: withFalseAlarm <= mostMissed(pairs),
    },
    planted: options.mechanisms.flatMap((mechanism, index) => [
      plantedOutcome(
        mechanism,
        'roundTrip',
        planted.map((answers) => answers[2 * index + 1]),
      ),
      plantedOutcome(
        mechanism,
        'throughput',
        planted.map((answers) => answers[2 * index]),
      ),
    ]),
    counts,
  };
  const { effort: name, sizeBytes } = options;
  return run.file(
    {
      mechanisms: options.mechanisms,
      effort: name,
      sizeBytes,
      pairs,
      rounds: effort.rounds,
      slowdown: SLOWDOWN,
      noise,
    },
    results,
  );
}

/**
 * Runs the test. The result has the schema crossings/self-test/1.
 * @param {BenchOptions & {pairs?: number}} options pairs: fewer, for the tests
 * @param {import('../../measure/run.js').RunControl} [control]
 */
async function runSelfTest(options, control) {
  const figures = await measure(options, control);
  return { ...figures, ...describe(figures) };
}

/** @typedef {Awaited<ReturnType<typeof measure>>} Figures */
/** @typedef {Figures & {sentences: string[], missed: string[]}} SelfTest missed: the criteria that were not met */

module.exports = { runSelfTest };
