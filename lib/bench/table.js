'use strict';
// The table of a run as the terminal shows it, fastest round trip first.
const { stripVTControlCharacters } = require('node:util');
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
 * A table without a frame: headings in two rows, a rule, the rows; the first column to the left, all others to the right.
 * @param {any[] | null} groups headings over several columns
 * @param {string[]} heads
 * @param {string[][]} rows
 * @param {import('../style.js').Style} style
 */
function plainTable(groups, heads, rows, style) {
  const table = new Table({
    chars: LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: heads.map((_, column) => (column === 0 ? 'left' : 'right')),
  });
  const headings = groups
    ? [groups.map((group) => (typeof group === 'string' ? group : { ...group, hAlign: 'center' })), heads]
    : [heads];
  table.push(...headings, ...rows);
  const lines = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  const width = Math.max(...lines.map((line) => stripVTControlCharacters(line).length));
  return [
    ...lines.slice(0, headings.length).map((line) => style.dim(line)),
    style.dim('─'.repeat(width)),
    ...lines.slice(headings.length),
  ].join('\n');
}

/**
 * @param {Run} run
 * @param {import('../style.js').Style} style
 */
function renderTable(run, style) {
  const { sizeBytes, messages, samples } = run.parameters;
  const groups = [
    '',
    { content: 'messages a second', colSpan: 2 },
    { content: 'round trip, ns', colSpan: 4 },
    { content: 'system calls', colSpan: 2 },
  ];
  const heads = ['', 'median', '± %', 'median', 'p99', 'p99.9', '× floor', 'a trip', 'a message'];
  const caption = `${byteCount(sizeBytes)} a message, ${messages.toLocaleString('en-US')} messages a sample, ${samples} samples of each mechanism`;
  return `${style.bold(caption)}\n\n${plainTable(groups, heads, fastestFirst(run).map(row), style)}`;
}

module.exports = { renderTable, plainTable, fastestFirst };
