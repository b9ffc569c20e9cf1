// The view in the fragment of the address, so that it can be shared: #mechanism=pipe&with=uds&step=12&speed=2&guess=1
// `step` counts stops with the setup folded into one; `at` counts them with every call of the setup.
import { currentAddress, replaceAddress } from '../shared/address.js';
import { SPEEDS } from './model/playback.js';

/** @typedef {import('./model/types.js').View} View */

export const FIRST = 1; // the stop at which the folded setup is done and the first message begins

/** @param {string[]} names of all mechanisms @returns {View} with a default for each invalid value */
export function readAddress(names) {
  const given = new URLSearchParams(currentAddress().hash.slice(1));
  const first = given.get('mechanism') ?? '';
  const mechanism = names.includes(first) ? first : names.includes('pipe') ? 'pipe' : names[0];
  const second = given.get('with') ?? '';
  const setup = given.has('at');
  const text = given.get(setup ? 'at' : 'step');
  const at = Number(text);
  const speed = Number(given.get('speed'));
  return {
    mechanism,
    with: names.includes(second) && second !== mechanism ? second : null,
    at: text && Number.isInteger(at) && at >= 0 ? at : setup ? 0 : null,
    setup,
    speed: SPEEDS.includes(speed) ? speed : 1,
    guess: given.get('guess') === '1',
  };
}

/** @param {View} view */
export function writeAddress(view) {
  const parts = new URLSearchParams({ mechanism: view.mechanism });
  if (view.with) parts.set('with', view.with);
  if (view.setup || view.at !== FIRST) parts.set(view.setup ? 'at' : 'step', String(view.at ?? FIRST));
  if (view.speed !== 1) parts.set('speed', String(view.speed));
  if (view.guess) parts.set('guess', '1');
  replaceAddress(`#${parts}`);
}
