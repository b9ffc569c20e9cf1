'use strict';
// `crossings bench --against CHECKOUT`: another build (the baseline) and this one (the candidate) in one run. Their samples
// are interleaved, which is the only fair comparison on a machine whose speed changes.
const { accessSync, constants, existsSync, readFileSync, statSync } = require('node:fs');
const { join, resolve } = require('node:path');
const { version } = require('../../package.json');
const { countCrossings } = require('../measure/crossings.js');
const { beginRun } = require('../measure/run.js');
const { refuse } = require('../terminal/arguments.js');
const { describeAll } = require('./compare/sentences.js');
const { ALPHA, answer, noiseOf, observationsNeeded } = require('./compare/verdicts.js');
const { Interleaved } = require('./interleaved.js');
const { listMechanisms } = require('./runner.js');

/** @typedef {import('./compare/runs.js').Comparison} Comparison */
/** @typedef {import('./runner.js').BenchOptions} BenchOptions */
/** @typedef {{folder: string, program: string, version: string | null, mechanisms: string[]}} Checkout */

const HERE = join(__dirname, '..', '..');
const PROGRAM = join('build', 'Release', 'crossings-bench');
const LONGER_BUDGET = 1.2; // of the expected time

/** @type {Record<'quick' | 'standard' | 'thorough', import('../measure/run.js').Limits & {messages: number, tripsMs: number}>} */
const EFFORTS = {
  quick: { messages: 5_000, tripsMs: 40, budgetMs: 30_000, minSamples: 12, maxSamples: 16 },
  standard: { messages: 20_000, tripsMs: 100, budgetMs: 110_000, minSamples: 16, maxSamples: 60 },
  thorough: { messages: 100_000, tripsMs: 200, budgetMs: Number.POSITIVE_INFINITY, minSamples: 60, maxSamples: 60 },
};

/**
 * The version in a folder's package.json.
 * @param {string} folder
 * @returns {string | null}
 */
function versionOf(folder) {
  try {
    const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
    return typeof found === 'string' ? found.replace(/\p{Cc}/gu, '\uFFFD').slice(0, 60) : null;
  } catch {
    return null;
  }
}

/**
 * The build in another checkout. It is refused unless its program runs.
 * @param {string} text the folder
 * @param {AbortSignal} [signal]
 * @returns {Promise<Checkout>}
 */
async function openCheckout(text, signal) {
  const folder = resolve(text);
  const must = `--against must be a built checkout of crossings; got "${text}":`;
  if (text === '') refuse(`${must} the name is empty.`);
  if (!existsSync(folder)) refuse(`${must} the folder does not exist.`);
  if (!statSync(folder).isDirectory()) refuse(`${must} it is not a folder.`);
  const program = join(folder, PROGRAM);
  try {
    accessSync(program, constants.X_OK);
  } catch {
    refuse(`${must} it has no program ${PROGRAM}; run npm install there.`);
  }
  try {
    const mechanisms = (await listMechanisms(signal, program)).map(({ name }) => name);
    return { folder, program, version: versionOf(folder), mechanisms };
  } catch {
    signal?.throwIfAborted();
    return refuse(`${must} its ${PROGRAM} does not list its mechanisms.`);
  }
}

/**
 * Measures. The result is a comparison (schema crossings/compare/1).
 * @param {BenchOptions & {givenMessages?: number}} options givenMessages: those of the user
 * @param {Checkout} other
 * @param {import('../measure/run.js').RunControl} [control]
 * @returns {Promise<Comparison & {parameters: {samples: number, [name: string]: any}}>}
 */
async function runAgainst(options, other, control = {}) {
  const { signal } = control;
  const effort = EFFORTS[options.effort];
  const messages = options.givenMessages ?? effort.messages;
  const expectedMs = Number.isFinite(effort.budgetMs) ? effort.budgetMs * LONGER_BUDGET : null;
  const shared = options.mechanisms.filter((name) => other.mechanisms.includes(name));
  if (shared.length === 0) refuse(`The build in ${other.folder} has none of ${options.mechanisms.join(', ')}.`);
  const run = await beginRun(options, expectedMs, control, 'crossings/compare/1');
  const builds = [{ name: 'baseline', program: other.program }, { name: 'candidate' }];

  const counts = new Map();
  for (const mechanism of shared) {
    run.report(`counting the crossings of ${mechanism}`);
    const both = [];
    for (const { program } of builds) {
      both.push(await countCrossings(mechanism, run.placement, { ...options, program, signal }));
    }
    counts.set(mechanism, both);
  }

  const interleaved = new Interleaved(shared, builds, {
    ...options,
    messages,
    tripsMs: effort.tripsMs,
    messagesMs: options.givenMessages ? undefined : effort.tripsMs,
    placement: run.placement,
    signal,
  });
  run.report('warming up');
  await interleaved.takePilots();
  interleaved.clear();
  const rounds = await run.takeRounds(effort, (round) => {
    run.report(`round ${round + 1}`, round / effort.minSamples);
    return interleaved.takeRound(round);
  });
  run.end();

  const noise = noiseOf('rounds', false);
  const answers = answer(interleaved.questions('baseline', 'candidate', noise));
  const mechanisms = shared.map((mechanism, index) => {
    const [before, after] = counts.get(mechanism);
    return {
      mechanism,
      title: options.catalogue.find(({ name }) => name === mechanism)?.title ?? mechanism,
      throughput: answers[2 * index],
      roundTrip: answers[2 * index + 1],
      crossings: {
        perRoundTrip: /** @type {[number | null, number | null]} */ ([before.perRoundTrip, after.perRoundTrip]),
        perMessage: /** @type {[number | null, number | null]} */ ([before.perMessage, after.perMessage]),
      },
    };
  });
  const { sizeBytes, batch, effort: name, realtime } = options;
  const file = run.file(
    { messages, sizeBytes, batch, samples: rounds, mode: 'process', effort: name, realtime },
    {
      a: { folder: other.folder, version: other.version },
      b: { folder: HERE, version },
      rule: {
        unit: /** @type {const} */ ('rounds'),
        alpha: ALPHA,
        confidence: 0.95,
        correction: /** @type {const} */ ('holm'),
        questions: answers.length,
        noise,
        disturbed: false,
      },
      differences:
        other.version === version
          ? []
          : [`The versions of crossings differ: ${other.version ?? 'unknown'} (baseline), ${version} (candidate).`],
      mechanisms,
    },
  );
  const onlyHere = options.mechanisms.filter((one) => !shared.includes(one));
  return { ...file, ...describeAll(file, { onlyIn: [[], onlyHere], needed: observationsNeeded(answers.length) }) };
}

module.exports = { openCheckout, runAgainst };
