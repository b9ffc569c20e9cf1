'use strict';
// Reading the values of options. A value that cannot be used is refused in one sentence that names the option, what it
// accepts, and what it got.
const { CrossingsError } = require('../channel/errors.js');

/** @param {string} sentence @returns {never} */
function refuse(sentence) {
  throw new CrossingsError('ERR_USAGE', sentence);
}

/**
 * @param {string} option
 * @param {string} text
 * @param {[number, number]} range least and most
 * @param {string} [note] what a special value means
 */
function readWholeNumber(option, text, [least, most], note = '') {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  return refuse(`${option} must be a whole number from ${least} to ${most}${note}; got "${text}".`);
}

/** @param {string} text */
function readCores(text) {
  const match = /^(\d{1,4}),(\d{1,4})$/.exec(text);
  if (match) return [Number(match[1]), Number(match[2])];
  return refuse(`--cores must be two core numbers, as in 0,1; got "${text}".`);
}

/**
 * @param {string} option
 * @param {string | undefined} text comma-separated names; undefined: all
 * @param {string[]} names the valid ones
 */
function readNames(option, text, names) {
  if (text === undefined) return names;
  const wanted = text.split(',').map((name) => name.trim());
  for (const name of wanted) {
    if (!names.includes(name)) {
      refuse(`${option} must be a comma-separated list of ${names.join(', ')}; got "${name}".`);
    }
  }
  return [...new Set(wanted)];
}

module.exports = { readCores, readNames, readWholeNumber, refuse };
