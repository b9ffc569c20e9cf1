'use strict';
// All experiments, in the order of the documents whose claims they test. The command line and the lab find them here.
const { BILL } = require('./bill/experiment.js');
const { PROVE } = require('./prove/experiment.js');
const { SWEEP } = require('./sweep/experiment.js');
const { CYCLES } = require('./cycles/experiment.js');
const { LATENCY } = require('./latency/experiment.js');

/** @type {import('./command.js').Experiment[]} */
const EXPERIMENTS = [BILL, PROVE, SWEEP, CYCLES, LATENCY];

module.exports = { EXPERIMENTS };
