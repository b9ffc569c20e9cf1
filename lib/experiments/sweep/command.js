'use strict';
// `crossings sweep`.
const { experimentCommand, runExperiment } = require('../command.js');
const { readEffort } = require('../../bench/arguments.js');
const { MECHANISMS, readPlan } = require('./arguments.js');
const { SWEEP } = require('./experiment.js');

/** @param {any} options @param {AbortSignal} signal */
async function run(options, signal) {
  readPlan({ ...options, effort: readEffort(options) }); // refuses what cannot be measured, before anything else
  await runExperiment(SWEEP, options, signal);
}

/** @param {AbortSignal} signal */
function sweepCommand(signal) {
  return experimentCommand(SWEEP, 'measure bandwidth against buffer size, for pipes, sockets and shared memory')
    .option('--mechanism <names>', `comma-separated: ${MECHANISMS.join(', ')} (default: all)`)
    .option('--mode <mode>', 'between two processes (process), two threads (thread), or both')
    .option('--buffers <kind>', "the kernel's buffers: default, matched (to the buffer size), or both (default: both)")
    .option('--sizes <list>', 'buffer sizes, comma-separated, such as 64,4KiB,1MiB')
    .option('--from <bytes>', 'smallest buffer size')
    .option('--to <bytes>', 'largest buffer size')
    .option('--total <bytes>', 'bytes moved per sample (default: 16MiB)')
    .option('--max-writes <n>', 'maximum number of buffers moved per sample; 0: no limit')
    .option('--samples <n>', 'samples per point, after a first one that is discarded')
    .option('--seed <n>', 'seed for the random order of the points (default: 1)')
    .option('--no-probe', 'skip the sweeps under tracing and hardware counters')
    .action((options) => run(options, signal));
}

module.exports = { sweepCommand };
