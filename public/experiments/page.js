// The page of an experiment. The address names the experiment (?name=sweep) and what is shown (#run=ID); a run in progress is
// followed live.
import { call, isLive } from '../shared/api.js';
import { offerCopy } from '../shared/clipboard.js';
import { confirmDelete, setUpConfirm } from '../shared/confirm.js';
import { explainForm } from '../shared/copy.js';
import { byId, fillRows, h, showText } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { addressOf } from '../shared/live.js';
import { report, runInAddress, runSession, showError } from '../shared/run-session.js';
import { chosen, describeChoices, setUpChoices } from './choices.js';
import { showRun, verdictName } from './run.js';
import { VIEWS } from './views.js';

const name = new URLSearchParams(location.search).get('name') ?? '';
const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined;

/** @type {AboutExperiment} */ let experiment;
/** The answer that is shown. @type {ExperimentAnswer | null} */ let shown = null;
/** @type {ReturnType<View['build']> | null} */ let showInView = null;

/** @param {ExperimentFile | null} file @param {boolean} isLive */
function showFigures(file, isLive) {
  byId('figures').hidden = file === null;
  if (!file || !view) return;
  showInView ??= view.build(byId('figures'));
  showInView(file, isLive);
}

/** @param {ExperimentAnswer} answer */
function show(answer) {
  shown = answer;
  showRun(answer, experiment, showFigures, view);
}

const session = runSession({
  listeners: (id) => ({
    onSnapshot(/** @type {ExperimentAnswer} */ answer) {
      if (session.liveIsShown()) show(answer);
    },
    others: {
      partial(/** @type {ExperimentFile} */ partial) {
        if (session.liveIsShown() && shown?.id === id) show({ ...shown, partial });
      },
    },
  }),
  route,
  showSavedRuns,
});

/** Show what the address names. */
async function route() {
  const address = location.hash;
  const id = runInAddress();
  showError();
  /** @type {ExperimentAnswer | null} */
  let answer = null;
  try {
    if (id) answer = await call(`/api/runs/${encodeURIComponent(id)}`);
  } catch (error) {
    if (location.hash === address) report(/** @type {Error} */ (error));
  }
  if (location.hash !== address) return; // the address has changed meanwhile
  if (answer && answer.kind !== name) return location.replace(addressOf(answer.kind, answer.id));
  byId('run').hidden = true;
  shown = null;
  if (answer) show(answer);
  if (answer?.state === 'running') session.follow(answer.id);
  session.showControls();
}

/** @param {ExperimentLine} line */
function row({ id, startedAt, state, parameters, verdict }) {
  const started = dateTime(startedAt, 'medium');
  const attributes = {
    type: 'button',
    class: 'plain',
    'aria-label': `Delete the run of ${started}`,
    onclick: () => confirmDelete({ id, startedAt }),
  };
  return [
    h('a', { href: `#run=${id}` }, started),
    state === 'cancelled' ? 'canceled' : state,
    parameters.effort,
    describeChoices(experiment, view, parameters) || '–',
    verdictName(verdict),
    state === 'running' || !isLive ? '' : h('button', attributes, 'Delete'),
  ];
}

let listed = 0; // how often the list of runs was fetched

/** Fetch the list and show it, unless it is fetched again meanwhile. */
async function showSavedRuns() {
  const mine = ++listed;
  const { runs } = await call('/api/runs');
  if (mine !== listed) return;
  const own = runs.filter((/** @type {ExperimentLine} */ { kind }) => kind === name);
  byId('saved-runs').hidden = own.length === 0;
  fillRows(byId('saved-rows'), own.map(row));
}

/** @param {string} sentence */
const fail = (sentence) => showText(byId('page-error'), sentence);

/** In a copy without a server: what it needs, and the run that ships. */
async function showCopy() {
  const { runs } = await call('/api/runs');
  const first = runs.find((/** @type {ExperimentLine} */ { kind }) => kind === name);
  explainForm(first !== undefined);
  if (first && !location.hash) location.replace(`#run=${first.id}`);
}

async function main() {
  const [{ experiments }, { running, runningKind }] = await Promise.all([
    call('/api/experiments'),
    call('/api/mechanisms'),
  ]);
  const found = experiments.find((/** @type {AboutExperiment} */ about) => about.name === name);
  if (!found) return fail(`The lab has no experiment “${name}”.`);
  experiment = found;
  document.title = `${found.title} · crossings`;
  byId('question').textContent = found.question;
  byId('claim-text').textContent = found.claim;
  byId('claim-source').textContent = `Source: ${found.source}.`;
  byId('claim').hidden = false;
  byId('form').hidden = false;
  for (const box of document.querySelectorAll('section.scroller')) /** @type {HTMLElement} */ (box).tabIndex = 0;
  setUpChoices(found, view);
  setUpConfirm(async (id) => {
    await showSavedRuns();
    byId(byId('saved-runs').hidden ? 'start' : 'saved-title').focus();
    if (location.hash.includes(id)) location.hash = '';
  }, report);
  byId('form').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    session.start({ experiment: name, ...chosen() });
  });
  offerCopy(byId('copy'), byId('command'));
  if (!isLive) await showCopy();
  if (runningKind === name && !location.hash) location.replace(`#run=${running}`);
  else if (runningKind === name) session.follow(running);
  const shown = location.hash;
  await route();
  if (runningKind && runningKind !== name) {
    const link = h('a', { href: addressOf(runningKind, running) }, 'Show that run.');
    const more = ['Another run is in progress. ', link];
    if (byId('form-error').hidden) showError(...more);
    else byId('form-error').append(' ', ...more); // route() has reported something
  }
  addEventListener('hashchange', async () => {
    await route();
    if (!session.isLive())
      /** @type {HTMLElement | null} */ (document.querySelector('main > section:not([hidden]) h2[tabindex]'))?.focus();
  });
  if (location.hash !== shown) await route(); // it has changed meanwhile
  await showSavedRuns(); // last: it may fail
}
main().catch((error) => fail(error.message));
