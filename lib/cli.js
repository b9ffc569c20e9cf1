#!/usr/bin/env node
'use strict';
// The command line: builds the commands, runs one, and reports its errors. Exit status 0: done; 1: failed while
// running; 2: invalid arguments; 128 + n: ended by signal n.
const { isatty } = require('node:tty');
const { Command, CommanderError } = require('commander');
const { version } = require('../package.json');
const { benchCommand } = require('./bench/command.js');
const { compareCommand } = require('./bench/compare/command.js');
const { nodeCommand } = require('./bench/node/command.js');
const { CrossingsError } = require('./channel/errors.js');
const { EXPERIMENT_COMMANDS } = require('./experiments/commands.js');
const { doctorCommand } = require('./doctor.js');
const { lessonCommand } = require('./lessons/command.js');
const { pitfallCommand } = require('./lessons/pitfall-command.js');
const {
  SIGNALS,
  endBySignal,
  isTerminal,
  statusOf,
  stopListening,
  withoutListeners,
} = require('./terminal/signals.js');
const { traceCommand } = require('./trace/command.js');
const { gatesCommand } = require('./trace/gates/command.js');

/** These compute without a pause and have nothing to clean up. A signal ends them at once. */
const UNINTERRUPTIBLE = ['compare'];

/** These succeed after a signal if they can: `trace -- COMMAND` keeps what was recorded until then. */
const SUCCESSFUL_AFTER_SIGNAL = ['trace'];
const UNREAD_MS = 3000; // of output after a signal

/**
 * The signal is aborted by the first termination signal; its reason is that one's name. The second exits at once: only 'exit'
 * listeners still run. A terminal that closes may send SIGHUP twice, so that one does not count. After finish(), when only output
 * is left to write, which may take forever, the first exits at once.
 */
function abortOnSignal() {
  const controller = new AbortController();
  const exitByHangup = hangupExit();
  let isFinished = false;
  const end = (/** @type {string} */ name) => {
    if (name === 'SIGHUP') exitByHangup();
    if (!isFinished && !controller.signal.aborted) return controller.abort(name);
    if (name === 'SIGHUP' && controller.signal.aborted) return;
    process.exit(statusOf(name));
  };
  for (const name of Object.keys(SIGNALS)) process.on(name, () => end(name));
  return {
    signal: controller.signal,
    /** A terminal that has gone is as good as its signal, which only its foreground processes get. */
    hangUp: () => end('SIGHUP'),
    finish() {
      isFinished = true;
    },
  };
}

const outputs = () => [process.stdout, process.stderr];

/**
 * Ends a process that a signal has told to end, when nothing has read its output for a while. After Ctrl-C, a person may be reading it
 * page by page, and can press Ctrl-C again.
 * @param {AbortSignal} signal
 */
function limitUnreadOutput({ aborted, reason }) {
  if (!aborted || reason === 'SIGINT') return;
  for (const output of outputs()) {
    // Only pipes and sockets have this timer. It starts again whenever a part has been read, and does not keep the process.
    output.setTimeout?.(UNREAD_MS, () => {
      if (output.writableLength > 0) process.exit(statusOf(reason));
    });
  }
}

/**
 * When Node exits, it resets the terminals that it was started from, and aborts if one has gone. This lets SIGHUP end the process
 * before that, also if the terminal has gone without a signal: only its foreground processes get one. The function returned is for
 * a terminal that is about to go.
 */
function hangupExit() {
  const terminals = [0, 1, 2].filter(isTerminal);
  let isHangup = false;
  const onExit = (/** @type {number} */ status) => {
    // After SIGHUP from another program, what has succeeded ends as usual.
    if ((status === 0 || !isHangup) && terminals.every((fd) => isatty(fd))) return;
    endBySignal(status, 'SIGHUP');
  };
  if (terminals.length > 0) process.prependOnceListener('exit', onExit);
  return () => {
    isHangup = true;
  };
}

/** Gives a command and its subcommands the settings of their parent. @param {Command} command @param {Command} parent */
function inheriting(command, parent) {
  command.copyInheritedSettings(parent);
  for (const inner of command.commands) inheriting(inner, command);
  return command;
}

/** @typedef {(signal: AbortSignal) => Command} CommandMaker */

/** @type {CommandMaker[]} */
const COMMANDS = [
  (signal) => benchCommand(signal).addCommand(nodeCommand(signal)),
  ...EXPERIMENT_COMMANDS,
  compareCommand,
  traceCommand,
  gatesCommand,
  lessonCommand,
  pitfallCommand,
  doctorCommand,
];

