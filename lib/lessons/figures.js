'use strict';
// The figures that a program prints, one to a line: `name = number unit`.

const { significant } = require('../terminal/numbers.js');

/** @typedef {{[name: string]: {value: number, unit: string}}} Figures */

const FIGURE = /^([a-z][A-Za-z0-9]*) = (-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?: (\S.*))?$/;

/** @param {string[]} lines @returns {Figures} */
function figuresIn(lines) {
  /** @type {Figures} */
  const figures = {};
  for (const line of lines) {
    const [, name, number, unit = ''] = FIGURE.exec(line.trimEnd()) ?? [];
    if (name) figures[name] = { value: Number(number), unit: unit === 'us' ? 'µs' : unit };
  }
  return figures;
}

/** Whether a line is one of a figure, which the page shows elsewhere. @param {string} line */
const isFigure = (line) => FIGURE.test(line.trimEnd());

/**
 * A figure as a text shows it: a count whole, a measured value with three significant digits, or with as many as wanted.
 * 1001 -> "1,001"; 8 -> "8"; 301.14 -> "301"; 1001, 2 -> "1,000".
 * @param {number} value
 * @param {number} [digits]
 */
function figureText(value, digits) {
  const isWhole = Number.isInteger(value) && (digits === undefined || Math.abs(value) < 10 ** digits);
  return isWhole ? value.toLocaleString('en-US') : significant(value, digits);
}

module.exports = { figureText, figuresIn, isFigure };
