'use strict';
// `crossings bench`: compares the mechanisms on this machine.
const { Command } = require('commander');
const { describeMachine } = require('../measure/environment.js');
const { readCores, readNames, refuse } = require('../terminal/arguments.js');
const { checkWritable, writeWhole } = require('../terminal/files.js');
const { progressBar } = require('../terminal/progress.js');
const { styleFor, wrap } = require('../terminal/style.js');
const { readBatch, readCountMethod, readEffort, readMessages, readSize } = require('./arguments.js');
const { toCsv, toJson, toMarkdown } = require('./export.js');
const { provenance } = require('./provenance.js');
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
    [...unsteady(run), ...refusals(run)].map((line) => style.bad(wrap(`! ${line}`, WIDTH, '  '))).join('\n'),
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
  // Last: if a file cannot be written after all, the results are on the screen.
  for (const [name, convert] of Object.entries(FILES)) {
    if (!options[name]) continue;
    writeWhole(options[name], convert(run));
    process.stdout.write(styleFor(process.stdout).dim(`Wrote ${options[name]}.\n`));
  }
}

/** The rule of crossings-bench, checked before anything runs. @param {any} options @param {any} machine */
function checkRealtime(options, machine) {
  const [a, b] = machine.pinnedCores;
  if (!options.pin || a === b) refuse('--realtime requires the processes to be pinned to two different cores.');
  if (machine.cpus.length < 3) {
    refuse(
      `--realtime requires at least 3 cores; this machine has ${machine.cpus.length}. Two processes that spin at ` +
        'real-time priority would stop it.',
    );
  }
}

/** @param {AbortSignal} signal */
function benchCommand(signal) {
  return new Command('bench')
    .description('compare the mechanisms on this machine')
    .option('--mechanism <names>', 'only these, comma-separated (default: all)')
    .option('--messages <number>', 'messages per throughput sample (default: 100000; 20000 with --quick)', readMessages)
    .option('--size <bytes>', 'message size, such as 64 or 64KiB (default: 64)', readSize)
    .option('--quick', 'finish in about 20 seconds')
    .option('--thorough', 'take 30 samples of each mechanism, however long it takes')
    .option('--json <file>', 'write the whole run as JSON')
    .option('--csv <file>', 'write one line per mechanism as CSV')
    .option('--markdown <file>', 'write the table as Markdown')
    .option('--batch <number>', 'messages published at once, for mechanisms that support it (default: 1)', readBatch)
    .option('--cores <a,b>', 'the two cores to use (default: chosen from the topology)', readCores)
    .option('--no-pin', 'let the scheduler place the processes')
    .option('--realtime', 'run the processes at real-time priority')
    .option('--count <method>', 'how to count system calls: auto, tracepoint or ptrace', readCountMethod, 'auto')
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .action((options) => bench(options, signal));
}

module.exports = { benchCommand };
