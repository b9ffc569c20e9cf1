'use strict';
// The commands of the experiments.
const { billCommand } = require('./bill/command.js');
const { proveCommand } = require('./prove/command.js');
const { sweepCommand } = require('./sweep/command.js');
const { cyclesCommand } = require('./cycles/command.js');
const { latencyCommand } = require('./latency/command.js');

/** @type {((signal: AbortSignal) => import('commander').Command)[]} */
const EXPERIMENT_COMMANDS = [billCommand, proveCommand, sweepCommand, cyclesCommand, latencyCommand];

module.exports = { EXPERIMENT_COMMANDS };
