'use strict';
// `crossings trace -- COMMAND`: records any program. The program keeps its standard streams; everything here goes to
// standard error, after the program has ended.
const { checkAllWritable, givenFiles, writeOutput } = require('../../terminal/files.js');
const { readWholeNumber } = require('../../terminal/arguments.js');
const { styleFor, wrap } = require('../../terminal/style.js');
const { traceText } = require('../file.js');
const { renderEnd, renderLog, renderSummary } = require('./log.js');
const { toTraceEvents } = require('./perfetto.js');
const { recordProgram } = require('./record.js');

const WIDTH = 100; // columns of prose
const PLAIN_WIDTH = 160; // of a line of the log, if the output is not a terminal
const MIN_WIDTH = 60;

/** @typedef {import('./record.js').ProgramTrace} ProgramTrace */

/** @type {Record<string, (trace: ProgramTrace) => string>} */
const FILES = {
  json: traceText,
  perfetto: (trace) => `${JSON.stringify(toTraceEvents(trace))}\n`,
};

/** @param {ProgramTrace} trace @param {boolean} brief */
function printTrace(trace, brief) {
  const style = styleFor(process.stderr);
  const width = process.stderr.isTTY ? Math.max(process.stderr.columns ?? WIDTH, MIN_WIDTH) : PLAIN_WIDTH;
  const paragraphs = [
    ...(brief ? [] : ['Times are in microseconds.', renderLog(trace, style, width), renderSummary(trace, style)]),
    renderEnd(trace)
      .map((sentence) => wrap(sentence, WIDTH))
      .join('\n'),
  ];
  process.stderr.write(`\n${paragraphs.join('\n\n')}\n`);
}

/** The streams that the program inherited block, for this process, too: a signal would not end a write into a full pipe. */
function unblockStreams() {
  for (const { _handle: handle } of /** @type {any[]} */ ([process.stdout, process.stderr]))
    handle?.setBlocking?.(false);
}

/**
 * @param {string[]} command
 * @param {any} options as commander read them
 * @param {AbortSignal} signal
 */
async function traceProgram(command, options, signal) {
  const timeoutSeconds = readWholeNumber('--timeout', options.timeout, [1, 86_400]);
  const given = Object.keys(FILES).filter((name) => options[name] !== undefined);
  checkAllWritable(givenFiles(options, Object.keys(FILES)));
  const trace = await recordProgram(
    { command, timeoutSeconds, lines: options.lines, payloads: options.payloads },
    { signal },
  ).finally(unblockStreams);
  for (const name of given) await writeOutput(options[name], FILES[name](trace), signal);
  printTrace(trace, given.length > 0);
  for (const name of given) process.stderr.write(styleFor(process.stderr).dim(`Wrote ${options[name]}.\n`));
}

module.exports = { traceProgram };
