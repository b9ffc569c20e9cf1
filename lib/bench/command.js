'use strict';
// `crossings bench`: the comparison of all mechanisms on this machine.
const { SingleBar } = require('cli-progress');
const { Command } = require('commander');
const { styleFor, wrap } = require('../style.js');
const { readBatch, readCores, readCountMethod, readMessages, readNames, readSize, refuse } = require('./arguments.js');
const { checkWritable, toCsv, toJson, toMarkdown, writeWhole } = require('./export.js');
const { significant } = require('./numbers.js');
const { EFFORTS, listMechanisms, runBench } = require('./runner.js');
const { explain } = require('./sentences.js');
const { describeMachine } = require('./environment.js');
const { renderRatios, renderSizes } = require('./node/table.js');
const { renderTable } = require('./table.js');

const WIDTH = 100; // columns of prose

/** @typedef {import('./runner.js').Run} Run */

/** @type {{[option: string]: (run: Run) => string}} */
const FILES = { json: toJson, csv: toCsv, markdown: toMarkdown };

/** A bar on standard error when that is a terminal; silence otherwise. */
function progressBar() {
  if (!process.stderr.isTTY) return { update() {}, stop() {} };
  const bar = new SingleBar({
    format: ' {bar} {percentage} %  {doing}',
    barCompleteChar: '━',
    barIncompleteChar: '┄',
    barsize: 40,
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
    gracefulExit: false, // signals are ours
  });
  bar.start(1000, 0, { doing: '' });
  return {
    /** @param {{fraction: number, doing: string}} progress */
    update: ({ fraction, doing }) => bar.update(Math.round(fraction * 1000), { doing }),
    stop: () => bar.stop(),
  };
}

/** Where and how it was measured, in one paragraph. @param {{environment: Run['environment'], parameters: {seconds: number}, results: {crossings: {method: string | null}}[]}} run */
function provenance({ environment, parameters, results }) {
  const { clock } = environment;
  const placed = environment.pinnedCores
    ? `cores ${environment.pinnedCores.join(' and ')} (${environment.placement})`
    : 'cores of the scheduler’s choice';
  const methods = [...new Set(results.map(({ crossings }) => crossings.method))].filter(Boolean);
  const counted =
    methods.length > 0 ? `System calls counted by ${methods.join(' and ')}.` : 'System calls could not be counted.';
  return (
    `${environment.cpu}, ${environment.kernel}, ${placed}, ${environment.compiler}; clock: ${clock.source}, ` +
    `${significant(clock.overheadNs, 2)} ns a reading. ${counted} ${significant(parameters.seconds)} s in all.`
  );
}

