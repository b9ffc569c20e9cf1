'use strict';
// The table of a run as the terminal shows it, fastest round trip first.
const Table = require('cli-table3');
const { byteCount, crossingCount, significant } = require('./numbers.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */

/** No frame: one rule below the headings. */
const LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** @param {Run} run */
function fastestFirst(run) {
  return [...run.results].sort((a, b) => Number(a.roundTrip.ns.p50) - Number(b.roundTrip.ns.p50));
}

/** Half the distance between the quartiles, in percent of the median. @param {Result} result */
function spread({ throughput: { messagesPerSecond: rate } }) {
  return significant(((rate.q3 - rate.q1) / 2 / rate.median) * 100, 2);
}

/** @param {Result} result */
function row(result) {
  const { throughput, roundTrip, crossings } = result;
  return [
    result.title,
    significant(throughput.messagesPerSecond.median),
    spread(result),
    significant(roundTrip.ns.p50),
    significant(roundTrip.ns.p99),
    significant(roundTrip.ns['p99.9']),
    roundTrip.overFloor ? significant(roundTrip.overFloor.median) : '–',
    crossingCount(crossings.perRoundTrip),
    crossingCount(crossings.perMessage),
  ];
}

/**
 * @param {Run} run
 * @param {import('../style.js').Style} style
 */
function renderTable(run, style) {
  const table = new Table({
    chars: LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
  });
  const groups = [
    '',
    { content: `messages a second`, colSpan: 2, hAlign: 'center' },
    { content: 'round trip, ns', colSpan: 4, hAlign: 'center' },
    { content: 'system calls', colSpan: 2, hAlign: 'center' },
  ];
  const heads = ['', 'median', '± %', 'median', 'p99', 'p99.9', '× floor', 'a trip', 'a message'];
  const rows = fastestFirst(run).map(row);
  table.push(/** @type {any} */ (groups), heads, ...rows);
  const [first, second, ...rest] = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  const width = Math.max(...rest.map((line) => line.length), second.length);
  const caption = `${byteCount(run.parameters.sizeBytes)} a message, ${run.parameters.messages.toLocaleString('en-US')} messages a sample, ${run.parameters.samples} samples of each mechanism`;
  return [style.bold(caption), '', style.dim(first), style.dim(second), style.dim('─'.repeat(width)), ...rest].join(
    '\n',
  );
}

module.exports = { renderTable, fastestFirst };
