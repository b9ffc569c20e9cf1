'use strict';
// Text for the terminal: bold, dim and colors, and line breaks. Plain text for everything else.
const { styleText } = require('node:util');

/** @typedef {{bold: (text: string) => string, dim: (text: string) => string, good: (text: string) => string, bad: (text: string) => string}} Style */

/**
 * The style for a stream: colors only on a terminal, and none if NO_COLOR is set.
 * @param {NodeJS.WriteStream} stream
 * @returns {Style}
 */
function styleFor(stream) {
  const colors = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  /** @param {Parameters<typeof styleText>[0]} format */
  const paint = (format) => (/** @type {string} */ text) => (colors && text ? styleText(format, text) : text);
  return { bold: paint('bold'), dim: paint('dim'), good: paint('green'), bad: paint('yellow') };
}

/**
 * Breaks a text at spaces into lines of at most `width` columns, fewer on a narrower terminal.
 * @param {string} text
 * @param {number} width
 * @param {string} [indent] before every line except the first
 */
function wrap(text, width, indent = '') {
  const limit = Math.min(width, process.stdout.columns || width);
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1];
    if (line && line.length + 1 + word.length > limit) lines.push(indent + word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.join('\n');
}

module.exports = { styleFor, wrap };
