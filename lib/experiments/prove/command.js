'use strict';
// The command `crossings prove`.
const { experimentCommand, runExperiment } = require('../command.js');
const { readWholeNumber, refuse } = require('../../terminal/arguments.js');
const { checkWritable, writeOutput } = require('../../terminal/files.js');
const { styleFor, wrap } = require('../../terminal/style.js');
const { PROVE } = require('./experiment.js');

const MAX_MESSAGES = 1_000_000_000;
const WIDTH = 100;

/** @param {string} text */
function readMessages(text) {
  const messages = readWholeNumber('--messages', text, [2, MAX_MESSAGES]);
  return messages % 2 === 0 ? messages : refuse(`--messages must be an even number; got "${text}".`);
}

/** @param {{json?: string}} options @param {AbortSignal} signal */
async function printDisassembly({ json }, signal) {
  const { disassemble } = require('./disassembly.js');
  const { renderDisassembly } = require('./render.js');
  const { disassemblySentence } = require('./sentences.js');
  if (json !== undefined) checkWritable('--json', json);
  const disassembly = await disassemble(undefined, signal);
  const listing = renderDisassembly(disassembly, styleFor(process.stdout));
  process.stdout.write(`${[listing, wrap(disassemblySentence(disassembly), WIDTH)].filter(Boolean).join('\n\n')}\n`);
  const file = { schema: 'crossings/disassembly/1', ...disassembly };
  if (json) await writeOutput(json, `${JSON.stringify(file, null, 2)}\n`, signal);
  if (disassembly.reason || disassembly.violations?.length) process.exitCode = 1;
}

/** @param {any} options @param {AbortSignal} signal */
async function prove(options, signal) {
  if (options.disassembly && options.messages !== undefined)
    refuse('--disassembly and --messages cannot be used together.');
  if (options.disassembly && options.csv !== undefined) refuse('--disassembly and --csv cannot be used together.');
  if (options.disassembly) return printDisassembly(options, signal);
  const { verdict } = await runExperiment(PROVE, options, signal);
  if (verdict === 'failed' || verdict === 'unknown') process.exitCode = 1;
}

/** @param {AbortSignal} signal */
function proveCommand(signal) {
  return experimentCommand(
    PROVE,
    'prove that the hot path makes no system call, under a filter that kills any process that makes one',
  )
    .option(
      '--messages <n>',
      'messages per proof, an even number (default: 10000000; 1000000 with --quick)',
      readMessages,
    )
    .option('--disassembly', 'list the instructions of the hot path with their source lines, and exit')
    .action((options) => prove(options, signal));
}

module.exports = { proveCommand };
