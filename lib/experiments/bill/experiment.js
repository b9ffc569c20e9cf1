'use strict';
// `crossings bill`: what the time of a round trip is spent on.
const { renderBills } = require('./render.js');
const { MECHANISMS } = require('./mechanisms.js');

/** @type {import('../command.js').Experiment} */
const BILL = {
  name: 'bill',
  title: 'The bill of a round trip',
  document: '000',
  claim:
    'A round trip over a pipe makes four crossings of 101 ns each, 404 ns of its 6,236 ns. Most of the rest is spent waking ' +
    'the other process.',
  question: 'How is the time of a round trip spent?',
  choices: { mechanism: MECHANISMS, size: ['32', '64', '4096'] },
  argument: 'mechanism',
  run: (options, control) => require('./run.js').runBill(options, control),
  render: renderBills,
  csv: (file) => require('./csv.js').toCsv(file),
  figures: (file) => require('./figures.js').figuresOf(file),
};

module.exports = { BILL };
