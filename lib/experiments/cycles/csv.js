'use strict';
// The table in cycles as CSV: one line per row.
const { csvText } = require('../../terminal/csv.js');

/** @type {[string, (row: import('./run.js').Row) => string | number | null][]} */
const COLUMNS = [
  ['row', ({ name }) => name],
  ['kind', ({ kind }) => kind],
  ['cycles', ({ cycles }) => cycles],
  ['cycles_low', ({ interval }) => interval?.low ?? null],
  ['cycles_high', ({ interval }) => interval?.high ?? null],
  ['ns', ({ ns }) => ns],
  ['over_call', ({ overCall }) => overCall?.median ?? null],
  ['system_calls', ({ crossings }) => crossings],
  ['document_cycles', ({ document }) => document?.cycles ?? null],
];

/** @param {import('./run.js').CyclesFile} file */
const toCsv = ({ rows }) =>
  csvText([COLUMNS.map(([name]) => name), ...rows.map((row) => COLUMNS.map(([, read]) => read(row)))]);

module.exports = { toCsv };
