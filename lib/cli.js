#!/usr/bin/env node
'use strict';
// The command line: reads arguments, calls what does the work, prints what came of it. Exit status 0: done; 1: failed
// while running; 2: unusable arguments; 128 + n: ended by signal n.
const { Command, CommanderError } = require('commander');
const { version } = require('../package.json');
const { benchCommand } = require('./bench/command.js');
const { nodeCommand } = require('./bench/node/command.js');
const { CrossingsError } = require('./channel/errors.js');
const { doctorCommand } = require('./doctor.js');
const { traceCommand } = require('./trace/command.js');

const SIGNALS = /** @type {const} */ ({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 });

/** Aborted by the first signal that asks us to end; the reason is that signal's name. */
function abortOnSignal() {
  const controller = new AbortController();
  for (const name of Object.keys(SIGNALS)) process.once(name, () => controller.abort(name));
  return controller.signal;
}

/** Errors of a command and of its commands are told in the same way. @param {Command} command @param {Command} parent */
function inheriting(command, parent) {
  command.copyInheritedSettings(parent);
  for (const inner of command.commands) inheriting(inner, command);
  return command;
}

/** @typedef {(signal: AbortSignal) => Command} CommandMaker */

/** @type {CommandMaker[]} */
const COMMANDS = [(signal) => benchCommand(signal).addCommand(nodeCommand(signal)), traceCommand, doctorCommand];

/** @param {CommandMaker[]} commands @param {AbortSignal} signal */
function buildProgram(commands, signal) {
  const program = new Command('crossings')
    .description('Inter-process communication, measured and taught by counting what each message crosses.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeErr: () => {} }) // the one sentence is written below
    .showSuggestionAfterError(true);
  program.enablePositionalOptions();
  for (const make of commands) program.addCommand(inheriting(make(signal), program));
  return program;
}

/** @param {string} sentence */
const complain = (sentence) => process.stderr.write(`${sentence}\n`);

/** Commander's "error: unknown command 'bunch'\n(Did you mean bench?)" as a sentence. @param {string} message */
function sentenceOf(message) {
  const [what, hint = ''] = message.replace(/^error: /, '').split('\n');
  const ask = hint.replace(/^\((.*)\?\)$/, ' ($1?)');
  return `${what[0].toUpperCase()}${what.slice(1).replace(/\.$/, '')}${ask}; \`crossings --help\` tells what there is.`;
}

/**
 * What to say and the exit status, for whatever ended the program.
 * @param {unknown} error
 * @param {AbortSignal} signal
 */
function statusOf(error, signal) {
  if (signal.aborted) return 128 + SIGNALS[/** @type {keyof typeof SIGNALS} */ (signal.reason)];
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (error.code === 'commander.help') complain('Which command? `crossings --help` lists them.');
    else complain(sentenceOf(error.message));
    return 2;
  }
  if (error instanceof CrossingsError) {
    const told = error.code === 'ERR_USAGE' || error.code === 'ERR_NOT_BUILT';
    complain(told ? error.message : `${error.message} (${error.code})`);
    return error.code === 'ERR_USAGE' ? 2 : 1;
  }
  throw error;
}

/**
 * Runs the command line of this process.
 * @param {CommandMaker[]} [more] commands of the rooms above
 */
async function runCommandLine(more = []) {
  const signal = abortOnSignal();
  // A reader that stops reading (`crossings bench | head -1`) is no fault.
  process.stdout.on('error', (error) => {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE') return;
    complain(`The output could not be written: ${error.message}.`);
    process.exit(1);
  });
  try {
    await buildProgram([...COMMANDS, ...more], signal).parseAsync();
  } catch (error) {
    process.exitCode = statusOf(error, signal);
  }
}

if (require.main === module) runCommandLine();

module.exports = { runCommandLine };
