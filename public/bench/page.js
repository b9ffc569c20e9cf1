// The benchmark page. The address names what is shown (#run=ID, #compare=A,B); a run in progress is followed live.
import './charts/crossings.js';
import './charts/throughput.js';
import './charts/percentiles.js';
import './charts/distribution.js';
import { announce } from '../shared/announce.js';
import { call } from '../shared/api.js';
import { byId, h } from '../shared/dom.js';
import { showComparison } from './comparison.js';
import { setUpForm } from './form.js';
import { showLive, showRun } from './run.js';
import { setUpSavedRuns, showSavedRuns } from './saved-runs.js';

/** The run in progress; `quarters` of it have been announced. @type {{id: string, source: EventSource, quarters: number} | null} */
let live = null;

/** The ids in the address. @param {'run' | 'compare'} key */
const inAddress = (key) => new URLSearchParams(location.hash.slice(1)).get(key);
const liveIsShown = () => inAddress('run') === live?.id;

/** Show an error below the form. @param {...(Node | string)} content none: hide it */
function showError(...content) {
  byId('form-error').replaceChildren(...content);
  byId('form-error').hidden = content.length === 0;
}
/** @param {Error} error */
const report = (error) => showError(error.message);

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
  if (focused) byId(live ? 'cancel' : byId('run').hidden ? 'start' : 'run-title').focus();
}

/** @param {string} id */
function follow(id) {
  if (live?.id === id) return;
  live?.source.close();
  const source = new EventSource(`/api/runs/${id}/events`);
  /** @type {Map<string, Result>} */
  const results = new Map();
  let expected = 0;
  live = { id, source, quarters: 0 };
  /** @param {string} name @param {(data: any) => void} listener */
  const on = (name, listener) =>
    source.addEventListener(name, (event) => listener(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  on('snapshot', (/** @type {RunAnswer} */ answer) => {
    expected = answer.mechanisms.length;
    for (const result of answer.partial?.results ?? []) results.set(result.mechanism, result);
    showProgress(answer.progress);
    if (liveIsShown()) showRun(answer);
  });
  on('progress', showProgress);
  on('sample', ({ result, floors }) => {
    results.set(result.mechanism, result);
    if (liveIsShown()) showLive({ results: [...results.values()], floors, expected });
  });
  on('done', () => ended('Run finished.'));
  on('failed', ({ message }) => ended(`Run failed. ${message}`));
  on('cancelled', () => ended('Run canceled.'));
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) ended('The connection to the lab’s server was lost.');
  };
}

/** @param {string} sentence how it ended */
async function ended(sentence) {
  const wasShown = liveIsShown();
  live?.source.close();
  live = null;
  announce(sentence);
  if (wasShown) await route();
  showControls();
  await showSavedRuns().catch(report);
}

/** Show what the address names. */
async function route() {
  const address = location.hash;
  const [id, [a, b] = []] = [inAddress('run'), inAddress('compare')?.split(',')];
  showError();
  let answer = null;
  try {
    if (id) answer = await call(`/api/runs/${encodeURIComponent(id)}`);
    else if (a) answer = await call(`/api/compare?${new URLSearchParams({ a, b })}`);
  } catch (error) {
    report(/** @type {Error} */ (error));
  }
  if (location.hash !== address) return; // the address has changed meanwhile
  byId('run').hidden = true;
  byId('comparison').hidden = true;
  byId('empty').hidden = answer !== null;
  if (answer) (id ? showRun : showComparison)(answer);
  if (answer?.state === 'running') follow(answer.id);
  showControls();
}

/** @param {object} options */
async function start(options) {
  showError();
  try {
    const { id } = await call('/api/runs', { method: 'POST', body: options });
    announce('Run started.');
    follow(id);
    location.hash = `run=${id}`;
    await showSavedRuns();
  } catch (/** @type {any} */ error) {
    const { id } = error.details ?? {};
    report(error);
    if (id) byId('form-error').append(' ', h('a', { href: `#run=${id}` }, 'Show that run.'));
  }
}

async function main() {
  // Focusable, so that the keyboard can scroll them.
  for (const box of document.querySelectorAll('section.scroller')) /** @type {HTMLElement} */ (box).tabIndex = 0;
  setUpSavedRuns({
    onDelete(id) {
      if (location.hash.includes(id)) location.hash = '';
    },
    onCompare(baseline, candidate) {
      location.hash = `compare=${baseline},${candidate}`;
    },
    onError: report,
  });
  byId('cancel').addEventListener('click', () => {
    if (live) call(`/api/runs/${live.id}/cancel`, { method: 'POST' }).catch(report);
  });
  const { mechanisms, running } = await call('/api/mechanisms');
  setUpForm(mechanisms, start);
  if (running && !location.hash) location.replace(`#run=${running}`);
  else if (running) follow(running);
  await route();
  await showSavedRuns();
  addEventListener('hashchange', async () => {
    await route();
    if (!live) /** @type {HTMLElement | null} */ (document.querySelector('main > section:not([hidden]) h2'))?.focus();
  });
}
main().catch(report);