/** @param {CommandMaker[]} commands @param {AbortSignal} signal */
function buildProgram(commands, signal) {
  const program = new Command('npx crossings-lab') // in a checkout, too, and where npx starts it as `crossings`
    .description('Measure, use and understand inter-process communication on Linux.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeErr: () => {} }) // reportError() writes the one sentence
    .showSuggestionAfterError(true);
  program.enablePositionalOptions();
  program.hook('preAction', (_program, command) => {
    if (UNINTERRUPTIBLE.includes(command.name())) stopListening();
  });
  for (const make of commands) program.addCommand(inheriting(make(signal), program));
  return program;
}

/** @param {string} sentence */
const report = (sentence) => withoutListeners(() => process.stderr.write(`${sentence}\n`));

/**
 * The command that the arguments name, and its words: "crossings bench node".
 * @param {Command} program after parsing
 */
function commandOf(program) {
  let command = program;
  const words = [program.name()];
  for (;;) {
    const inner = command.commands.find((candidate) => candidate.name() === command.args[0]);
    if (!inner) return { command, words: words.join(' ') };
    command = inner;
    words.push(inner.name());
  }
}

/**
 * Commander's "error: unknown command 'bunch'\n(Did you mean bench?)" as a sentence.
 * @param {CommanderError} error
 * @param {Command} program
 */
function sentenceOf({ code, message }, program) {
  const { command, words } = commandOf(program);
  const see = `see \`${words} --help\`.`;
  if (code === 'commander.excessArguments') {
    return `Unexpected argument "${command.args[command.registeredArguments.length]}"; ${see}`;
  }
  const [, flags] = /^error: option '(.*)' argument missing$/.exec(message) ?? [];
  if (flags) return `${flags.split(' ')[0]} requires a value, as in ${flags}; ${see}`;
  const [what, hint = ''] = message.replace(/^error: /, '').split('\n');
  const suggestion = hint.replace(/^\((.*)\?\)$/, ' ($1?)');
  return `${what[0].toUpperCase()}${what.slice(1).replace(/\.$/, '')}${suggestion}; ${see}`;
}

/**
 * Reports the error that ended the program, and returns the exit status.
 * @param {unknown} error
 * @param {AbortSignal} signal
 * @param {Command} program
 */
function reportError(error, signal, program) {
  if (signal.aborted) return statusOf(signal.reason);
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (error.code === 'commander.help') report('Missing command; see `npx crossings-lab --help`.');
    else report(sentenceOf(error, program));
    return 2;
  }
  if (error instanceof CrossingsError) {
    const plain = error.code === 'ERR_USAGE' || error.code === 'ERR_NOT_BUILT';
    report(plain ? error.message : `${error.message} (${error.code})`);
    return error.code === 'ERR_USAGE' ? 2 : 1;
  }
  throw error;
}

/** Node and the packages need the current folder in many places, and say only "uv_cwd" where there is none. */
function checkFolder() {
  try {
    process.cwd();
  } catch {
    throw new CrossingsError('ERR_USAGE', 'The current folder no longer exists. Change to another one.');
  }
}

/** @param {NodeJS.WriteStream} output @param {Error} error */
const isHangup = (output, error) => output.isTTY && /** @type {NodeJS.ErrnoException} */ (error).code === 'EIO';

/** What happens when an output cannot be written. @param {() => void} hangUp */
function handleOutputErrors(hangUp) {
  const { stdout, stderr } = process;
  // Nobody can be told that standard error cannot be written, and no command depends on it.
  stderr.on('error', (error) => {
    if (isHangup(stderr, error)) hangUp();
  });
  // A reader that closes the pipe (`crossings bench | head -1`) is not an error.
  stdout.on('error', (error) => {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE') return;
    if (isHangup(stdout, error)) return hangUp();
    report(`Cannot write the output: ${error.message}.`);
    process.exit(1);
  });
}

/**
 * Runs this process's command line.
 * @param {CommandMaker[]} [more] commands that lib/ does not have
 */
async function runCommandLine(more = []) {
  const { signal, hangUp, finish } = abortOnSignal();
  handleOutputErrors(hangUp);
  const program = buildProgram([...COMMANDS, ...more], signal);
  try {
    checkFolder();
    await program.parseAsync();
    if (SUCCESSFUL_AFTER_SIGNAL.includes(commandOf(program).command.name())) limitUnreadOutput(signal);
    else signal.throwIfAborted();
  } catch (error) {
    process.exitCode = reportError(error, signal, program);
    // What a command that was ended has left to write may never be read.
    if (signal.aborted && outputs().some(({ writableLength }) => writableLength > 0)) process.exit();
  }
  finish();
}

if (require.main === module) runCommandLine();

module.exports = { runCommandLine };
