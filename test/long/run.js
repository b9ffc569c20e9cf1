'use strict';
// `npm run test:long`: runs the parts of test/long/parts/, each in a process of its own with a time bound, and prints what they
// found as one table. Exit status 0: all passed; 1: something failed or was not run; 2: invalid arguments.
const { readdirSync } = require('node:fs');
const { join, resolve } = require('node:path');
const { Command, CommanderError, Option } = require('commander');
const { CrossingsError } = require('../../lib/channel/errors.js');
const { readNames, readWholeNumber, refuse } = require('../../lib/terminal/arguments.js');
const { checkWritable, writeWhole } = require('../../lib/terminal/files.js');
const { progressBar } = require('../../lib/terminal/progress.js');
const { describeMachine, describeOutcome, isGood, renderReport } = require('./report.js');
const { runPart } = require('./supervise.js');

const LINE_EVERY_MS = 30_000; // progress, where standard error is no terminal
const PART_BOUND_MS = { short: 120_000, long: 600_000 }; // a part may state its own as `boundSeconds`
const SIGNALS = /** @type {const} */ ({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 });

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string} title
 * @property {{short: number, long: number}} [boundSeconds]
 * @property {(task: {scale: 'short' | 'long', seed: number, progress: (fraction: number, text?: string) => void}) => Promise<any>} run
 *
 * @typedef {{name: string, title: string, seconds: number, figures: Record<string, number | string>, failures: string[], skipped?: string}} Outcome
 */

/** The files of the parts by their names. @param {string} folder @returns {Map<string, string>} */
function findParts(folder) {
  let files;
  try {
    files = readdirSync(folder).filter((file) => file.endsWith('.js'));
  } catch (error) {
    return refuse(`--parts must be a folder with parts; got "${folder}": ${/** @type {Error} */ (error).message}.`);
  }
  if (files.length === 0) refuse(`--parts must be a folder with parts; got "${folder}", which has none.`);
  return new Map(files.sort().map((file) => [file.slice(0, -'.js'.length), join(resolve(folder), file)]));
}

/** @param {string} name @param {string} file @returns {Part} */
function loadPart(name, file) {
  const part = require(file);
  if (part.name !== name || typeof part.title !== 'string' || typeof part.run !== 'function')
    throw new Error(`${file} must export { name: '${name}', title, run }.`);
  return part;
}

/** What a part is called, or why it cannot be used. @param {string} name @param {string} file */
function titleOf(name, file) {
  try {
    return loadPart(name, file).title;
  } catch (error) {
    return `(cannot be loaded: ${String(error).split('\n')[0]})`;
  }
}

/** Shows progress: a bar on a terminal, otherwise a line now and then. */
function progressOf(/** @type {number} */ count) {
  const terminal = process.stderr.isTTY;
  const bar = progressBar();
  let shownAt = 0;
  const line = (/** @type {string} */ text) => {
    if (!terminal) process.stderr.write(`${text}\n`);
    shownAt = Date.now();
  };
  return {
    begin: (/** @type {string} */ name) => line(`${name} …`),
    end: (/** @type {Outcome} */ outcome) => line(`${outcome.name}: ${describeOutcome(outcome)}`),
    /** @param {number} index @param {string} name @param {number} fraction @param {string} text */
    update(index, name, fraction, text) {
      bar.update({ fraction: (index + fraction) / count, doing: `${name} ${text}` });
      if (Date.now() - shownAt >= LINE_EVERY_MS) line(`${name}: ${Math.round(fraction * 100)} % ${text}`);
    },
    stop: () => bar.stop(),
  };
}

/**
 * Runs one part.
 * @param {string} name
 * @param {string} file
 * @param {{scale: 'short' | 'long', seed: number, minutes: number, endsAt: number, signal: AbortSignal}} limits
 * @param {(fraction: number, text: string) => void} progress
 * @returns {Promise<Outcome>}
 */
async function runOne(name, file, { scale, seed, minutes, endsAt, signal }, progress) {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  try {
    const { title, boundSeconds } = loadPart(name, file);
    const leftMs = endsAt - began;
    if (leftMs <= 0) return { name, title, seconds: 0, figures: {}, failures: [notRun(minutes)] };
    const ownMs = boundSeconds ? boundSeconds[scale] * 1000 : PART_BOUND_MS[scale];
    const bound =
      leftMs < ownMs
        ? { ms: leftMs, why: `the end of the ${minutes} minutes of the whole run` }
        : { ms: ownMs, why: 'the bound of this part' };
    const result = await runPart(file, { scale, seed }, bound, { signal, progress });
    return { name, title, seconds: seconds(), ...result };
  } catch (error) {
    if (signal.aborted) throw error;
    return { name, title: titleOf(name, file), seconds: seconds(), figures: {}, failures: [String(error)] };
  }
}

