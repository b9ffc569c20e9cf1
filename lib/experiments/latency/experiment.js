'use strict';
// Documents 004 and 000: the percentiles of the ring's round trip.

/** @type {import('../command.js').Experiment} */
const LATENCY = {
  name: 'latency',
  title: 'Latency percentiles',
  document: '004',
  claim:
    'Of 1,000,000 round trips of 32 bytes over a ring in shared memory, on two pinned cores, the median takes 56.5 ns, p99.9 is ' +
    '122 ns and p99.99 is 467 ns. Half of the median, 28.3 ns, estimates the one-way time.',
  question: "How are the ring's round-trip times distributed, and what changes if messages are sent at a fixed rate?",
  choices: { mlock: ['no', 'yes'] },
  run: (options, control) => require('./run.js').runLatency(options, control),
  render: (file, style) => require('./render.js').render(file, style),
  csv: (file) => require('./csv.js').toCsv(file),
};

module.exports = { LATENCY };
