'use strict';
// The figures that a program prints, one to a line: `name = number unit`.

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

module.exports = { figuresIn, isFigure };
