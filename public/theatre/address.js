// The moment that is shown, as the part of the address after "#", so that it can be shared:
//   #mechanism=pipe&with=uds&at=57&speed=2&guess=1
import { SPEEDS } from './player.js';

/** @typedef {{mechanism: string, with: string | null, at: number, speed: number, guess: boolean}} View */

/** @param {string[]} names the mechanisms that there are @returns {View} */
export function readAddress(names) {
  const given = new URLSearchParams(location.hash.slice(1));
  const asked = given.get('mechanism') ?? '';
  const mechanism = names.includes(asked) ? asked : names.includes('pipe') ? 'pipe' : names[0];
  const beside = given.get('with') ?? '';
  const at = Number(given.get('at'));
  const speed = Number(given.get('speed'));
  return {
    mechanism,
    with: names.includes(beside) && beside !== mechanism ? beside : null,
    at: Number.isInteger(at) && at > 0 ? at : 0,
    speed: SPEEDS.includes(speed) ? speed : 1,
    guess: given.get('guess') === '1',
  };
}

/** Written without an entry in the history: going back leaves the page. @param {View} view */
export function writeAddress(view) {
  const parts = new URLSearchParams({ mechanism: view.mechanism });
  if (view.with) parts.set('with', view.with);
  if (view.at > 0) parts.set('at', String(view.at));
  if (view.speed !== 1) parts.set('speed', String(view.speed));
  if (view.guess) parts.set('guess', '1');
  const address = `#${parts}`;
  if (location.hash !== address) history.replaceState(null, '', address);
}