/** @param {Run} run */
function printRun(run) {
  const style = styleFor(process.stdout);
  const paragraphs = [
    renderTable(run, style),
    wrap(explain(run).join(' '), WIDTH),
    style.dim(wrap(provenance(run), WIDTH)),
    run.environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  '))).join('\n'),
    [...unsteady(run), ...refusals(run)].map((line) => style.bad(wrap(`! ${line}`, WIDTH, '  '))).join('\n'),
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
}

/** @param {Run} run */
function unsteady({ results, parameters }) {
  const names = results.filter(({ steady }) => !steady).map(({ mechanism }) => mechanism);
  if (names.length === 0) return [];
  const advice =
    parameters.effort === 'thorough' ? 'the machine is too noisy for closer figures' : '--thorough takes more samples';
  return [
    `After ${parameters.samples} samples the medians of ${names.join(', ')} are not yet known to within 2 %: ${advice}.`,
  ];
}

/** Why a better way of counting was not to be had, said once. @param {Run} run */
function refusals({ results }) {
  const notices = [...new Set(results.map(({ crossings }) => crossings.notice))].filter(Boolean);
  return notices.map((notice) => `While counting system calls: ${notice}.`);
}

/**
 * @param {any} options as commander read them
 * @param {AbortSignal} signal
 */
async function bench(options, signal) {
  const effort = readEffort(options);
  for (const name of Object.keys(FILES)) if (options[name] !== undefined) checkWritable(`--${name}`, options[name]);
  const catalogue = await listMechanisms(signal);
  const mechanisms = readNames(
    '--mechanism',
    options.mechanism,
    catalogue.map(({ name }) => name),
  );
  const machine = await describeMachine({ cores: options.cores ?? null, signal });
  if (options.realtime) checkRealtime(options, machine);

  const bar = progressBar();
  const run = await runBench(
    {
      mechanisms,
      catalogue,
      effort,
      messages: options.messages ?? EFFORTS[effort].messages,
      sizeBytes: options.size ?? 64,
      batch: options.batch ?? 1,
      cores: options.cores ?? null,
      pin: options.pin,
      realtime: Boolean(options.realtime),
      countMethod: options.count,
    },
    { signal, onProgress: bar.update },
  ).finally(() => bar.stop());

  printRun(run);
  // Last, so that a file that cannot be written after all costs nobody the results.
  for (const [name, convert] of Object.entries(FILES)) {
    if (!options[name]) continue;
    writeWhole(options[name], convert(run));
    process.stdout.write(styleFor(process.stdout).dim(`${options[name]} written.\n`));
  }
}

/** The same rule as crossings-bench's, told before anything runs. @param {any} options @param {any} machine */
function checkRealtime(options, machine) {
  const [a, b] = machine.pinnedCores;
  if (!options.pin || a === b) refuse('--realtime needs the two processes pinned to two different cores.');
  if (machine.cpus.length < 3) {
    refuse(
      `--realtime needs at least 3 cores and this machine has ${machine.cpus.length}: two spinning processes at ` +
        'real-time priority would stop the machine.',
    );
  }
}

/**
 * `crossings bench node`.
 * @param {any} options
 * @param {AbortSignal} signal
 */
async function benchNode(options, signal) {
  // Only here: it loads the addon, which the benchmark in C does without.
  const { runNodeBench, SIZES, TRANSPORTS } = require('./node/runner.js');
  const effort = readEffort(options);
  if (options.json !== undefined) checkWritable('--json', options.json);
  const chosen = readNames('--transport', options.transport, TRANSPORTS);
  const bar = progressBar();
  const run = await runNodeBench(
    {
      effort,
      transports: chosen,
      sizes: options.size ? [options.size] : SIZES,
      cores: options.cores ?? null,
      pin: options.pin,
      countMethod: options.count,
    },
    { signal, onProgress: bar.update },
  ).finally(() => bar.stop());
  const style = styleFor(process.stdout);
  const paragraphs = [
    style.bold(`Between two Node processes, ${run.parameters.samples} samples of each`),
    renderSizes(run, style),
    renderRatios(run, style),
    style.dim(wrap(`Node ${process.version}. ${provenance(run)}`, WIDTH)),
    run.environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  '))).join('\n'),
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
  if (options.json) writeWhole(options.json, toJson(/** @type {any} */ (run)));
}

/** @param {any} options @returns {'quick' | 'standard' | 'thorough'} */
function readEffort(options) {
  if (options.quick && options.thorough) refuse('--quick and --thorough contradict each other: give one of them.');
  if (!options.pin && options.cores) refuse('--cores and --no-pin contradict each other: give one of them.');
  return options.quick ? 'quick' : options.thorough ? 'thorough' : 'standard';
}

/** @param {AbortSignal} signal */
function nodeCommand(signal) {
  return new Command('node')
    .description('compare the ways in which two Node processes can talk')
    .option('--transport <names>', 'only these, set apart by commas (default: all)')
    .option('--size <bytes>', 'only this size (default: 32, 64 and 64KiB)', readSize)
    .option('--quick', 'three samples of each, under a minute')
    .option('--thorough', '30 samples of each')
    .option('--json <file>', 'write everything as JSON')
    .option('--cores <a,b>', 'the two cores to run on (default: chosen from the topology)', readCores)
    .option('--no-pin', 'let the scheduler place the processes')
    .option('--count <method>', 'how to count system calls: auto, tracepoint or ptrace', readCountMethod, 'auto')
    .allowExcessArguments(false)
    .action((_, command) => benchNode(command.optsWithGlobals(), signal));
}

/** @param {AbortSignal} signal */
function benchCommand(signal) {
  return new Command('bench')
    .description('compare the mechanisms on this machine')
    .option('--mechanism <names>', 'only these, set apart by commas (default: all)')
    .option(
      '--messages <number>',
      'messages of one throughput sample (default: 100000; 20000 with --quick)',
      readMessages,
    )
    .option('--size <bytes>', 'size of a message, as in 64 or 64KiB (default: 64)', readSize)
    .option('--quick', 'about 20 seconds for all')
    .option('--thorough', 'at least 30 samples of each, however long it takes')
    .option('--json <file>', 'write everything as JSON')
    .option('--csv <file>', 'write one line for each mechanism as CSV')
    .option('--markdown <file>', 'write the table as Markdown')
    .option(
      '--batch <number>',
      'messages shown to the receiver at once, by mechanisms that can (default: 1)',
      readBatch,
    )
    .option('--cores <a,b>', 'the two cores to run on (default: chosen from the topology)', readCores)
    .option('--no-pin', 'let the scheduler place the processes')
    .option('--realtime', 'run the processes at real-time priority')
    .option('--count <method>', 'how to count system calls: auto, tracepoint or ptrace', readCountMethod, 'auto')
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .addCommand(nodeCommand(signal))
    .action((options) => bench(options, signal));
}

module.exports = { benchCommand };
