// The bench page: what is open is in the address (#run=ID, #compare=A,B); a run that is going on is followed live.
import './crossings.js';
import './throughput.js';
import './percentiles.js';
import './distribution.js';
import { call } from '../shared/api.js';
import { showComparison } from './comparison.js';
import { setUpForm } from './form.js';
import { byId, h } from './html.js';
import { setUpKept, showKept } from './kept.js';
import { showLive, showRun } from './run.js';

/** The run that is going on. @type {{id: string, source: EventSource} | null} */
let live = null;
let quarters = 0; // of it, read aloud

/** What the address names. @param {'run' | 'compare'} what */
const opened = (what) => new URLSearchParams(location.hash.slice(1)).get(what);
const isOpen = () => opened('run') === live?.id;

/** Say in the form why something did not happen. @param {...(Node | string)} what */
function refuse(...what) {
  byId('refusal').replaceChildren(...what);
  byId('refusal').hidden = what.length === 0;
}
/** @param {Error} error */
const complain = (error) => refuse(error.message);

/** @param {string} sentence read aloud */
const announce = (sentence) => {
  byId('announce').textContent = sentence;
};

/** @param {{fraction: number, doing: string}} progress */
function showProgress({ fraction, doing }) {
  byId('bar').value = fraction;
  byId('doing').textContent = `${Math.round(fraction * 100)} %, ${doing}`;
  if (Math.floor(fraction * 4) <= quarters) return;
  quarters = Math.floor(fraction * 4);
  announce(`${quarters * 25} % measured.`);
}

/** Start and Cancel stand in one place; whoever was on one is taken to what comes next. */
function showControls() {
  const held = byId('go').contains(document.activeElement) && byId('start').hidden !== Boolean(live);
  byId('start').hidden = live !== null;
  byId('progress').hidden = live === null;
  byId('watch').hidden = isOpen();
  byId('watch').href = `#run=${live?.id}`;
  if (held) byId(live ? 'cancel' : byId('run').hidden ? 'start' : 'run-title').focus();
}

/** @param {string} id */
function follow(id) {
  if (live?.id === id) return;
  live?.source.close();
  const source = new EventSource(`/api/runs/${id}/events`);
  /** @type {Map<string, Result>} */
  const results = new Map();
  let expected = 0;
  live = { id, source };
  quarters = 0;
  /** @param {string} name @param {(data: any) => void} listener */
  const on = (name, listener) =>
    source.addEventListener(name, (event) => listener(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  on('snapshot', (/** @type {RunAnswer} */ answer) => {
    expected = answer.mechanisms.length;
    for (const result of answer.partial?.results ?? []) results.set(result.mechanism, result);
    showProgress(answer.progress);
    if (isOpen()) showRun(answer);
  });
  on('progress', showProgress);
  on('sample', ({ result, floors }) => {
    results.set(result.mechanism, result);
    if (isOpen()) showLive({ results: [...results.values()], floors, expected });
  });
  on('done', () => ended('The run is done.'));
  on('failed', ({ message }) => ended(`The run failed. ${message}`));
  on('cancelled', () => ended('The run was cancelled.'));
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) ended('The lab’s server does not answer any more.');
  };
}

/** @param {string} sentence */
async function ended(sentence) {
  const wasOpen = isOpen();
  live?.source.close();
  live = null;
  announce(sentence);
  if (wasOpen) await route();
  showControls();
  await showKept().catch(complain);
}

/** Show what the address names. */
async function route() {
  const address = location.hash;
  const [id, [a, b] = []] = [opened('run'), opened('compare')?.split(',')];
  refuse();
  let answer = null;
  try {
    if (id) answer = await call(`/api/runs/${encodeURIComponent(id)}`);
    else if (a) answer = await call(`/api/compare?${new URLSearchParams({ a, b })}`);
  } catch (error) {
    complain(/** @type {Error} */ (error));
  }
  if (location.hash !== address) return; // something else was opened meanwhile
  byId('run').hidden = true;
  byId('comparison').hidden = true;
  byId('empty').hidden = answer !== null;
  if (answer) (id ? showRun : showComparison)(answer);
  if (answer?.state === 'running') follow(answer.id);
  showControls();
}

/** @param {object} options */
async function start(options) {
  refuse();
  try {
    const { id } = await call('/api/runs', { method: 'POST', body: options });
    announce('The run has begun.');
    follow(id);
    location.hash = `run=${id}`;
    await showKept();
  } catch (/** @type {any} */ error) {
    const { id } = error.details ?? {};
    complain(error);
    if (id) byId('refusal').append(' ', h('a', { href: `#run=${id}` }, 'Watch it.'));
  }
}

async function begin() {
  // Boxes that scroll can be scrolled by keyboard, too.
  for (const box of document.querySelectorAll('section.scroller')) /** @type {HTMLElement} */ (box).tabIndex = 0;
  setUpKept(
    (removed) => {
      if (location.hash.includes(removed)) location.hash = '';
    },
    (a, b) => {
      location.hash = `compare=${a},${b}`;
    },
  );
  byId('cancel').addEventListener('click', () => {
    if (live) call(`/api/runs/${live.id}`, { method: 'DELETE' }).catch(complain);
  });
  const { mechanisms, running } = await call('/api/mechanisms');
  setUpForm(mechanisms, start);
  if (running && !location.hash) location.replace(`#run=${running}`);
  else if (running) follow(running);
  await route();
  await showKept();
  addEventListener('hashchange', async () => {
    await route();
    if (!live) /** @type {HTMLElement | null} */ (document.querySelector('main > section:not([hidden]) h2'))?.focus();
  });
}
begin().catch(complain);
