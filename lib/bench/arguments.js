'use strict';
// Reading the values of options. A value that cannot be used is refused in one sentence that names it and says what is
// accepted.
const { CrossingsError } = require('../channel/errors.js');

const SIZE_RANGE = [8, 16 << 20];
const MESSAGES_RANGE = [1, 1e9];
const UNITS = { '': 1, B: 1, K: 1024, KiB: 1024, M: 1 << 20, MiB: 1 << 20 };

/** @param {string} sentence @returns {never} */
function refuse(sentence) {
  throw new CrossingsError('ERR_USAGE', sentence);
}

/** @param {string} text */
function readMessages(text) {
  const [least, most] = MESSAGES_RANGE;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  return refuse(`--messages takes a whole number from ${least} to ${most}, not "${text}".`);
}

/** @param {string} text */
function readBatch(text) {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= 1024) return value;
  return refuse(`--batch takes a whole number from 1 to 1024, not "${text}".`);
}

/** @param {string} text bytes, or with a unit: "64KiB" */
function readSize(text) {
  const [least, most] = SIZE_RANGE;
  const [, digits, unit = ''] = /^(\d+) ?(B|KiB|K|MiB|M)?$/.exec(text) ?? [];
  const bytes = digits ? Number(digits) * UNITS[/** @type {keyof typeof UNITS} */ (unit)] : Number.NaN;
  if (bytes >= least && bytes <= most) return bytes;
  return refuse(`--size takes ${least} to ${most} bytes, as in 64, 64KiB or 1MiB, not "${text}".`);
}

/** @param {string} text */
function readCores(text) {
  const match = /^(\d{1,4}),(\d{1,4})$/.exec(text);
  if (match) return [Number(match[1]), Number(match[2])];
  return refuse(`--cores takes two core numbers, as in 0,1, not "${text}".`);
}

/**
 * @param {string} option
 * @param {string | undefined} text names set apart by commas; undefined: all
 * @param {string[]} names that there are
 */
function readNames(option, text, names) {
  if (text === undefined) return names;
  const wanted = text.split(',').map((name) => name.trim());
  for (const name of wanted) {
    if (!names.includes(name)) {
      refuse(`${option} takes one or more of ${names.join(', ')}, set apart by commas, not "${name}".`);
    }
  }
  return [...new Set(wanted)];
}

/** @param {string} text */
function readCountMethod(text) {
  if (['auto', 'tracepoint', 'ptrace'].includes(text)) return text;
  return refuse(`--count takes auto, tracepoint or ptrace, not "${text}".`);
}

module.exports = { readBatch, readMessages, readSize, readCores, readNames, readCountMethod, refuse };
