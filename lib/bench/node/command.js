'use strict';
// The command `crossings bench node`: compares transports for messages between two Node processes.
const { Command } = require('commander');
const { placementOf, readCores, readNames, readPlacement, refuse } = require('../../terminal/arguments.js');
const { checkWritable, writeOutput } = require('../../terminal/files.js');
const { progressBar } = require('../../terminal/progress.js');
const { styleFor, wrap } = require('../../terminal/style.js');
const { readCountMethod, readEffort, readSize } = require('../arguments.js');
const { toJson } = require('../export.js');
const { provenance } = require('../provenance.js');
const { renderRatios, renderSizes } = require('./table.js');

const WIDTH = 100; // columns of prose

/**
 * @param {any} options as parsed by commander
 * @param {AbortSignal} signal
 */
async function benchNode(options, signal) {
  // Loaded on demand, because it loads the addon, which most commands do not need.
  const { runNodeBench, SIZES, TRANSPORTS } = require('./runner.js');
  const effort = readEffort(options);
  const { cores, pin, sameCore } = placementOf(options);
  if (sameCore) refuse('--placement same is not supported: bench node needs two different cores.');
  if (options.json !== undefined) checkWritable('--json', options.json);
  const chosen = readNames('--transport', options.transport, TRANSPORTS);
  const bar = progressBar();
  const run = await runNodeBench(
    {
      effort,
      transports: chosen,
      sizes: options.size ? [options.size] : SIZES,
      cores,
      pin,
      countMethod: options.count,
    },
    { signal, onProgress: bar.update },
  ).finally(() => bar.stop());
  const style = styleFor(process.stdout);
  const paragraphs = [
    style.bold(`Transports between two Node processes (${run.parameters.samples} samples each)`),
    renderSizes(run, style),
    renderRatios(run, style),
    style.dim(wrap(`Node ${process.version}. ${provenance(run)}`, WIDTH)),
    run.environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  '))).join('\n'),
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
  if (options.json) await writeOutput(options.json, toJson(/** @type {any} */ (run)), signal);
}

/** @param {AbortSignal} signal */
function nodeCommand(signal) {
  return new Command('node')
    .description('compare transports for messages between two Node processes')
    .option('--transport <names>', 'measure only these transports, comma-separated (default: all)')
    .option('--size <bytes>', 'measure only this message size (default: 32, 64 and 64KiB)', readSize)
    .option('--quick', 'take three samples of each transport')
    .option('--thorough', 'take 30 samples of each transport')
    .option('--json <file>', 'write the whole run as JSON')
    .option('--cores <a,b>', 'the two cores to use (default: chosen from the topology)', readCores)
    .option('--placement <where>', 'two cores (cross, the default), or not pinned (free)', readPlacement)
    .option('--no-pin', 'the same as --placement free')
    .option('--count <method>', 'how to count system calls: auto, tracepoint or ptrace', readCountMethod, 'auto')
    .allowExcessArguments(false)
    .action((_, command) => benchNode(command.optsWithGlobals(), signal));
}

module.exports = { nodeCommand };
