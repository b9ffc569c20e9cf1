'use strict';
// `crossings bench`: compares the mechanisms on this machine.
const { Command, Option } = require('commander');
const { describeMachine } = require('../measure/environment.js');
const { placementOf, readCores, readNames, readPercent, readPlacement, refuse } = require('../terminal/arguments.js');
const { checkAllWritable, givenFiles, writeOutput } = require('../terminal/files.js');
const { progressBar } = require('../terminal/progress.js');
const { styleFor, wrap } = require('../terminal/style.js');
const {
  checkModes,
  readBatch,
  readCountMethod,
  readEffort,
  readMessages,
  readPairs,
  readSize,
} = require('./arguments.js');
const { openCheckout, runAgainst } = require('./against.js');
const { readRuns } = require('./compare/read.js');
const { compareRuns } = require('./compare/runs.js');
const { printComparison } = require('./compare/table.js');
const { failOnRegression, reasonUndecided } = require('./regressions.js');
const { DEFAULT_MECHANISMS, selfTest } = require('./self-test/command.js');
const { toCsv, toJson, toMarkdown } = require('./export.js');
const { provenance } = require('./provenance.js');
const { checkRealtime } = require('./realtime.js');
const { EFFORTS, listMechanisms, runBench } = require('./runner.js');
const { explain } = require('./sentences.js');
const { renderTable } = require('./table.js');

const WIDTH = 100; // columns of prose

/** @typedef {import('./runner.js').Run} Run */

/** @type {{[option: string]: (run: Run) => string}} */
const FILES = { json: toJson, csv: toCsv, markdown: toMarkdown };

