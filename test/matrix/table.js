'use strict';
// What the matrix found: rows of cells, and how they are printed.
const { known } = require('./known.js');

const MARKS = { ok: '✓', says: 'says', failed: '✗', skipped: '–' };

/** @typedef {{state: keyof typeof MARKS, note: string}} Cell note: a sentence, or empty */

class Row {
  /** @param {string} name @param {readonly string[]} columns */
  constructor(name, columns) {
    this.name = name;
    /** @type {Record<string, Cell>} */
    this.cells = Object.fromEntries(columns.map((column) => [column, { state: 'skipped', note: '' }]));
  }

  /** Fills a cell: ✓ unless `check` fails, with its sentence. @param {string} column @param {() => Promise<unknown>} check */
  async cell(column, check) {
    try {
      await check();
      this.cells[column] = { state: 'ok', note: '' };
    } catch (error) {
      const note = error instanceof Error ? error.message : String(error);
      this.cells[column] = { state: known(this.name, column, note) ? 'says' : 'failed', note };
    }
    return this.cells[column].state === 'ok';
  }

  /** Nothing of this row can run here. @param {string} why @param {boolean} isFailure */
  skip(why, isFailure) {
    for (const column of Object.keys(this.cells)) this.cells[column] = { state: 'skipped', note: '' };
    const [first] = Object.keys(this.cells);
    this.cells[first] = { state: isFailure ? 'failed' : 'skipped', note: why };
  }
}

/** @typedef {{title: string, columns: readonly string[], rows: Row[]}} Table */

/** @param {Table} table */
function render({ title, columns, rows }) {
  const width = Math.max(title.length, ...rows.map(({ name }) => name.length));
  const head = [title.padEnd(width), ...columns].join('  ');
  const lines = rows.map(({ name, cells }) =>
    [name.padEnd(width), ...columns.map((column) => MARKS[cells[column].state].padEnd(column.length))]
      .join('  ')
      .trimEnd(),
  );
  /** @type {Map<string, string[]>} */
  const notes = new Map(); // each sentence once, with the cells that it is about
  for (const { name, cells } of rows) {
    for (const [column, { note }] of Object.entries(cells)) {
      if (note) notes.set(note, [...(notes.get(note) ?? []), `${name}: ${column}`]);
    }
  }
  const sentences = [...notes].map(([note, about]) => `  ${about.join(', ')}\n      ${note}`);
  return [head, '─'.repeat(head.length), ...lines, ...sentences].join('\n');
}

/** How many cells are in each state. @param {Table[]} tables */
function count(tables) {
  const counts = { ok: 0, says: 0, failed: 0, skipped: 0 };
  for (const { rows } of tables)
    for (const { cells } of rows) for (const { state } of Object.values(cells)) counts[state]++;
  return counts;
}

module.exports.Row = Row;
module.exports.count = count;
module.exports.render = render;
