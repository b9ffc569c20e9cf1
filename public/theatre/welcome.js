// The introduction: the first play in the place of the rest of the page, until it ends or the user skips it. page.js loads it on
// the first visit, or when the user asks for it.
import './elements/first-play.js';
import { byId, reducedMotion } from '../shared/dom.js';

const place = /** @type {any} */ (byId('first-play'));
/** Shows the rest of the page. @type {() => unknown} */
let finish = () => {};

export const isOpen = () => !place.hidden;

/**
 * @param {import('./model/types.js').Replay} pipe
 * @param {import('./model/types.js').Replay} ring
 * @param {() => unknown} onFinish called when it ends or is skipped, each time
 */
export function open(pipe, ring, onFinish) {
  finish = onFinish;
  place.hidden = false;
  place.load(pipe, ring);
  window.scrollTo(0, 0);
  if (!reducedMotion.matches) place.play();
}

/** If it is open. */
export const focus = () => place.querySelector('button')?.focus();

async function close() {
  place.pause();
  place.hidden = true;
  await finish();
  byId('toggle').focus();
}

/** What the keys of the theatre do while it is open. @type {Record<string, () => void>} */
export const actions = {
  toggle: () => place.toggle(),
  forward: () => place.step(1),
  back: () => place.step(-1),
  skip: close,
};

place.addEventListener('end', () => finish());
place.addEventListener('leave', close);
