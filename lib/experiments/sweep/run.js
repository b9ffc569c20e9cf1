'use strict';
// One sweep: rounds that take every point once in a random order, then the small sweeps under instruments.
const { runProgram } = require('../../measure/programs.js');
const { beginRun } = require('../../measure/run.js');
const { byteCount } = require('../../terminal/numbers.js');
const { readPlan } = require('./arguments.js');
const { readCaches } = require('./caches.js');
const { answerRiseAndFall, curvesOf } = require('./curves.js');
const { answerPipesAndSockets } = require('./pipes-and-sockets.js');
const { probe, SHARE_BEFORE } = require('./probe.js');
const { answerProbeEffect } = require('./probe-effect.js');
const { roundOrder, Samples } = require('./samples.js');
const { explain, verdictOf } = require('./sentences.js');

const PARTIAL_EVERY_MS = 500;
const REPORT_EVERY_MS = 100;

/** A function that returns true at most once in a period. @param {number} periodMs */
function every(periodMs) {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < periodMs) return false;
    lastMs = nowMs;
    return true;
  };
}

/** @param {import('../command.js').ExperimentOptions} options @param {import('./arguments.js').Plan} plan @param {number} rounds */
function parametersOf({ effort }, { configurations, sizes, totalBytes, maxWrites, seed }, rounds) {
  const mechanisms = [...new Set(configurations.map(({ mechanism }) => mechanism))];
  const modes = [...new Set(configurations.map(({ mode }) => mode))];
  return { effort, totalBytes, maxWrites, samples: Math.max(0, rounds - 1), seed, sizes, mechanisms, modes };
}

/**
 * @param {import('../command.js').ExperimentOptions} options
 * @param {import('../command.js').ExperimentControl} [control]
 */
async function runSweep(options, control = {}) {
  const plan = readPlan(options);
  const { signal, onPartial } = control;
  const run = await beginRun(options, null, control, 'crossings/sweep/1');
  const cpuCaches = readCaches(run.environment.pinnedCores?.[0] ?? 0);
  const samples = new Samples(plan);
  const [isTimeForPartial, isTimeForReport] = [every(PARTIAL_EVERY_MS), every(REPORT_EVERY_MS)];
  const perRound = plan.configurations.length * plan.sizes.length;
  let rounds = 0;

  /** @param {any} results */
  const fileOf = (results) => run.file(parametersOf(options, plan, rounds), { cpuCaches, ...results });
  const unfinished = { answers: [], counters: null, sentences: [], verdict: 'unknown' };

  const takeRound = async (/** @type {number} */ round) => {
    let taken = 0;
    const onEvent = (/** @type {any} */ event) => {
      if (event.type !== 'sample') return;
      taken++;
      if (round > 0) samples.add(event);
      if (isTimeForReport()) {
        const done = Math.max((round + taken / perRound) / (plan.samples + 1), run.elapsedMs() / plan.budgetMs);
        run.report(
          `round ${round + 1}: ${event.mechanism}, ${byteCount(event.sizeBytes)}`,
          Math.min(1, done) * SHARE_BEFORE,
        );
      }
      if (onPartial && round > 0 && isTimeForPartial()) onPartial(fileOf({ points: samples.points(), ...unfinished }));
    };
    const limits = ['--total', plan.totalBytes, '--max-writes', plan.maxWrites];
    await runProgram('crossings-sweep', [...limits, ...run.placement, ...roundOrder(plan, round)], { signal, onEvent });
    rounds = round + 1;
  };
  const limits = { budgetMs: plan.budgetMs, minSamples: plan.minSamples + 1, maxSamples: plan.samples + 1 };
  await run.takeRounds(limits, takeRound);
  const probed = plan.probe ? await probe(plan, options.effort, run, signal) : null;
  run.end();

  const points = samples.points();
  const curves = curvesOf(points);
  /** @type {import('./curves.js').Answer[]} */
  const answers = [answerRiseAndFall(curves), answerPipesAndSockets(curves)];
  if (probed) answers.push(answerProbeEffect(probed.configuration, probed.sizes, probed.probed, probed.refusals));
  const counters = probed?.counters ?? null;
  return fileOf({
    points,
    answers,
    counters,
    sentences: explain({ curves, points, answers, counters, cpuCaches }),
    verdict: verdictOf(answers),
  });
}

module.exports = { runSweep };
