'use strict';
// Runs a program of a part to its end and returns what it printed.
const { spawn } = require('node:child_process');

/** @typedef {{status: number | null, stdout: string, stderr: string}} Ended status: null if a signal ended it */

/**
 * @param {string[]} command
 * @param {import('node:child_process').SpawnOptionsWithoutStdio} [options] with a timeout, the program is killed after that time
 * @returns {Promise<Ended>} rejected if the program cannot be started
 */
function runProgram([program, ...args], options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { killSignal: 'SIGKILL', ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = { stdout: '', stderr: '' };
    child.stdout?.on('data', (data) => {
      ended.stdout += data;
    });
    child.stderr?.on('data', (data) => {
      ended.stderr += data;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, ...ended }));
  });
}

module.exports = { runProgram };
