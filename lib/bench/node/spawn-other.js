'use strict';
// Starts the other side of a measurement as a process.
const { spawn } = require('node:child_process');
const { startNodeOrExit } = require('../../measure/start.js');

/**
 * How to start the other process.
 * @typedef {object} Place
 * @property {string[]} prefix of its command: taskset and its arguments, or empty
 * @property {string} script
 * @property {string[]} args
 * @property {number} sizeBytes
 */

/** @param {Place} place @param {any[]} stdio */
function spawnOther({ prefix, script, args }, stdio) {
  const [command, ...rest] = [...prefix, process.execPath, script, ...args];
  return startNodeOrExit(() => spawn(command, rest, { stdio }));
}

module.exports = { spawnOther };
