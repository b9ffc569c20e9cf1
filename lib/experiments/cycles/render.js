'use strict';
// The table in cycles, for the terminal.
const { byteCount, crossingCount, significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');

/** @param {import('../figure.js').Figure | null} figure */
const range = (figure) =>
  figure && figure.low !== null ? `${significant(figure.low)} to ${significant(figure.high)}` : '–';

/** @param {import('./run.js').Row} row */
const cells = (row) => [
  row.title,
  significant(row.cycles),
  range(row.interval),
  significant(row.ns),
  row.kind === 'call' ? '1' : significant(row.overCall?.median),
  row.kind === 'mechanism' ? crossingCount(row.crossings) : '',
  row.document ? row.document.cycles.toLocaleString('en-US') : '–',
  row.document ? significant(row.document.overCall) : '–',
];

/** @param {import('./run.js').CyclesFile} file @param {import('../../terminal/style.js').Style} style */
function render({ rows, parameters, document }, style) {
  const groups = [
    '',
    { content: 'round trip on this machine', colSpan: 4 },
    'system calls',
    { content: `document ${document.number}`, colSpan: 2 },
  ];
  const heads = ['', 'cycles', '95 % interval', 'ns', '× call', 'per trip', 'cycles', '× call'];
  const samples = parameters.samples === 1 ? '1 sample' : `${parameters.samples} samples`;
  const caption = `${byteCount(parameters.sizeBytes)} per message, median of ${samples} per row. Last columns: document ${document.number} (${document.machine})`;
  return `${style.bold(caption)}\n\n${plainTable(groups, heads, rows.map(cells), style)}`;
}

module.exports = { render };
