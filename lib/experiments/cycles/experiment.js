'use strict';
// Document 002: what a message costs in cycles.

/** @type {import('../command.js').Experiment} */
const CYCLES = {
  name: 'cycles',
  title: 'The table in cycles',
  document: '002',
  claim:
    'A 64-byte round trip takes 150 cycles over a ring in shared memory, 12.5 times a function call (12 cycles). It takes 175 ' +
    'cycles with authenticated descriptors, 610 over a pipe, 1,040 over eventfd and signalfd, and 1,280 over a Unix datagram socket.',
  question: 'How many cycles does a 64-byte round trip take with each mechanism?',
  choices: {},
  run: (options, control) => require('./run.js').runCycles(options, control),
  render: (file, style) => require('./render.js').render(file, style),
  csv: (file) => require('./csv.js').toCsv(file),
};

module.exports = { CYCLES };
