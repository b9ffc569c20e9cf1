// The dialog with the keyboard shortcuts.
import { byId, h } from '../shared/dom.js';
import { recall, remember } from '../shared/storage.js';
import { keyName, SHORTCUTS } from './shortcuts.js';

const SINGLE_KEYS = 'crossings-single-keys';

/** @param {HTMLInputElement} singleKeys turns shortcuts of one character off (WCAG 2.1.4); this browser remembers it */
export function buildHelp(singleKeys) {
  const rows = SHORTCUTS.flatMap(({ keys, does }) => [
    h('dt', {}, ...keys.flatMap((key, i) => [i > 0 ? ' or ' : '', h('kbd', {}, keyName(key))])),
    h('dd', {}, does),
  ]);
  byId('shortcuts').append(...rows);
  singleKeys.checked = recall(SINGLE_KEYS) !== 'off';
  singleKeys.addEventListener('change', () => {
    remember(SINGLE_KEYS, singleKeys.checked ? 'on' : 'off');
  });
}
