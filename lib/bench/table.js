'use strict';
// The table of a run as the terminal shows it, fastest round trip first.
const { byteCount, crossingCount, significant } = require('../terminal/numbers.js');
const { plainTable } = require('../terminal/table.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */

/** @param {Run} run */
function fastestFirst(run) {
  return [...run.results].sort((a, b) => Number(a.roundTrip.ns.p50) - Number(b.roundTrip.ns.p50));
}

/** Half the interquartile range, as a percentage of the median. @param {Result} result */
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

/** Where the processes ran, which alone can change a mechanism's throughput twofold. @param {Run} run */
function placed({ environment: { pinnedCores } }) {
  if (!pinnedCores) return 'processes placed by the scheduler';
  const [a, b] = pinnedCores;
  return a === b ? `both processes on core ${a}` : `processes on cores ${a} and ${b}`;
}

/**
 * @param {Run} run
 * @param {import('../terminal/style.js').Style} style
 */
function renderTable(run, style) {
  const { sizeBytes, messages, samples } = run.parameters;
  const groups = [
    '',
    { content: 'messages per second', colSpan: 2 },
    { content: 'round trip, ns', colSpan: 4 },
    { content: 'system calls', colSpan: 2 },
  ];
  const heads = ['', 'median', '± %', 'median', 'p99', 'p99.9', '× floor', 'per trip', 'per message'];
  const caption = `${byteCount(sizeBytes)} per message, ${messages.toLocaleString('en-US')} messages per sample, ${samples} samples of each mechanism, ${placed(run)}`;
  return `${style.bold(caption)}\n\n${plainTable(groups, heads, fastestFirst(run).map(row), style)}`;
}

module.exports = { fastestFirst, placed, renderTable };
