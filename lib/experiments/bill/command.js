'use strict';
// The command `crossings bill MECHANISM`.
const { Option } = require('commander');
const { readWholeNumber, refuse } = require('../../terminal/arguments.js');
const { experimentCommand, runExperiment } = require('../command.js');
const { BILL } = require('./experiment.js');
const { MECHANISMS, USUAL_SIZE, readBillSize, readMechanisms } = require('./mechanisms.js');

/** @param {any} options as commander read them */
function checkPlacement({ placement, pin }) {
  const given = placement ? `--placement ${placement}` : pin ? null : '--no-pin';
  if (given) refuse(`${given} is not supported: bill places the processes itself, on the cores given by --cores A,B.`);
}

/** @param {AbortSignal} signal */
function billCommand(signal) {
  return experimentCommand(BILL, 'show how the time of a round trip is spent, part by part')
    .argument('[mechanism]', `one of ${MECHANISMS.join(', ')}; several, comma-separated; or all`)
    .option('--size <bytes>', `message size, 8 to 16384 (default: ${USUAL_SIZE})`, readBillSize)
    .addOption(
      new Option('--rounds <number>', 'take exactly this many rounds')
        .argParser((text) => readWholeNumber('--rounds', text, [1, 1000]))
        .hideHelp(),
    )
    .addOption(
      new Option('--round-trips <number>', 'round trips per sample')
        .argParser((text) => readWholeNumber('--round-trips', text, [10, 1e6]))
        .hideHelp(),
    )
    .action((mechanism, options) => {
      checkPlacement(options);
      readMechanisms(mechanism);
      return runExperiment(BILL, { ...options, mechanism }, signal);
    });
}

module.exports = { billCommand };
