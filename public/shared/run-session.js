// The run in progress, on the page of the benchmark or of an experiment: it is started, followed and canceled with the same
// buttons there. The address names the run that is shown: #run=ID.
import { announce } from './announce.js';
import { call } from './api.js';
import { byId, h, setText } from './dom.js';
import { followRun } from './live.js';
import { ignoreSecondPress } from './second-press.js';

/** The id of the run that is shown, or null. */
export const runInAddress = () => new URLSearchParams(location.hash.slice(1)).get('run');

/** Show an error below the form. @param {...(Node | string)} content none: hide it */
export function showError(...content) {
  byId('form-error').replaceChildren(...content);
  byId('form-error').hidden = content.length === 0;
}
/** @param {Error} error */
export const report = (error) => showError(error.message);

/**
 * @typedef {object} RunPage
 * @property {(id: string) => Pick<import('./live.js').Followers, 'onSnapshot' | 'others'>} listeners what shows a run while
 * it is in progress
 * @property {() => Promise<void>} route shows what the address names
 * @property {() => Promise<void>} showSavedRuns
 */

/** @param {RunPage} page */
export function runSession({ listeners, route, showSavedRuns }) {
  /** The run in progress; `quarters` of it have been announced. @type {{id: string, stop: () => void, quarters: number} | null} */
  let live = null;
  /** Runs that have ended. An old answer of a cache may say otherwise. @type {Set<string>} */
  const over = new Set();
  let isStarting = false;
  let swappedAt = Number.NEGATIVE_INFINITY; // the focus moved from Start to Cancel, or back
  const isLive = () => live !== null;
  const liveIsShown = () => live !== null && runInAddress() === live.id;

  /** @param {{fraction: number, doing: string}} progress */
  function showProgress({ fraction, doing }) {
    byId('progress-bar').value = fraction;
    byId('progress-text').textContent = `${Math.round(fraction * 100)} %, ${doing}`;
    const quarters = Math.floor(fraction * 4);
    if (!live || quarters <= live.quarters) return;
    live.quarters = quarters;
    announce(`${quarters * 25} % measured.`);
  }

  /** Start and Cancel replace each other. If the focus is on one of them, it moves to what replaces it. */
  function showControls() {
    const focused = byId('run-controls').contains(document.activeElement) && byId('start').hidden !== Boolean(live);
    byId('start').hidden = live !== null;
    byId('progress').hidden = live === null;
    byId('show-live').hidden = liveIsShown();
    byId('show-live').href = `#run=${live?.id}`;
    if (!focused) return;
    const next = live ? 'cancel' : byId('run').hidden ? 'start' : 'run-title';
    if (next !== 'run-title') swappedAt = performance.now();
    byId(next).focus({ preventScroll: true }); // the user may have scrolled to the figures
  }

  /** @param {string} id @param {string} sentence how it ended */
  async function ended(id, sentence) {
    over.add(id);
    const wasShown = liveIsShown();
    live = null;
    announce(sentence);
    if (wasShown) await route();
    showControls();
    await showSavedRuns().catch(report);
  }

  /** @param {string} id */
  function follow(id) {
    if (live?.id === id || over.has(id)) return;
    live?.stop();
    const { onSnapshot, others } = listeners(id);
    const stop = followRun(id, {
      onSnapshot(answer) {
        showProgress(answer.progress);
        onSnapshot(answer);
      },
      onProgress: showProgress,
      onConnection: (sentence) => setText(byId('connection'), sentence),
      onEnd: (sentence) => ended(id, sentence),
      others,
    });
    live = { id, stop, quarters: 0 };
  }

  /** @param {object} body what to run */
  async function start(body) {
    if (isStarting) return; // a double click
    isStarting = true;
    showError();
    try {
      const { id } = await call('/api/runs', { method: 'POST', body });
      announce('Run started.');
      follow(id);
      location.hash = `run=${id}`;
      showControls();
      await showSavedRuns();
    } catch (/** @type {any} */ error) {
      const { id } = error.details ?? {};
      report(error);
      if (id) byId('form-error').append(' ', h('a', { href: `#run=${id}` }, 'Show that run.'));
    } finally {
      isStarting = false;
    }
  }

  ignoreSecondPress(byId('run-controls'), () => swappedAt); // Start and Cancel are in the same place
  byId('cancel').addEventListener('click', () => {
    if (live) call(`/api/runs/${live.id}/cancel`, { method: 'POST' }).catch(report);
  });
  return { isLive, liveIsShown, showControls, follow, start };
}
