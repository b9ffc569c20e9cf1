'use strict';
// The proof of zero crossings: document 000 says that the hot path of shared memory makes no system call at all.

/** @type {import('../command.js').Experiment} */
const PROVE = {
  name: 'prove',
  title: 'Proof of zero crossings',
  document: '000',
  claim:
    'With shared memory, the kernel takes part only in the setup. The hot path contains no syscall instruction, and perf stat counts 0 system calls for 1,000,000 messages.',
  question: 'Do two processes survive millions of messages if the kernel kills them at their first system call?',
  choices: {},
  run: (options, control) => require('./run.js').runProve(options, control),
  render: (file, style) => require('./render.js').renderProve(file, style),
  csv: (file) => require('./csv.js').toCsv(file),
};

module.exports = { PROVE };
