'use strict';
// What differs between two runs besides their results: the machine, the programs, and what was measured.
const { byteCount } = require('../../terminal/numbers.js');

/** @typedef {import('../runner.js').Run} Run */

/** @type {[string, (run: Run) => unknown][]} */
const FACTS = [
  ['machines', ({ environment }) => `${environment.cpu}, ${environment.cores} cores`],
  ['kernels', ({ environment }) => environment.kernel],
  ['virtualizations', ({ environment }) => environment.virtualization],
  ['compilers', ({ environment }) => environment.compiler],
  ['versions of crossings', ({ tool }) => tool?.version],
  ['versions of Node', ({ environment, parameters }) => (parameters.mode === 'node' ? environment.node : undefined)],
  ['clocks', ({ environment }) => environment.clock?.source],
  ['cores used', ({ environment }) => environment.pinnedCores?.join(' and ') ?? 'not pinned'],
  ['placements', ({ environment }) => environment.placement],
  ['kinds of process', ({ parameters }) => (parameters.mode === 'node' ? 'Node' : 'C')],
  ['message sizes', ({ parameters }) => byteCount(parameters.sizeBytes)],
  ['message counts', ({ parameters }) => parameters.messages.toLocaleString('en-US')],
  ['batch sizes', ({ parameters }) => parameters.batch ?? 1],
  ['efforts', ({ parameters }) => parameters.effort],
  ['priorities', ({ parameters }) => (parameters.realtime ? 'real-time' : 'normal')],
];

/** The different values of a fact among runs. @param {Run[]} runs @param {(run: Run) => unknown} read */
const valuesOf = (runs, read) => [...new Set(runs.map((run) => read(run) ?? 'unknown'))].join(' or ');

/**
 * One sentence for each fact in which the two sides differ.
 * @param {Run[]} a the baseline's runs
 * @param {Run[]} b the candidate's
 */
function differences(a, b) {
  return FACTS.flatMap(([what, read]) => {
    const [before, after] = [valuesOf(a, read), valuesOf(b, read)];
    return before === after ? [] : [`The ${what} differ: ${before} (baseline), ${after} (candidate).`];
  });
}

module.exports = { differences };