/** @param {number} minutes */
const notRun = (minutes) =>
  `It was not run: the ${minutes} minutes were over. Give --minutes more, or choose parts with --only.`;

/**
 * Runs the parts one after the other.
 * @param {[string, string][]} wanted names and files
 * @param {{scale: 'short' | 'long', seed: number, minutes: number, signal: AbortSignal}} control
 */
async function runParts(wanted, control) {
  const limits = { ...control, endsAt: performance.now() + control.minutes * 60_000 };
  const progress = progressOf(wanted.length);
  /** @type {Outcome[]} */
  const outcomes = [];
  try {
    for (const [index, [name, file]] of wanted.entries()) {
      progress.begin(name);
      const outcome = await runOne(name, file, limits, (fraction, text) =>
        progress.update(index, name, fraction, text),
      );
      outcomes.push(outcome);
      progress.end(outcome);
      control.signal.throwIfAborted();
    }
  } finally {
    progress.stop();
  }
  return outcomes;
}

/** @param {any} options as commander read them @param {AbortSignal} signal */
async function main(options, signal) {
  const parts = findParts(options.parts);
  if (options.list) {
    for (const [name, file] of parts) process.stdout.write(`${name.padEnd(16)} ${titleOf(name, file)}\n`);
    return 0;
  }
  const names = readNames('--only', options.only, [...parts.keys()]);
  if (options.json !== undefined) checkWritable('--json', options.json);
  const { scale, minutes } = options;
  const seed = options.seed ?? 1 + (Date.now() % 1_000_000);
  const startedAt = new Date().toISOString();
  const began = performance.now();
  const wanted = names.map((name) => /** @type {[string, string]} */ ([name, parts.get(name)]));
  const outcomes = await runParts(wanted, { scale, seed, minutes, signal });
  const seconds = (performance.now() - began) / 1000;
  const report = { startedAt, machine: describeMachine(), parameters: { seed, scale, minutes, seconds }, outcomes };
  process.stdout.write(renderReport(report));
  if (options.json) {
    const file = { schema: 'crossings/long-run/1', ...report };
    writeWhole(options.json, `${JSON.stringify(file, null, 2)}\n`);
  }
  return outcomes.every(isGood) ? 0 : 1;
}

/** @param {AbortSignal} signal */
async function runCommandLine(signal) {
  const number =
    (/** @type {string} */ option, /** @type {[number, number]} */ range) => (/** @type {string} */ text) =>
      readWholeNumber(option, text, range);
  const program = new Command('test:long')
    .description('Run the long tests, or some of them.')
    .option('--only <names>', 'only these parts, comma-separated')
    .option('--seed <number>', 'repeat a run (default: from the clock)', number('--seed', [1, 2 ** 31 - 1]))
    .option('--minutes <number>', 'a bound for the whole run', number('--minutes', [1, 10_000]), 45)
    .addOption(new Option('--scale <scale>', 'how much work').choices(['short', 'long']).default('long'))
    .option('--json <file>', 'write the results as JSON')
    .option('--list', 'list the parts')
    .option('--parts <folder>', 'where the parts are', join(__dirname, 'parts'))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} }); // the one sentence is written below
  try {
    program.parse();
    return await main(program.opts(), signal);
  } catch (error) {
    if (signal.aborted) return 128 + SIGNALS[/** @type {keyof typeof SIGNALS} */ (signal.reason)];
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (!(error instanceof CommanderError || error instanceof CrossingsError)) throw error;
    process.stderr.write(`${error.message.replace(/^error: /, '')}\n`);
    return error instanceof CommanderError || error.code === 'ERR_USAGE' ? 2 : 1;
  }
}

if (require.main === module) {
  const controller = new AbortController();
  for (const name of Object.keys(SIGNALS)) process.once(name, () => controller.abort(name));
  runCommandLine(controller.signal).then((status) => {
    process.exitCode = status;
  });
}
