'use strict';
// `crossings cycles`: the table of document 002, measured here.
const { readSize } = require('../../bench/arguments.js');
const { readWholeNumber } = require('../../terminal/arguments.js');
const { experimentCommand, runExperiment } = require('../command.js');
const { CYCLES } = require('./experiment.js');

/** @param {AbortSignal} signal */
function cyclesCommand(signal) {
  return experimentCommand(CYCLES, 'measure round trips in cycles, as in document 002')
    .option('--size <bytes>', 'message size (default: 64, as in the document)', readSize)
    .option('--rounds <number>', 'take exactly this many samples per row', (text) =>
      readWholeNumber('--rounds', text, [1, 1000]),
    )
    .action((options) => runExperiment(CYCLES, options, signal));
}

module.exports = { cyclesCommand };
