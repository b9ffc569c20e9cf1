'use strict';
// The options of `crossings sweep`, from the command line or from the lab, and the points that they ask for.
const { readBytes } = require('../../bench/arguments.js');
const { readNames, readWholeNumber, refuse } = require('../../terminal/arguments.js');

const MECHANISMS = ['pipe', 'socketpair', 'uds', 'tcp', 'ring'];
const MODES = ['process', 'thread'];
/** The mechanisms whose kernel buffers (the ring: its capacity) can be matched to the user's buffer. */
const MATCHING = ['pipe', 'socketpair', 'ring'];
const BUFFERS = ['default', 'matched'];
const SIZE_RANGE = [32, 16 << 20]; // bytes
const TOTAL_BYTES = 16 << 20;

/**
 * What each effort measures. step: from one size to the next. minSamples: however long they take. maxWrites: with a small
 * buffer, a sample moves only this many buffers (a quarter with matched buffers), because 16 MiB would be up to 524,288
 * writes; 0: it moves all bytes.
 */
const EFFORTS = {
  quick: { from: 64, step: 4, mode: 'process', samples: 8, minSamples: 7, budgetMs: 16_000, maxWrites: 8192 },
  standard: { from: 32, step: 2, mode: 'both', samples: 30, minSamples: 8, budgetMs: 200_000, maxWrites: 16_384 },
  thorough: {
    from: 32,
    step: 2,
    mode: 'both',
    samples: 30,
    minSamples: 30,
    budgetMs: Number.POSITIVE_INFINITY,
    maxWrites: 0,
  },
};

/**
 * A curve of the sweep.
 * @typedef {object} Configuration
 * @property {string} mechanism
 * @property {'process' | 'thread'} mode
 * @property {'default' | 'matched'} buffers
 */

/**
 * @typedef {object} Plan
 * @property {Configuration[]} configurations
 * @property {number[]} sizes bytes, ascending
 * @property {number} totalBytes
 * @property {number} maxWrites 0: no limit
 * @property {number} samples of each point at most
 * @property {number} minSamples
 * @property {number} budgetMs of all rounds together, once minSamples are there
 * @property {number} seed of the order
 * @property {boolean} probe
 */

/** @param {any} options @param {{from: number, step: number}} usual @param {number} totalBytes of a sample */
function readSizes({ sizes, from, to }, usual, totalBytes) {
  if (sizes !== undefined) {
    if (from !== undefined || to !== undefined) refuse('--sizes cannot be used together with --from or --to.');
    const wanted = String(sizes)
      .split(',')
      .map((text) => readBytes('--sizes', text.trim(), SIZE_RANGE));
    return [...new Set(wanted)].sort((a, b) => a - b);
  }
  const first = from === undefined ? usual.from : readBytes('--from', from, SIZE_RANGE);
  const last = to === undefined ? Math.min(SIZE_RANGE[1], totalBytes) : readBytes('--to', to, SIZE_RANGE);
  if (first > last) refuse(`--from must not be larger than --to; got ${first} and ${last} bytes.`);
  const list = [];
  for (let size = first; size <= last; size *= usual.step) list.push(size);
  return list;
}

/** @param {string} option @param {string | undefined} text @param {string[]} names @param {string} usual */
function readChoice(option, text, names, usual) {
  const value = text ?? usual;
  if (value === 'both') return names;
  if (names.includes(value)) return [value];
  return refuse(`${option} must be one of ${[...names, 'both'].join(', ')}; got "${value}".`);
}

/** @param {string[]} mechanisms @param {string[]} modes @param {string[]} buffers @returns {any[]} */
function combine(mechanisms, modes, buffers) {
  return modes.flatMap((mode) =>
    mechanisms.flatMap((mechanism) =>
      buffers
        .filter((kind) => kind === 'default' || MATCHING.includes(mechanism))
        .map((kind) => ({ mechanism, mode, buffers: kind })),
    ),
  );
}

/**
 * @param {any} options the texts of the options, and `effort`
 * @returns {Plan}
 */
function readPlan(options) {
  const usual = EFFORTS[/** @type {keyof typeof EFFORTS} */ (options.effort)];
  const all = options.mechanism === undefined || options.mechanism === 'all';
  const mechanisms = all ? MECHANISMS : readNames('--mechanism', options.mechanism, MECHANISMS);
  const modes = readChoice('--mode', options.mode, MODES, usual.mode);
  const buffers = readChoice('--buffers', options.buffers, BUFFERS, 'both');
  const configurations = combine(mechanisms, modes, buffers);
  if (configurations.length === 0) {
    refuse(`--buffers matched requires one of ${MATCHING.join(', ')}; got --mechanism ${mechanisms.join(',')}.`);
  }
  const totalBytes =
    options.total === undefined ? TOTAL_BYTES : readBytes('--total', String(options.total), [32, 1 << 30]);
  const sizes = readSizes(options, usual, totalBytes);
  const largest = sizes[sizes.length - 1];
  if (largest > totalBytes) {
    refuse(`--total must be at least the largest buffer, which is ${largest} bytes; got "${options.total}".`);
  }
  const { samples, maxWrites, seed } = options;
  const count = samples === undefined ? null : readWholeNumber('--samples', String(samples), [1, 1000]);
  return {
    configurations,
    sizes,
    totalBytes,
    maxWrites: maxWrites === undefined ? usual.maxWrites : readWholeNumber('--max-writes', maxWrites, [0, 1e9]),
    samples: count ?? usual.samples,
    minSamples: count ?? usual.minSamples,
    budgetMs: usual.budgetMs,
    seed: seed === undefined ? 1 : readWholeNumber('--seed', seed, [0, 2 ** 32 - 1]),
    probe: options.probe ?? true,
  };
}

/** A point as crossings-sweep reads it. @param {Configuration} configuration @param {number} sizeBytes */
const pointText = ({ mechanism, mode, buffers }, sizeBytes) => `${mechanism}:${mode}:${buffers}:${sizeBytes}`;

module.exports = { EFFORTS, MECHANISMS, pointText, readPlan };
