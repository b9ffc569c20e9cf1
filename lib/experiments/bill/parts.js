'use strict';
// Which configurations of a round trip are measured, and which difference between them is which part of the bill.
// docs/measuring.md ("The bill of a round trip") explains each difference.
const { median, medianInterval } = require('../../measure/statistics.js');

const COPIES = 4; // a message is copied in and copied out, there and back

/**
 * One way to make a round trip. Each takes something away from the first.
 * @typedef {object} Configuration
 * @property {string} name
 * @property {string} what
 * @property {boolean} twoCores whether it needs two cores
 * @property {boolean} counted whether its system calls are counted: those of polling are mostly attempts that fail
 * @property {(cores: number[]) => string[]} options of crossings-bench
 */

/** @param {number[]} cores */
const on = (...cores) => ['--cores', cores.join(',')];

/** @type {Configuration[]} */
const CONFIGURATIONS = [
  {
    name: 'two-cores',
    what: 'two processes on two cores sleep while they wait',
    twoCores: true,
    counted: true,
    options: ([a, b]) => on(a, b),
  },
  {
    name: 'two-cores-awake',
    what: 'the same, while SCHED_IDLE processes keep both cores from going idle',
    twoCores: true,
    counted: false,
    options: ([a, b]) => [...on(a, b), '--keep-awake'],
  },
  {
    name: 'one-core',
    what: 'two processes on one core sleep while they wait',
    twoCores: false,
    counted: true,
    options: ([a]) => on(a, a),
  },
  {
    name: 'polling',
    what: 'two processes on two cores poll and never sleep',
    twoCores: true,
    counted: false,
    options: ([a, b]) => [...on(a, b), '--poll'],
  },
  {
    name: 'alone',
    what: 'one process makes the calls of both sides, so none has to wait',
    twoCores: false,
    counted: true,
    options: ([a]) => [...on(a, a), '--alone'],
  },
];

/**
 * One round: every configuration once.
 * @typedef {object} Round
 * @property {Record<string, number>} ns median round trip by configuration; one that cannot be measured is missing
 * @property {number} syscallNs the cheapest system call
 * @property {number} copyNs one plain copy of a message
 * @property {number | null} cacheLineNs round trip of a bare cache line between the two cores
 */

/**
 * System calls per round trip, by configuration; null: they could not be counted.
 * @typedef {Record<string, number> | null} Counts
 */

/**
 * The configuration whose round trip is the total.
 * @param {boolean} twoCores
 */
const totalOf = (twoCores) => (twoCores ? 'two-cores' : 'one-core');

/**
 * The parts of one round, nanoseconds. They add up to the round trip of that round. NaN: not measurable here.
 * @param {Round} round
 * @param {Counts} counts
 * @param {boolean} twoCores
 * @returns {Record<string, number>}
 */
function partsOf({ ns, syscallNs, copyNs }, counts, twoCores) {
  /** The round trip without its bare crossings. @param {string} name @param {string} [like] makes the same calls */
  const bare = (name, like = name) => (ns[name] ?? Number.NaN) - (counts?.[like] ?? 0) * syscallNs;
  const copies = COPIES * copyNs;
  const alone = bare('alone');
  const sleeping = bare('one-core') - alone;
  // A poll that fails costs the round trip nothing: its process has only to wait. Those that succeed are as many as alone.
  const polling = bare('polling', 'alone');
  const blocking = bare('two-cores');
  const awake = bare('two-cores-awake', 'two-cores');
  const waking = (Number.isNaN(awake) ? blocking : awake) - polling - sleeping;
  return {
    crossings: counts ? counts[totalOf(twoCores)] * syscallNs : Number.NaN,
    copies,
    'own-code': alone - copies,
    'between-cores': twoCores ? polling - alone : Number.NaN,
    'sleep-and-wake': sleeping,
    'wake-other-core': twoCores ? waking : Number.NaN,
    'idle-exit': twoCores ? blocking - awake : Number.NaN,
  };
}

/** How each part is measured, and its title. @type {Record<string, {title: string, how: string}>} */
const PARTS = {
  crossings: {
    title: 'Crossings',
    how: 'the number of system calls, as the kernel counts them, times the cheapest system call',
  },
  copies: { title: 'Copies', how: `${COPIES} plain copies of the message in one core's cache` },
  'own-code': {
    title: "The mechanism's own code",
    how: 'alone, without its crossings and the copies',
  },
  'between-cores': { title: 'Moving between cores', how: 'polling − alone' },
  'sleep-and-wake': {
    title: 'Sleeping and waking',
    how: 'one-core − alone, without the crossings that only one of them makes',
  },
  'wake-other-core': {
    title: 'Waking the other core',
    how: '(two-cores-awake − polling) − (one-core − alone), each without its crossings',
  },
  'idle-exit': { title: 'Leaving idle', how: 'two-cores − two-cores-awake' },
};

/** A figure with its interval: 95 % where there are at least 6 values, else their range. */
/** @typedef {{median: number, low: number, high: number}} Figure */

/**
 * @param {number[]} values
 * @returns {Figure | null} null: there are none
 */
function figureOf(values) {
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return null;
  const [low, high] = medianInterval(known) ?? [Math.min(...known), Math.max(...known)];
  return { median: median(known), low, high };
}

module.exports = { CONFIGURATIONS, COPIES, PARTS, figureOf, partsOf, totalOf };
