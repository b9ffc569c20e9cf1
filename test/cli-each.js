'use strict';
// Runs `crossings` with each list of arguments on its standard input, one after the other in this process, and prints the outcomes.
const { readFileSync } = require('node:fs');
const { runCommandLine } = require('../lib/cli.js');
const { labCommand } = require('../server/lab-command.js');

const STREAMS = /** @type {const} */ (['stdout', 'stderr']);
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'];

/** @param {string[]} args */
async function outcomeOf(args) {
  const outcome = { stdout: '', stderr: '' };
  const restore = STREAMS.map((name) => {
    const { write } = process[name];
    process[name].write = (/** @type {any} */ text) => {
      outcome[name] += text;
      return true;
    };
    return () => {
      process[name].write = write;
    };
  });
  process.argv = [process.execPath, 'crossings', ...args];
  process.exitCode = 0;
  await runCommandLine([labCommand]);
  for (const each of restore) each();
  for (const signal of SIGNALS) process.removeAllListeners(signal);
  for (const name of STREAMS) process[name].removeAllListeners('error');
  return { status: process.exitCode, ...outcome };
}

async function main() {
  const outcomes = [];
  for (const args of JSON.parse(readFileSync(0, 'utf8'))) outcomes.push(await outcomeOf(args));
  process.exitCode = 0;
  process.stdout.write(JSON.stringify(outcomes));
}

main();
