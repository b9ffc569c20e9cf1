'use strict';
// `crossings latency`: the percentile table of document 004, measured here.
const { readSize } = require('../../bench/arguments.js');
const { readWholeNumber, refuse } = require('../../terminal/arguments.js');
const { experimentCommand, runExperiment } = require('../command.js');
const { LATENCY } = require('./experiment.js');
const { toHgrm } = require('./hgrm.js');

/** @param {string} option @param {[number, number]} range */
const wholeNumber = (option, range) => (/** @type {string} */ text) => readWholeNumber(option, text, range);

/** @param {any} options @param {AbortSignal} signal */
async function latency(options, signal) {
  if (!options.paced && options.rate !== undefined) refuse('--no-paced and --rate cannot be used together.');
  if (!options.paced && options.hdrPaced !== undefined) refuse('--no-paced and --hdr-paced cannot be used together.');
  await runExperiment(LATENCY, options, signal, { hdr: toHgrm, hdrPaced: ({ paced }) => toHgrm(paced) });
}

/** @param {AbortSignal} signal */
function latencyCommand(signal) {
  return experimentCommand(
    LATENCY,
    "measure the percentiles of the ring's round trip, and compare them with published ones",
  )
    .option('--samples <number>', 'round trips to time (default: 1000000)', wholeNumber('--samples', [100, 10_000_000]))
    .option('--size <bytes>', 'message size (default: 32, as in the published figures)', readSize)
    .option(
      '--warm-up <number>',
      'untimed round trips before each round (default: 10000)',
      wholeNumber('--warm-up', [0, 10_000_000]),
    )
    .option(
      '--rate <number>',
      'messages per second of the paced loop (default: half of what the ring can do)',
      (text) => readWholeNumber('--rate', text, [1, 1e9]),
    )
    .option('--no-paced', 'run only the closed loop')
    .option('--realtime', 'run the processes at real-time priority (needs three cores)')
    .option('--mlock', 'lock the memory of the processes')
    .option('--hdr <file>', "write the closed loop's distribution for HdrHistogram's plotter")
    .option('--hdr-paced <file>', 'the same for the paced loop')
    .action((options) => latency(options, signal));
}

module.exports = { latencyCommand };
