'use strict';
// The table that every command prints: no frame, one rule below the headings.
const { stripVTControlCharacters } = require('node:util');
const Table = require('cli-table3');

/** No lines drawn by cli-table3. */
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

/**
 * A table without a frame: headings, a rule, rows. The first column is left-aligned, the others right-aligned.
 * @param {any[] | null} groups headings over several columns
 * @param {string[]} heads
 * @param {string[][]} rows
 * @param {import('./style.js').Style} style
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

module.exports = { plainTable };