/** @param {Run} run */
function printRun(run) {
  const style = styleFor(process.stdout);
  const paragraphs = [
    renderTable(run, style),
    wrap(explain(run).join(' '), WIDTH),
    style.dim(wrap(provenance(run), WIDTH)),
    run.environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  '))).join('\n'),
    [...unsteady(run), ...(run.notices ?? []), ...refusals(run)]
      .map((line) => style.bad(wrap(`! ${line}`, WIDTH, '  ')))
      .join('\n'),
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
}

/** @param {Run} run */
function unsteady({ results, parameters }) {
  const names = results.filter(({ steady }) => !steady).map(({ mechanism }) => mechanism);
  if (names.length === 0) return [];
  const advice =
    parameters.effort === 'thorough' ? 'this machine is too noisy for more precision' : '--thorough takes more samples';
  return [
    `After ${parameters.samples} samples, the medians of ${names.join(', ')} are uncertain by more than 2 %: ${advice}.`,
  ];
}

/** Why system calls were not counted in the better way, each reason once. @param {Run} run */
function refusals({ results }) {
  const notices = [...new Set(results.map(({ crossings }) => crossings.notice))].filter(Boolean);
  return notices.map((notice) => `Counting system calls: ${notice}.`);
}

/**
 * @param {any} options as commander read them
 * @param {AbortSignal} signal
 */
async function bench(options, signal) {
  checkModes(options);
  const effort = readEffort(options);
  const placement = placementOf(options);
  checkAllWritable(givenFiles(options, Object.keys(FILES)));
  const catalogue = await listMechanisms(signal);
  const mechanisms = readNames(
    '--mechanism',
    options.mechanism,
    catalogue.map(({ name }) => name),
    catalogue.filter(({ special }) => !special).map(({ name }) => name),
  );
  const baseline = options.baseline === undefined ? null : readRuns(options.baseline, '--baseline');
  if (baseline && !baseline.some(({ results }) => results.some(({ mechanism }) => mechanisms.includes(mechanism)))) {
    refuse(`--baseline must have one of ${mechanisms.join(', ')}; "${options.baseline}" has none.`);
  }
  const other = options.against === undefined ? null : await openCheckout(options.against, signal);
  const machine = await describeMachine({ cores: options.cores ?? null, signal });
  if (options.realtime) checkRealtime(placement, machine);

  const benchOptions = {
    mechanisms,
    catalogue,
    effort,
    messages: options.messages ?? EFFORTS[effort].messages,
    sizeBytes: options.size ?? 64,
    batch: options.batch ?? 1,
    ...placement,
    realtime: Boolean(options.realtime),
    countMethod: options.count,
  };
  if (options.selfTest) {
    const chosen = options.mechanism === undefined ? DEFAULT_MECHANISMS : mechanisms;
    const given = { ...benchOptions, mechanisms: chosen, pairs: options.pairs };
    return selfTest(given, { json: options.json, signal });
  }
  const bar = progressBar();
  const control = { signal, onProgress: bar.update };
  if (other) {
    const given = { ...benchOptions, givenMessages: options.messages };
    const comparison = await runAgainst(given, other, control).finally(() => bar.stop());
    printAgainst(comparison);
    await writeFiles(options, { json: toJson }, comparison, signal);
    checkRegressions(comparison, options.failOnRegression);
    return;
  }
  const run = await runBench(benchOptions, control).finally(() => bar.stop());
  printRun(run);
  // Last: if a file cannot be written after all, the results are on the screen.
  await writeFiles(options, FILES, run, signal);
  if (!baseline) return;
  const comparison = compareRuns(baseline, [run]);
  printComparison(comparison);
  checkRegressions(comparison, options.failOnRegression);
}

/**
 * @param {any} options as commander read them
 * @param {{[option: string]: (file: any) => string}} files
 * @param {object} result
 * @param {AbortSignal} signal
 */
async function writeFiles(options, files, result, signal) {
  for (const [name, convert] of Object.entries(files)) {
    if (!options[name]) continue;
    await writeOutput(options[name], convert(result), signal);
    process.stdout.write(styleFor(process.stdout).dim(`Wrote ${options[name]}.\n`));
  }
}

/** @param {Awaited<ReturnType<typeof runAgainst>>} comparison */
function printAgainst(comparison) {
  const { a, b, parameters, environment } = comparison;
  const style = styleFor(process.stdout);
  const caption = `Baseline: ${a.folder}. Candidate: ${b.folder}. ${parameters.samples} rounds of one sample each.`;
  process.stdout.write(`\n${style.bold(wrap(caption, WIDTH))}\n`);
  printComparison(comparison);
  const warnings = environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  ')));
  if (warnings.length > 0) process.stdout.write(`${warnings.join('\n')}\n\n`);
}

/**
 * For --fail-on-regression.
 * @param {import('./compare/runs.js').Comparison} comparison
 * @param {number | undefined} threshold
 */
function checkRegressions(comparison, threshold) {
  if (threshold === undefined) return;
  failOnRegression(comparison, threshold);
  const reason = reasonUndecided(comparison);
  if (reason) process.stderr.write(`--fail-on-regression could not decide: ${reason}.\n`);
}

/** @param {AbortSignal} signal */
function benchCommand(signal) {
  return new Command('bench')
    .description('compare the mechanisms on this machine')
    .option('--mechanism <names>', 'measure only these, comma-separated (default: all)')
    .option('--messages <number>', 'messages per throughput sample (default: 100000; 20000 with --quick)', readMessages)
    .option('--size <bytes>', 'message size, such as 64 or 64KiB (default: 64)', readSize)
    .option('--quick', 'finish in about 20 seconds')
    .option('--thorough', 'take 30 samples of each mechanism, however long it takes')
    .option('--json <file>', 'write the whole run as JSON')
    .option('--csv <file>', 'write one line per mechanism as CSV')
    .option('--markdown <file>', 'write the table as Markdown')
    .option('--batch <number>', 'messages published at once, for mechanisms that support it (default: 1)', readBatch)
    .option('--cores <a,b>', 'the two cores to use (default: chosen from the topology)', readCores)
    .option('--placement <where>', 'same core (same), two cores (cross), or not pinned (free)', readPlacement)
    .option('--no-pin', 'the same as --placement free')
    .option('--realtime', 'run the processes at real-time priority')
    .option('--count <method>', 'how to count system calls: auto, tracepoint or ptrace', readCountMethod, 'auto')
    .option('--against <checkout>', 'compare with the build in another checkout, in one run')
    .option('--baseline <file>', 'compare with a run written by --json (or several, comma-separated)')
    .option(
      '--fail-on-regression <percent>',
      'exit with status 1 if a mechanism is slower by more than this, such as 10%',
      (text) => readPercent('--fail-on-regression', text),
    )
    .option('--self-test', "measure how often the benchmark's verdicts are false alarms or miss a change")
    .addOption(new Option('--pairs <number>', 'comparisons of --self-test').argParser(readPairs).hideHelp())
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .action((options) => bench(options, signal));
}

module.exports = { benchCommand };
