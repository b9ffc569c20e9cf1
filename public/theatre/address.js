// The view in the fragment of the address, so that it can be shared: #mechanism=pipe&with=uds&at=57&speed=2&guess=1
import { SPEEDS } from './model/playback.js';

/** @typedef {import('./model/types.js').View} View */

/** @param {string[]} names of all mechanisms @returns {View} with a default for each invalid value */
export function readAddress(names) {
  const given = new URLSearchParams(location.hash.slice(1));
  const first = given.get('mechanism') ?? '';
  const mechanism = names.includes(first) ? first : names.includes('pipe') ? 'pipe' : names[0];
  const second = given.get('with') ?? '';
  const at = Number(given.get('at'));
  const speed = Number(given.get('speed'));
  return {
    mechanism,
    with: names.includes(second) && second !== mechanism ? second : null,
    at: Number.isInteger(at) && at > 0 ? at : 0,
    speed: SPEEDS.includes(speed) ? speed : 1,
    guess: given.get('guess') === '1',
  };
}

/** Replaces the address without a history entry, so that Back leaves the page. @param {View} view */
export function writeAddress(view) {
  const parts = new URLSearchParams({ mechanism: view.mechanism });
  if (view.with) parts.set('with', view.with);
  if (view.at > 0) parts.set('at', String(view.at));
  if (view.speed !== 1) parts.set('speed', String(view.speed));
  if (view.guess) parts.set('guess', '1');
  const address = `#${parts}`;
  if (location.hash !== address) history.replaceState(null, '', address);
}
