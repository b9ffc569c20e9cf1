'use strict';
// The sweep of document 001: bandwidth against buffer size.

/** @type {import('../command.js').Experiment} */
const SWEEP = {
  name: 'sweep',
  title: 'Bandwidth against buffer size',
  document: '001',
  claim:
    'Bandwidth rises with the buffer size up to 32 to 64 KiB and then falls, because the buffers no longer fit in the ' +
    'cache. Pipes are 63 % faster than sockets on average. Instrumentation lowers the curve but keeps its shape.',
  question: 'How does bandwidth depend on the buffer size, and does this differ between mechanisms?',
  choices: {
    mode: ['process', 'thread', 'both'],
    mechanism: ['all', 'pipe', 'socketpair', 'uds', 'tcp', 'ring'],
    buffers: ['both', 'default', 'matched'],
  },
  run: (options, control) => require('./run.js').runSweep(options, control),
  render: (file, style) => require('./render.js').renderSweep(file, style),
  csv: (file) => require('./render.js').toCsv(file),
};

module.exports = { SWEEP };
