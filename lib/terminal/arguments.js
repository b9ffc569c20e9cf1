'use strict';
// Reading the values of options. A value that cannot be used is refused in one sentence that names the option, what it
// accepts, and what it got.
const { CrossingsError } = require('../channel/errors.js');

/** @param {string} sentence @returns {never} */
function refuse(sentence) {
  throw new CrossingsError('ERR_USAGE', sentence);
}

/** An option as the user writes it: 'selfTest' -> '--self-test'. @param {string} name as commander has it */
const flagOf = (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

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

/**
 * @param {string} option
 * @param {string} text such as "10%" or "2.5 %"
 * @returns {number} the share: 0.1
 */
function readPercent(option, text) {
  const [, digits] = /^(\d{1,4}(?:\.\d{1,6})?) ?%$/.exec(text) ?? [];
  const percent = Number(digits);
  if (percent >= 0 && percent <= 1000) return percent / 100;
  return refuse(`${option} must be a percentage from 0% to 1000%, as in 10%; got "${text}".`);
}

/** @param {string} text */
function readCores(text) {
  const match = /^(\d{1,4}),(\d{1,4})$/.exec(text);
  if (match) return [Number(match[1]), Number(match[2])];
  return refuse(`--cores must be two core numbers, as in 0,1; got "${text}".`);
}

const PLACEMENTS = ['same', 'cross', 'free'];

/** @param {string} text @returns {'same' | 'cross' | 'free'} */
function readPlacement(text) {
  if (PLACEMENTS.includes(text)) return /** @type {'same' | 'cross' | 'free'} */ (text);
  return refuse(`--placement must be one of ${PLACEMENTS.join(', ')}; got "${text}".`);
}

/**
 * Where the processes run, from the options --placement, --cores and --no-pin.
 * @param {{placement?: 'same' | 'cross' | 'free', cores?: number[] | null, pin?: boolean}} options
 */
function placementOf({ placement, cores = null, pin = true }) {
  if (!pin && placement && placement !== 'free')
    refuse(`--no-pin and --placement ${placement} cannot be used together.`);
  if (cores && placement === 'free') refuse('--cores and --placement free cannot be used together.');
  if (cores && placement === 'cross' && cores[0] === cores[1]) {
    refuse(`--placement cross requires two different cores; got --cores ${cores.join(',')}.`);
  }
  if (cores && placement === 'same' && cores[0] !== cores[1]) {
    refuse(`--placement same requires the same core twice; got --cores ${cores.join(',')}.`);
  }
  return { cores, pin: pin && placement !== 'free', sameCore: placement === 'same' };
}

/**
 * @param {string} option
 * @param {string | undefined} text comma-separated names
 * @param {string[]} names the valid ones
 * @param {string[]} [usual] those to take if text is undefined
 */
function readNames(option, text, names, usual = names) {
  if (text === undefined) return usual;
  const wanted = text.split(',').map((name) => name.trim());
  for (const name of wanted) {
    if (!names.includes(name)) {
      refuse(`${option} must be a comma-separated list of ${names.join(', ')}; got "${name}".`);
    }
  }
  return [...new Set(wanted)];
}

module.exports = { flagOf, placementOf, readCores, readNames, readPercent, readPlacement, readWholeNumber, refuse };
