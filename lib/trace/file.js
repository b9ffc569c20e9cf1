'use strict';
// A trace as a file: JSON with one event per line, so that recordings can be compared line by line.

/** Members written with one line per item. */
const BY_LINE = new Set(['processes', 'sources', 'objects', 'descriptors', 'events']);

/** @param {unknown} value */
function byLine(value) {
  const list = Array.isArray(value);
  const items = list
    ? value.map((item) => JSON.stringify(item))
    : Object.entries(Object(value)).map(([key, item]) => `${JSON.stringify(key)}: ${JSON.stringify(item)}`);
  const [open, close] = list ? '[]' : '{}';
  return `${open}\n    ${items.join(',\n    ')}\n  ${close}`;
}

/** @param {object} trace */
function traceText(trace) {
  const members = Object.entries(trace).map(
    ([key, value]) => `${JSON.stringify(key)}: ${BY_LINE.has(key) ? byLine(value) : JSON.stringify(value)}`,
  );
  return `{\n  ${members.join(',\n  ')}\n}\n`;
}

module.exports = { traceText };
