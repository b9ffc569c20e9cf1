'use strict';
// Reading the values of the options of `crossings bench` and `crossings bench node`.
const { flagOf, readWholeNumber, refuse } = require('../terminal/arguments.js');

const SIZE_RANGE = [8, 16 << 20];
const UNITS = { '': 1, B: 1, K: 1024, KiB: 1024, M: 1 << 20, MiB: 1 << 20 };

/** @param {string} text */
const readMessages = (text) => readWholeNumber('--messages', text, [1, 1e9]);

/** @param {string} text */
const readBatch = (text) => readWholeNumber('--batch', text, [1, 1024]);

/** @param {string} text */
const readPairs = (text) => readWholeNumber('--pairs', text, [1, 1000]);

/**
 * @param {string} option
 * @param {string} text bytes, or with a unit: "64KiB"
 * @param {number[]} range least and most
 */
function readBytes(option, text, [least, most]) {
  const [, digits, unit = ''] = /^(\d{1,12}) ?(B|KiB|K|MiB|M)?$/.exec(text) ?? [];
  const bytes = digits ? Number(digits) * UNITS[/** @type {keyof typeof UNITS} */ (unit)] : Number.NaN;
  if (bytes >= least && bytes <= most) return bytes;
  return refuse(`${option} must be from ${least} to ${most} bytes, as in 64, 64KiB or 1MiB; got "${text}".`);
}

/** @param {string} text */
const readSize = (text) => readBytes('--size', text, SIZE_RANGE);

/** @param {string} text */
function readCountMethod(text) {
  if (['auto', 'tracepoint', 'ptrace'].includes(text)) return text;
  return refuse(`--count must be auto, tracepoint or ptrace; got "${text}".`);
}

/** @param {any} options as commander read them @returns {'quick' | 'standard' | 'thorough'} */
function readEffort(options) {
  if (options.quick && options.thorough) refuse('--quick and --thorough cannot be used together.');
  if (!options.pin && options.cores) refuse('--cores and --no-pin cannot be used together.');
  return options.quick ? 'quick' : options.thorough ? 'thorough' : 'standard';
}

/** Options that contradict each other: the second is refused beside the first. @type {[string, string[]][]} */
const ALONE = [
  ['against', ['baseline', 'selfTest', 'csv', 'markdown']],
  ['selfTest', ['baseline', 'csv', 'markdown', 'failOnRegression', 'messages', 'batch', 'realtime']],
];

/** @param {any} options as commander read them */
function checkModes(options) {
  for (const [mode, others] of ALONE) {
    if (options[mode] === undefined) continue;
    for (const other of others) {
      if (options[other] !== undefined) refuse(`${flagOf(mode)} and ${flagOf(other)} cannot be used together.`);
    }
  }
  if (options.failOnRegression !== undefined && options.against === undefined && options.baseline === undefined) {
    refuse('--fail-on-regression requires --baseline or --against.');
  }
  if (options.pairs !== undefined && !options.selfTest) refuse('--pairs requires --self-test.');
}

module.exports = { checkModes, readBatch, readBytes, readCountMethod, readEffort, readMessages, readPairs, readSize };
