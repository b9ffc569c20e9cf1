// The question before a run is deleted: a dialog with the id "confirm".
import { call } from './api.js';
import { byId, focusLabeled } from './dom.js';
import { dateTime } from './format.js';
import { ignoreSecondPress } from './second-press.js';

let openedAt = Number.NEGATIVE_INFINITY;
let opener = ''; // the label of the button that opened it, which may be written again meanwhile

/** @param {{id: string, startedAt: string}} run */
export function confirmDelete({ id, startedAt }) {
  byId('confirm-text').textContent = `Delete the run of ${dateTime(startedAt, 'medium')}? This cannot be undone.`;
  byId('confirm').dataset.id = id;
  opener = document.activeElement?.ariaLabel ?? '';
  byId('confirm').showModal();
  openedAt = performance.now();
}

/** @param {string} id */
async function remove(id) {
  try {
    await call(`/api/runs/${id}`, { method: 'DELETE' });
  } catch (/** @type {any} */ error) {
    if (error.code !== 'ERR_NO_RUN') throw error; // otherwise another page has deleted it already
  }
}

/** @param {(id: string) => Promise<void>} onDeleted @param {(error: Error) => void} onError */
export function setUpConfirm(onDeleted, onError) {
  ignoreSecondPress(byId('confirm'), () => openedAt);
  byId('confirm').addEventListener('close', () => {
    const { activeElement } = document;
    const isLost = activeElement === document.body || byId('confirm').contains(activeElement); // its opener is gone
    if (isLost) focusLabeled(document.body, opener);
  });
  byId('confirm-no').addEventListener('click', () => byId('confirm').close());
  byId('confirm-yes').addEventListener('click', async () => {
    const { id } = byId('confirm').dataset;
    const close = () => byId('confirm').dataset.id === id && byId('confirm').close(); // unless it asks about another run by now
    try {
      await remove(id);
      close();
      await onDeleted(id);
    } catch (/** @type {any} */ error) {
      close();
      onError(error);
    }
  });
}
