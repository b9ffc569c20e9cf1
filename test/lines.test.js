'use strict';
// Lines of text from a program.
const { PassThrough } = require('node:stream');
const { once } = require('node:events');
const { onLine } = require('../lib/measure/lines.js');

// node:readline ends a line there since Node 24: a traced program with such a file name was killed, and its recording lost.
test('a line ends at \\n only, wherever the text is cut', async () => {
  const lines = ['{"name":"a\u2028b\u2029c\u0085"}', '', 'é😀\r', 'last'];
  const bytes = Buffer.from(lines.join('\n'));
  for (const size of [1, 3, 1000]) {
    const stream = new PassThrough();
    /** @type {string[]} */ const read = [];
    onLine(stream, (line) => read.push(line));
    for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
    stream.end();
    await once(stream, 'end');
    expect(read).toEqual(lines);
  }
});
