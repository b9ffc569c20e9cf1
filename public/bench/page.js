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

/** The run that is going on. @type {{id: string, source: EventSource, results: Map<string, Result>} | null} */
let live = null;
let announced = 0;

/** What the address names. */
const opened = () => new URLSearchParams(location.hash.slice(1));

/** @param {string} text */
const announce = (text) => {
  byId('announce').textContent = text;
};

/** Say in the form why something did not happen. @param {string} [sentence] @param {...(Node | string)} more */
function refuse(sentence = '', ...more) {
  byId('refusal').replaceChildren(sentence, ...more);
  byId('refusal').hidden = sentence === '';
}

/** @param {{fraction: number, doing: string} | null} progress */
function showProgress(progress) {
  const { fraction = 0, doing = '' } = progress ?? {};
  byId('bar').value = fraction;
  byId('doing').textContent = `${Math.round(fraction * 100)} %${doing ? `, ${doing}` : ''}`;
  // Read aloud at every quarter, not at every sample.
  const quarter = Math.floor(fraction * 4);
  if (quarter > announced) announce(`${quarter * 25} % measured.`);
  announced = Math.max(announced, quarter);
}

/** Start and Cancel stand in one place; whoever was on one is taken to what comes next. @param {boolean} running */
function showControls(running) {
  const held = byId('go').contains(document.activeElement);
  byId('start').hidden = running;
  byId('progress').hidden = !running;
  if (held) (running ? byId('cancel') : byId('run').hidden ? byId('start') : byId('run-title')).focus();
  byId('watch').hidden = !live || opened().get('run') === live.id;
  byId('watch').href = `#run=${live?.id}`;
}

const isOpen = () => opened().get('run') === live?.id;

/** @param {string} id */
function follow(id) {
  if (live?.id === id) return;
  live?.source.close();
  const source = new EventSource(`/api/runs/${id}/events`);
  const results = new Map();
  live = { id, source, results };
  announced = 0;
  showProgress(null);
  showControls(true);
  /** @param {string} name @param {(data: any) => void} listener */
  const on = (name, listener) =>
    source.addEventListener(name, (event) => listener(JSON.parse(/** @type {MessageEvent} */ (event).data)));
  on('snapshot', (/** @type {RunAnswer} */ answer) => {
    for (const result of answer.partial?.results ?? []) results.set(result.mechanism, result);
    showProgress(answer.progress);
    if (isOpen()) showRun(answer);
  });
  on('progress', showProgress);
  on('sample', ({ result, floors }) => {
    results.set(result.mechanism, result);
    if (isOpen()) showLive({ results: [...results.values()], floors });
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
  showControls(false);
  await showKept().catch(complain);
}

/** @param {any} error */
const complain = (error) => refuse(error.message);

/** Show what the address names. */
async function route() {
  const address = location.hash;
  const [id, pair] = [opened().get('run'), opened().get('compare')];
  refuse();
  try {
    const [a, b] = pair?.split(',') ?? [];
    const answer = id
      ? await call(`/api/runs/${encodeURIComponent(id)}`)
      : pair && (await call(`/api/compare?${new URLSearchParams({ a, b })}`));
    if (location.hash !== address) return; // something else was opened meanwhile
    for (const part of ['run', 'comparison']) byId(part).hidden = true;
    byId('empty').hidden = Boolean(answer);
    if (id) showRun(answer);
    else if (pair) showComparison(answer);
    if (answer?.state === 'running') follow(answer.id);
  } catch (error) {
    for (const part of ['run', 'comparison']) byId(part).hidden = true;
    byId('empty').hidden = false;
    complain(error);
  }
  showControls(live !== null);
}

/** @param {object} options */
async function start(options) {
  refuse();
  try {
    const { id } = await call('/api/runs', { method: 'POST', body: options });
    announce('The run has begun.');
    location.hash = `run=${id}`;
    follow(id);
    await showKept();
  } catch (/** @type {any} */ error) {
    const { id } = error.details ?? {};
    if (id) refuse(error.message, ' ', h('a', { href: `#run=${id}` }, 'Watch the one that is going on'), '.');
    else complain(error);
  }
}

async function begin() {
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
    const section = ['run', 'comparison'].map(byId).find(({ hidden }) => !hidden);
    if (section && !live) section.querySelector('h2').focus();
  });
}
begin().catch(complain);
