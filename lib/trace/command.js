'use strict';
// `crossings trace MECHANISM`: records what two processes do to pass a few messages. `crossings trace -- COMMAND`: records any
// program.
const { Command } = require('commander');
const { CrossingsError } = require('../channel/errors.js');
const { checkAllWritable, givenFiles, writeOutput } = require('../terminal/files.js');
const { styleFor, wrap } = require('../terminal/style.js');
const { traceText } = require('./file.js');
const { renderBill, renderLog } = require('./log.js');
const { toTraceEvents } = require('./perfetto.js');
const { traceProgram } = require('./program/command.js');
const { recordTrace } = require('./record.js');

const WIDTH = 100; // columns of prose
const PLAIN_WIDTH = 160; // of a line of the log, if the output is not a terminal
const MIN_WIDTH = 72;

/** @typedef {import('./record.js').Trace} Trace */

/** @type {Record<string, (trace: Trace) => string>} */
const FILES = {
  json: traceText,
  perfetto: (trace) => `${JSON.stringify(toTraceEvents(trace))}\n`,
};

/** @param {Trace} trace */
function printTrace(trace) {
  const { title, parameters, processes, environment } = trace;
  const style = styleFor(process.stdout);
  const width = process.stdout.isTTY ? Math.max(process.stdout.columns ?? WIDTH, MIN_WIDTH) : PLAIN_WIDTH;
  const who = processes.map(({ role, pid }) => `${role} ${pid}`).join(', ');
  const count = `${parameters.messages} ${parameters.messages === 1 ? 'message' : 'messages'}`;
  const paragraphs = [
    `${style.bold(title)}: ${count} of up to ${parameters.sizeBytes} bytes. Processes: ${who}. Times are in microseconds.`,
    renderLog(trace, style, width),
    renderBill(trace)
      .map((sentence) => wrap(sentence, WIDTH))
      .join('\n'),
    style.dim(wrap(`${environment.cpu}, ${environment.kernel}; virtualization: ${environment.virtualization}.`, WIDTH)),
  ];
  process.stdout.write(`\n${paragraphs.join('\n\n')}\n\n`);
}

/**
 * @param {string} mechanism
 * @param {any} options as commander read them
 * @param {AbortSignal} signal
 */
async function trace(mechanism, options, signal) {
  checkAllWritable(givenFiles(options, Object.keys(FILES)));
  const recorded = await recordTrace({ mechanism, messages: options.messages }, { signal });
  signal.throwIfAborted(); // the last steps do not look at it
  for (const [name, toText] of Object.entries(FILES)) {
    if (options[name]) await writeOutput(options[name], toText(recorded), signal);
  }
  printTrace(recorded);
  for (const name of Object.keys(FILES)) {
    if (options[name]) process.stdout.write(styleFor(process.stdout).dim(`Wrote ${options[name]}.\n`));
  }
}

/**
 * Refuses options that have no meaning for what is traced.
 * @param {Command} command after parsing
 * @param {string[]} names
 * @param {boolean} isCommand a command is traced, not a mechanism
 */
function refuseOthers(command, names, isCommand) {
  const given = command.options.find(
    (option) =>
      names.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (!given) return;
  const wanted = isCommand
    ? 'a mechanism, as in `trace --messages 10 pipe`'
    : `a command, as in \`trace ${given.flags} -- node app.js\``;
  throw new CrossingsError('ERR_USAGE', `${given.long} requires ${wanted}.`);
}

const EXAMPLES = `
Examples:
  npx crossings-lab trace pipe                two processes that exchange messages through a pipe
  npx crossings-lab trace -- node app.js      any program, with its children and threads
  npx crossings-lab trace --json app.json --no-payloads -- ./server --port 0

The program keeps its standard input, output and error. When it has ended, the log is printed on standard error; with --json, only a
summary. If the program hangs, the summary says which process sleeps in which call, and which process holds the other end. Ctrl-C ends
the program and keeps what was recorded until then.`;

/** @param {AbortSignal} signal */
function traceCommand(signal) {
  return new Command('trace')
    .description('record the system calls of two processes that exchange messages, or of any program')
    .usage('[options] <mechanism>\n       npx crossings-lab trace [options] -- <command> [arguments...]')
    .argument('<mechanism>', 'pipe, uds, tcp, shm-sem, shm-spin or ring; after --, the command')
    .argument('[arguments...]', 'arguments of the command')
    .option('--messages <n>', 'number of messages, 1 to 1000', '10')
    .option('--json <file>', 'write the recording as JSON')
    .option('--perfetto <file>', 'write the recording as Trace Event JSON, for ui.perfetto.dev')
    .option('--timeout <seconds>', 'end the command after this time, 1 to 86400', '60')
    .option('--no-lines', 'do not record which line of JavaScript makes each system call')
    .option('--no-payloads', 'do not record the bytes that system calls transfer')
    .addHelpText('after', EXAMPLES)
    .action((first, others, options, command) => {
      const isCommand = command.parent?.rawArgs.includes('--');
      refuseOthers(command, isCommand ? ['messages'] : ['timeout', 'lines', 'payloads'], isCommand);
      if (isCommand) return traceProgram([first, ...others], options, signal);
      if (others.length) {
        const sentence = `Unexpected argument "${others[0]}"; to trace a command, write \`npx crossings-lab trace -- ${first} ${others[0]}\`.`;
        throw new CrossingsError('ERR_USAGE', sentence);
      }
      return trace(first, options, signal);
    });
}

module.exports = { traceCommand };
