'use strict';
// The report of a long run: one table of all parts and their figures, then what failed, the machine and the seed.
const os = require('node:os');
const { significant } = require('../../lib/terminal/numbers.js');
const { styleFor, wrap } = require('../../lib/terminal/style.js');
const { plainTable } = require('../../lib/terminal/table.js');

const WIDTH = 100; // columns of prose

/** @typedef {import('./run.js').Outcome} Outcome */

/** The machine that this process runs on. */
function describeMachine() {
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    architecture: os.arch(),
    kernel: `${os.type()} ${os.release()}`,
    node: process.version,
  };
}

/** @param {Outcome} outcome */
const isGood = ({ failures }) => failures.length === 0;

/** @param {Outcome} outcome */
function describeOutcome({ skipped, failures, seconds }) {
  if (failures.length > 0) return `${failures.length} ${failures.length === 1 ? 'failure' : 'failures'}`;
  return skipped ? 'skipped' : `passed in ${significant(seconds)} s`;
}

/** @param {number | string} value */
function shown(value) {
  if (typeof value === 'string') return value;
  return Number.isInteger(value) ? value.toLocaleString('en-US') : significant(value);
}

/**
 * @param {{startedAt: string, machine: ReturnType<typeof describeMachine>, outcomes: Outcome[],
 *   parameters: {seed: number, scale: string, minutes: number, seconds: number}}} report
 */
function renderReport({ startedAt, machine, outcomes, parameters }) {
  const style = styleFor(process.stdout);
  const rows = outcomes.flatMap((outcome) => {
    const paint = isGood(outcome) ? style.good : style.bad;
    return [
      [style.bold(`${outcome.name}: ${outcome.title}`), '', paint(describeOutcome(outcome))],
      ...Object.entries(outcome.figures).map(([label, value]) => [`  ${label}`, shown(value), '']),
    ];
  });
  const notes = outcomes.flatMap(({ name, skipped, failures }) => [
    ...(skipped ? [`${name} was skipped: ${skipped}`] : []),
    ...failures.map((failure) => style.bad(`! ${name}: ${failure}`)),
  ]);
  const { cpu, cores, memoryGiB, architecture, kernel, node } = machine;
  const provenance =
    `${startedAt.slice(0, 16).replace('T', ' ')} UTC; ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${architecture}; ` +
    `${kernel}; Node ${node}; scale ${parameters.scale}; ${significant(parameters.seconds)} s. ` +
    `Repeat with --seed ${parameters.seed}.`;
  const paragraphs = [
    plainTable(null, ['part', 'figure', 'result'], rows, style),
    notes.join('\n'),
    style.dim(wrap(provenance, WIDTH)),
  ];
  return `\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`;
}

module.exports = { describeMachine, describeOutcome, isGood, renderReport };
