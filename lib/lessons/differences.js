'use strict';
// The lines in which two short programs differ, as in a unified diff.

/** @typedef {{mark: ' ' | '-' | '+', text: string, wrong: number | null, right: number | null}} Line numbers count from 1 */

/**
 * The longest common subsequence of two lists of lines: lengths[i][j] is that of a from i and b from j. The programs have
 * about a hundred lines, so a table is enough.
 * @param {string[]} a
 * @param {string[]} b
 */
function commonLengths(a, b) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

/** Every line of both programs, in order. @param {string} wrong @param {string} right @returns {Line[]} */
function compareLines(wrong, right) {
  const [a, b] = [wrong, right].map((text) => text.replace(/\n$/, '').split('\n'));
  const lengths = commonLengths(a, b);
  /** @type {Line[]} */
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: ' ', text: a[i], wrong: ++i, right: ++j });
    } else if (i < a.length && (j === b.length || lengths[i + 1][j] >= lengths[i][j + 1])) {
      lines.push({ mark: '-', text: a[i], wrong: ++i, right: null });
    } else {
      lines.push({ mark: '+', text: b[j], wrong: null, right: ++j });
    }
  }
  return lines;
}

/**
 * The lines that differ, with `context` lines before and after them. Lines that are far apart are in different groups.
 * @param {Line[]} lines
 * @param {number} context
 */
function groupDifferences(lines, context) {
  const near = (/** @type {number} */ at) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ mark }) => mark !== ' ');
  /** @type {Line[][]} */
  const groups = [];
  lines.forEach((line, at) => {
    if (!near(at)) return;
    if (at === 0 || !near(at - 1)) groups.push([]);
    groups[groups.length - 1].push(line);
  });
  return groups;
}

module.exports = { compareLines, groupDifferences };
