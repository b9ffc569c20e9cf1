'use strict';
// CSV as in RFC 4180.

/** A field, quoted if necessary. @param {string | number | null} value */
function csvField(value) {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {(string | number | null)[][]} lines the first one has the headings */
const csvText = (lines) => lines.map((line) => `${line.map(csvField).join(',')}\r\n`).join('');

module.exports = { csvText };
