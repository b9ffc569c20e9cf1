'use strict';
// The percentile table, for the terminal.
const { byteCount, significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');

/** @type {[string, string][]} */
const LINES = [
  ['min', 'Min'],
  ['p50', 'p50 (median)'],
  ['p90', 'p90'],
  ['p99', 'p99'],
  ['p99.9', 'p99.9'],
  ['p99.99', 'p99.99'],
  ['max', 'Max'],
];

/** 0.1 ns, as the document has it, where there are fewer than 1,000. @param {number | null | undefined} ns */
function time(ns) {
  if (ns === null || ns === undefined) return '–';
  const digits = ns < 1000 ? 1 : 0;
  return ns.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @param {import('../figure.js').Figure | null | undefined} figure */
const range = (figure) => (figure && figure.low !== null ? `${time(figure.low)} to ${time(figure.high)}` : '');

/** @param {import('./run.js').LatencyFile} file @param {import('../../terminal/style.js').Style} style */
function render(file, style) {
  const { paced, document, parameters } = file;
  const groups = [
    'round trip, ns',
    { content: 'closed loop', colSpan: 2 },
    ...(paced ? [{ content: `paced, ${significant(paced.ratePerSecond)} per second`, colSpan: 2 }] : []),
    `document ${document.number}`,
  ];
  const heads = ['', 'all rounds', '95 % interval', ...(paced ? ['from due time', 'from sending'] : []), ''];
  const rows = LINES.map(([name, title]) => [
    title,
    time(file.ns[name]),
    range(file.intervals[name]),
    ...(paced ? [time(paced.ns[name]), time(paced.serviceNs[name])] : []),
    time(document.ns[/** @type {keyof typeof document.ns} */ (name)]),
  ]);
  const blank = paced ? ['', ''] : [];
  rows.push(['One way, estimate', time(file.oneWayEstimateNs), '', ...blank, time(document.oneWayEstimateNs)]);
  rows.push([
    'Round trips per second',
    significant(file.roundTripsPerSecond.median),
    '',
    ...(paced ? [significant(paced.roundTripsPerSecond.median), ''] : []),
    significant(document.roundTripsPerSecond, 5),
  ]);
  const caption =
    `Ring, ${byteCount(file.sizeBytes)} per message: ${file.samples.toLocaleString('en-US')} round trips in ` +
    `${parameters.rounds} ${parameters.rounds === 1 ? 'round' : 'rounds'}, each after ${parameters.warmUp.toLocaleString('en-US')} to warm up. ` +
    `Last column: document ${document.number} (${document.machine})`;
  return `${style.bold(caption)}\n\n${plainTable(groups, heads, rows, style)}`;
}

module.exports = { render };
