'use strict';
// Lines of text from a stream. Not node:readline: since Node 24 it also ends a line at U+2028 and U+2029, which a line of JSON may contain.

/**
 * Call `listener` with each line.
 * @param {import('node:stream').Readable} stream
 * @param {(line: string) => void} listener
 */
function onLine(stream, listener) {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (/** @type {string} */ text) => {
    if (!text.includes('\n')) {
      rest += text;
      return;
    }
    const lines = (rest + text).split('\n');
    rest = /** @type {string} */ (lines.pop());
    for (const line of lines) listener(line);
  });
  stream.on('end', () => {
    if (rest !== '') listener(rest);
  });
}

module.exports = { onLine };
