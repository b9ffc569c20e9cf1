'use strict';
// The kinds of runs: the benchmark ("bench") and the experiments, each by its name. For each kind: how a run of it is made, what
// the list shows of it, and what its saved file must look like.
const { EXPERIMENTS } = require('../lib/experiments/index.js');
const { toCsv, toJson } = require('../lib/bench/export.js');
const { runBench } = require('../lib/bench/runner.js');
const { firstFault } = require('../lib/terminal/json-schema.js');

/** @typedef {import('../lib/bench/runner.js').Run} Run */
/** @typedef {import('../lib/experiments/command.js').Experiment} Experiment */
/** @typedef {import('../lib/experiments/command.js').ExperimentFile} ExperimentFile */
/** @typedef {Run | ExperimentFile} RunFile */
/** @typedef {'quick' | 'standard' | 'thorough'} Effort */

/**
 * @typedef {import('../lib/measure/run.js').RunControl & {
 *   onSample: (partial: RunFile, data: object) => void, onPartial: (partial: RunFile) => void}} TaskControl
 * Both listeners receive the file as of now. The benchmark's samples are few and small, and each is sent as `data`; an
 * experiment's file is sent whole.
 */

/**
 * A run to start.
 * @typedef {object} Task
 * @property {string} kind
 * @property {Effort} effort
 * @property {{parameters: object, mechanisms: string[]}} line what the list shows until there is a file
 * @property {string} advice for a run that reaches its time limit
 * @property {(control: TaskControl) => Promise<RunFile>} run
 */

const BENCH = 'bench';

/** Larger files are nobody's runs, but would keep the lab busy: its answers are computed from them for each request. */
const MAX_RESULTS = 200;
const MAX_LINE_CHARACTERS = 4096; // as JSON; the lab keeps the lines of all runs, and sends them together

/** @param {import('../lib/bench/runner.js').BenchOptions} options @returns {Task} */
function benchTask(options) {
  const { mechanisms, messages, sizeBytes, effort } = options;
  return {
    kind: BENCH,
    effort,
    line: { parameters: { messages, sizeBytes, effort }, mechanisms },
    advice: 'Choose fewer mechanisms or smaller messages.',
    run: ({ onSample, onPartial: _, ...control }) =>
      runBench(options, {
        ...control,
        onSample(partial, mechanism) {
          const result = partial.results.find((candidate) => candidate.mechanism === mechanism);
          onSample(partial, { result, floors: partial.floors });
        },
      }),
  };
}

/**
 * @param {Experiment} experiment
 * @param {{effort: Effort, [choice: string]: string}} options every choice of the experiment
 * @returns {Task}
 */
const experimentTask = (experiment, options) => ({
  kind: experiment.name,
  effort: options.effort,
  line: { parameters: options, mechanisms: [] },
  advice: 'Choose a smaller effort, or measure when the machine is idle.',
  run: ({ onSample: _, ...control }) =>
    experiment.run({ cores: null, pin: true, sameCore: false, ...options }, control),
});

/** @param {string} kind @returns {Experiment | undefined} */
const findExperiment = (kind) => EXPERIMENTS.find(({ name }) => name === kind);

/** The kind of a run, from its file's schema; null if it is not one of ours. @param {unknown} schema */
function kindOf(schema) {
  const [, name] = /^crossings\/(\w+)\/1$/.exec(String(schema)) ?? [];
  if (name === 'run') return BENCH;
  return findExperiment(name)?.name ?? null;
}

/** @param {string} kind @returns {object} */
const schemaOf = (kind) =>
  require(kind === BENCH ? '../lib/bench/run.schema.json' : `../lib/experiments/${kind}/${kind}.schema.json`);

/** Why this is not the file of a run, or null if it is. @param {any} file */
function faultOf(file) {
  const kind = kindOf(file?.schema);
  if (!kind) return 'schema must be one that this version supports';
  if (kind === BENCH && file.results?.length > MAX_RESULTS)
    return `results: it must have at most ${MAX_RESULTS} entries`;
  const fault = firstFault(schemaOf(kind), file);
  if (fault) return `${fault.path.join('.')}: ${fault.message}`;
  if (JSON.stringify(lineOf(file)).length <= MAX_LINE_CHARACTERS) return null;
  return `its parameters, mechanisms and choices must have at most ${MAX_LINE_CHARACTERS.toLocaleString('en-US')} characters`;
}

/** What the list shows of a saved run: only members that it names, since a file can have any others. @param {RunFile} file */
function lineOf(file) {
  const { id, startedAt } = file;
  const kind = kindOf(file.schema);
  const line = { id, kind, startedAt, state: /** @type {const} */ ('done'), error: null };
  if ('results' in file && kind === BENCH) {
    const { parameters, results } = /** @type {Run} */ (file);
    const { messages, sizeBytes, batch, samples, mode, effort, realtime, seconds } = parameters;
    const shown = { messages, sizeBytes, batch, samples, mode, effort, realtime, seconds };
    return { ...line, parameters: shown, mechanisms: results.map(({ mechanism }) => mechanism), verdict: null };
  }
  const { verdict, ...rest } = /** @type {ExperimentFile & {[choice: string]: any}} */ (file);
  const names = ['effort', 'seconds', ...Object.keys(findExperiment(String(kind))?.choices ?? {})];
  // A file has a choice among its parameters, perhaps with its unit or as a list, or beside them.
  const { parameters: own } = rest;
  const chosen = names.map((name) => [name, own[name] ?? own[`${name}Bytes`] ?? own[`${name}s`] ?? rest[name]]);
  return {
    ...line,
    parameters: /** @type {ExperimentFile['parameters']} */ (Object.fromEntries(chosen)),
    mechanisms: [],
    verdict,
  };
}

/** The text of a run's file, as the command line writes it. @param {RunFile} file */
const textOf = (file) =>
  kindOf(file.schema) === BENCH ? toJson(/** @type {Run} */ (file)) : `${JSON.stringify(file, null, 2)}\n`;

/** Its table as CSV, as the command line writes it. @param {RunFile} file */
const csvOf = (file) => findExperiment(String(kindOf(file.schema)))?.csv(file) ?? toCsv(/** @type {Run} */ (file));

module.exports = { BENCH, benchTask, csvOf, experimentTask, faultOf, kindOf, lineOf, textOf };
