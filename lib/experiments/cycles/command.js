'use strict';
// `crossings cycles`: the table of document 002, measured here.
const { readSize } = require('../../bench/arguments.js');
const { readWholeNumber } = require('../../terminal/arguments.js');
const { experimentCommand, runExperiment } = require('../command.js');
const { CYCLES } = require('./experiment.js');

/** @param {AbortSignal} signal */
function cyclesCommand(signal) {
  return experimentCommand(CYCLES, 'measure round trips in clock cycles, and compare them with a published table')
    .option('--size <bytes>', 'message size (default: 64, as in the published table)', readSize)
    .option('--rounds <number>', 'take exactly this many samples per row', (text) =>
      readWholeNumber('--rounds', text, [1, 1000]),
    )
    .action((options) => runExperiment(CYCLES, options, signal));
}

module.exports = { cyclesCommand };
