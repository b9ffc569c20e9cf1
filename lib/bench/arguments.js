'use strict';
// Reading the values of the options of `crossings bench` and `crossings bench node`.
const { readWholeNumber, refuse } = require('../terminal/arguments.js');

const SIZE_RANGE = [8, 16 << 20];
const UNITS = { '': 1, B: 1, K: 1024, KiB: 1024, M: 1 << 20, MiB: 1 << 20 };

/** @param {string} text */
const readMessages = (text) => readWholeNumber('--messages', text, [1, 1e9]);

/** @param {string} text */
const readBatch = (text) => readWholeNumber('--batch', text, [1, 1024]);

/** @param {string} text bytes, or with a unit: "64KiB" */
function readSize(text) {
  const [least, most] = SIZE_RANGE;
  const [, digits, unit = ''] = /^(\d+) ?(B|KiB|K|MiB|M)?$/.exec(text) ?? [];
  const bytes = digits ? Number(digits) * UNITS[/** @type {keyof typeof UNITS} */ (unit)] : Number.NaN;
  if (bytes >= least && bytes <= most) return bytes;
  return refuse(`--size must be from ${least} to ${most} bytes, as in 64, 64KiB or 1MiB; got "${text}".`);
}

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

module.exports = { readBatch, readCountMethod, readEffort, readMessages, readSize };
