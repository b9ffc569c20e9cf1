'use strict';
// What the commands of all experiments share: the common options, progress, the output and the file. An experiment is
// one folder beside this file; the lab starts the same experiments (index.js).
const { Command } = require('commander');
const { readEffort } = require('../bench/arguments.js');
const { placementOf, readCores, readPlacement } = require('../terminal/arguments.js');
const { checkAllWritable, givenFiles, writeOutput } = require('../terminal/files.js');
const { progressBar } = require('../terminal/progress.js');
const { significant } = require('../terminal/numbers.js');
const { styleFor, wrap } = require('../terminal/style.js');
const { sourceOf } = require('./documents.js');

const WIDTH = 100; // columns of prose

/**
 * What every experiment's file has. Each adds its own members; `schema` is `crossings/<name>/1`.
 * @typedef {object} ExperimentFile
 * @property {string} schema
 * @property {string} id
 * @property {string} startedAt
 * @property {{version: string}} tool
 * @property {import('../measure/environment.js').Environment} environment
 * @property {{effort: Effort, seconds: number, [name: string]: any}} parameters
 * @property {string[]} sentences the answer in words, from the figures of this file
 * @property {'held' | 'partly' | 'failed' | 'unknown'} verdict did the document's claim hold on this machine?
 */

/** @typedef {'quick' | 'standard' | 'thorough'} Effort */

/** @typedef {import('../measure/environment.js').Placement & {effort: Effort, [name: string]: any}} ExperimentOptions */

/**
 * @typedef {import('../measure/run.js').RunControl & {onPartial?: (file: any) => void}} ExperimentControl
 * onPartial receives the file as of now, with `sentences` empty and `verdict` 'unknown', whenever there are new figures.
 */

/**
 * @typedef {object} Experiment
 * @property {string} name of the command, of the page, and in the schema
 * @property {string} title of the page
 * @property {string} document number of the reference document, such as '000'
 * @property {string} claim what the document says, in our words with its figures
 * @property {string} question what the experiment asks, in one sentence
 * @property {{[option: string]: string[]}} choices options that the lab's page offers, with their values; the first is the
 *   default. Every experiment also has `effort`. 'yes' and 'no' are the values of an option that takes none.
 * @property {string} [argument] the choice that is an argument of the command, not an option
 * @property {(options: ExperimentOptions, control?: ExperimentControl) => Promise<any>} run
 * @property {(file: any, style: import('../terminal/style.js').Style) => string} render the table for the terminal
 * @property {(file: any) => string} csv the table as CSV
 * @property {(file: any) => Record<string, {value: number, unit: string}>} [figures] the result as figures, for a lesson
 */

/** @param {ExperimentFile} file */
function provenance({ environment, parameters }) {
  const placed = environment.pinnedCores
    ? `cores ${environment.pinnedCores.join(' and ')} (${environment.placement})`
    : 'cores chosen by the scheduler';
  const { source, overheadNs } = environment.clock;
  return (
    `${environment.cpu}, ${environment.kernel}, ${placed}, ${environment.compiler}; clock: ${source}, ` +
    `${significant(overheadNs, 2)} ns per reading. The run took ${significant(parameters.seconds)} s.`
  );
}

/** @param {Experiment} experiment */
const claimOf = ({ claim, document }) => wrap(`The claim: ${claim} Source: ${sourceOf(document)}.`, WIDTH);

/** @param {Experiment} experiment @param {ExperimentFile} file */
function print(experiment, file) {
  const style = styleFor(process.stdout);
  const paragraphs = [
    claimOf(experiment),
    experiment.render(file, style),
    ...file.sentences.map((sentence) => wrap(sentence, WIDTH)),
    style.dim(wrap(provenance(file), WIDTH)),
    file.environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  '))).join('\n'),
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
}

/**
 * Runs an experiment as a command does, and returns its file.
 * @param {Experiment} experiment
 * @param {any} options as commander read them
 * @param {AbortSignal} signal
 * @param {{[option: string]: (file: any) => string}} [files] options that write a file, beside --json and --csv, and what they write
 */
async function runExperiment(experiment, options, signal, files = {}) {
  /** @type {{[option: string]: (file: any) => string}} */
  const writers = { json: (file) => `${JSON.stringify(file, null, 2)}\n`, csv: experiment.csv, ...files };
  const effort = readEffort(options);
  const placement = placementOf(options);
  checkAllWritable(givenFiles(options, Object.keys(writers)));
  const bar = progressBar();
  const file = await experiment
    .run({ ...options, ...placement, effort }, { signal, onProgress: bar.update })
    .finally(() => bar.stop());
  print(experiment, file);
  // Last: if a file cannot be written after all, the results are on the screen.
  for (const [name, convert] of Object.entries(writers)) {
    if (!options[name]) continue;
    await writeOutput(options[name], convert(file), signal);
    process.stdout.write(styleFor(process.stdout).dim(`Wrote ${options[name]}.\n`));
  }
  return file;
}

/**
 * A command with the options that all experiments have.
 * @param {Experiment} experiment
 * @param {string} description
 */
function experimentCommand({ name }, description) {
  return new Command(name)
    .description(description)
    .option('--quick', 'take fewer samples')
    .option('--thorough', 'take more samples')
    .option('--json <file>', 'write the results as JSON')
    .option('--csv <file>', 'write the table as CSV')
    .option('--cores <a,b>', 'the two cores to use (default: chosen from the topology)', readCores)
    .option('--placement <where>', 'same core (same), two cores (cross), or not pinned (free)', readPlacement)
    .option('--no-pin', 'the same as --placement free')
    .allowExcessArguments(false);
}

module.exports = { experimentCommand, runExperiment };
