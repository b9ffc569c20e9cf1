'use strict';
// What cannot work, and the code by which it must say so. Any other failure is a failure of the matrix.

/** @type {{row: RegExp, column: RegExp, code: string, why: string}[]} */
const KNOWN = [];

/** Is this sentence the one that is expected of this cell? @param {string} row @param {string} column @param {string} note */
const known = (row, column, note) =>
  KNOWN.some((each) => each.row.test(row) && each.column.test(column) && note.includes(each.code));

module.exports = { KNOWN, known };
