'use strict';
// Bold and dim for a terminal, plain text for everything else.
const { styleText } = require('node:util');

/** @typedef {{bold: (text: string) => string, dim: (text: string) => string, good: (text: string) => string, bad: (text: string) => string}} Style */

/**
 * The style that suits a stream: colours only on a terminal, and not where NO_COLOR asks for none.
 * @param {NodeJS.WriteStream} stream
 * @returns {Style}
 */
function styleFor(stream) {
  const colours = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  /** @param {Parameters<typeof styleText>[0]} format */
  const paint = (format) => (/** @type {string} */ text) => (colours && text ? styleText(format, text) : text);
  return { bold: paint('bold'), dim: paint('dim'), good: paint('green'), bad: paint('yellow') };
}

/**
 * Break a text into lines of at most `width` columns, at spaces.
 * @param {string} text
 * @param {number} width
 * @param {string} [indent] before each line but the first
 */
function wrap(text, width, indent = '') {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1];
    if (line && line.length + 1 + word.length > width) lines.push(indent + word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.join('\n');
}

module.exports = { styleFor, wrap };
