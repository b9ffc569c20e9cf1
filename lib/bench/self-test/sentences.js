'use strict';
// What a self-test found, in words and as a table.
const { crossingCount, significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');
const { list, percent } = require('../compare/sentences.js');

/** @typedef {import('./run.js').Figures} Figures */

const MEASURES = { roundTrip: 'round trip', throughput: 'throughput' };

/** @param {Figures} figures */
function describeAlarms({ falseAlarms, parameters }) {
  const { comparisons, withFalseAlarm, allowed } = falseAlarms;
  return (
    `Identical builds: ${withFalseAlarm} of ${comparisons} comparisons (${parameters.rounds} rounds each) gave a false alarm; ` +
    `${allowed === 0 ? 'none' : `at most ${allowed}`} ${allowed > 1 ? 'are' : 'is'} allowed.`
  );
}

/** @param {Figures['planted'][number]} outcome @param {number} slowdown */
function describePlanted({ mechanism, measure, found, of, needed, ratio }, slowdown) {
  const limit = needed === null ? '' : `; at least ${needed} ${needed === 1 ? 'is' : 'are'} required`;
  return (
    `A delay of ${percent(slowdown)} planted in ${mechanism}, ${MEASURES[measure]}: found in ${found} of ${of} comparisons ` +
    `(median ratio ${significant(ratio)})${limit}.`
  );
}

/** @param {Figures['counts'][number]} count */
function describeCount({ mechanism, getppid, passed, notice }) {
  if (passed === null) return `A system call planted in ${mechanism} could not be counted here: ${notice}.`;
  return (
    `One getppid() planted per message of ${mechanism}: counted ${crossingCount(getppid.perMessage)} per message and ` +
    `${crossingCount(getppid.perRoundTrip)} per round trip; 1 and 2 are required.`
  );
}

/**
 * @param {Figures} figures
 * @returns {{sentences: string[], missed: string[]}} missed: the criteria that were not met
 */
function describe(figures) {
  const { falseAlarms, planted, counts, parameters } = figures;
  const missed = [
    ...(falseAlarms.passed ? [] : ['false alarms']),
    ...planted
      .filter(({ passed }) => passed === false)
      .map(({ mechanism, measure }) => `the slowdown of ${mechanism} (${MEASURES[measure]})`),
    ...counts.filter(({ passed }) => passed === false).map(({ mechanism }) => `the system call in ${mechanism}`),
  ];
  return {
    sentences: [
      describeAlarms(figures),
      ...planted.map((outcome) => describePlanted(outcome, parameters.slowdown)),
      ...counts.map(describeCount),
      missed.length > 0
        ? `The benchmark missed ${missed.length === 1 ? 'a criterion' : 'criteria'} on this machine: ${list(missed)}.`
        : 'The benchmark met all its criteria on this machine.',
    ],
    missed,
  };
}

/** @param {Figures} figures @param {import('../../terminal/style.js').Style} style */
function renderSelfTest({ falseAlarms, planted, counts, parameters }, style) {
  const mark = (/** @type {boolean | null} */ passed) =>
    passed === null ? 'not required' : passed ? style.good('met') : style.bad('missed');
  const { comparisons, withFalseAlarm, allowed } = falseAlarms;
  const rows = [
    [
      'identical builds: false alarms',
      `${withFalseAlarm} of ${comparisons}`,
      `at most ${allowed}`,
      mark(falseAlarms.passed),
    ],
    ...planted.map(({ mechanism, measure, found, of, needed, passed }) => [
      `${percent(parameters.slowdown)} slower: ${mechanism}, ${MEASURES[measure]}`,
      `${found} of ${of}`,
      needed === null ? '–' : `at least ${needed}`,
      mark(passed),
    ]),
    ...counts.map(({ mechanism, getppid, passed }) => [
      `planted system call: ${mechanism}`,
      passed === null
        ? 'not counted'
        : `${crossingCount(getppid.perMessage)} and ${crossingCount(getppid.perRoundTrip)}`,
      '1 and 2',
      mark(passed),
    ]),
  ];
  return plainTable(null, ['', 'found', 'criterion', ''], rows, style);
}

module.exports = { describe, renderSelfTest };
