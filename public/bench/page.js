// The benchmark page. The address names what is shown (#run=ID, #compare=A,B); a run in progress is followed live.
import './charts/crossings.js';
import './charts/throughput.js';
import './charts/percentiles.js';
import './charts/distribution.js';
import { call, isLive } from '../shared/api.js';
import { explainForm } from '../shared/copy.js';
import { byId } from '../shared/dom.js';
import { addressOf } from '../shared/live.js';
import { report, runInAddress, runSession, showError } from '../shared/run-session.js';
import { showComparison } from './comparison.js';
import { setUpForm } from './form.js';
import { showLive, showRun } from './run.js';
import { setUpSavedRuns, showSavedRuns } from './saved-runs.js';

/** Shows the benchmark in progress. */
function listeners() {
  /** @type {Map<string, Result>} */
  const results = new Map();
  let expected = 0;
  return {
    onSnapshot(/** @type {RunAnswer} */ answer) {
      expected = answer.mechanisms.length;
      for (const result of answer.partial?.results ?? []) results.set(result.mechanism, result);
      if (session.liveIsShown()) showRun(answer);
    },
    others: {
      sample(/** @type {{result: Result, floors: any}} */ { result, floors }) {
        results.set(result.mechanism, result);
        if (session.liveIsShown()) showLive({ results: [...results.values()], floors, expected });
      },
    },
  };
}

const session = runSession({ listeners, route, showSavedRuns });

/** Show what the address names. */
async function route() {
  const address = location.hash;
  const id = runInAddress();
  const [a, b] = new URLSearchParams(location.hash.slice(1)).get('compare')?.split(',') ?? [];
  showError();
  let answer = null;
  try {
    if (id) answer = await call(`/api/runs/${encodeURIComponent(id)}`);
    else if (a) answer = await call(`/api/compare?${new URLSearchParams({ a, b })}`);
  } catch (error) {
    if (location.hash === address) report(/** @type {Error} */ (error));
  }
  if (location.hash !== address) return; // the address has changed meanwhile
  if (answer?.kind && answer.kind !== 'bench') return location.replace(addressOf(answer.kind, answer.id));
  byId('run').hidden = true;
  byId('comparison').hidden = true;
  byId('empty').hidden = answer !== null || !isLive;
  if (answer) (id ? showRun : showComparison)(answer);
  if (answer?.state === 'running') session.follow(answer.id);
  session.showControls();
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
  if (!isLive) return showCopy();
  const { mechanisms, running: anyRunning, runningKind } = await call('/api/mechanisms');
  const running = runningKind === 'bench' ? anyRunning : null;
  setUpForm(mechanisms, session.start);
  if (running && !location.hash) location.replace(`#run=${running}`);
  else if (running) session.follow(running);
  await showPage();
}

/** In a copy without a server: the runs that ship, and one of them. */
async function showCopy() {
  const { runs } = await call('/api/runs');
  const [first] = runs.filter((/** @type {SavedRun} */ { kind }) => kind === 'bench');
  explainForm(first !== undefined);
  if (first && !location.hash) location.replace(`#run=${first.id}`);
  await showPage();
}

async function showPage() {
  const shown = location.hash;
  await route();
  addEventListener('hashchange', async () => {
    await route();
    if (!session.isLive())
      /** @type {HTMLElement | null} */ (document.querySelector('main > section:not([hidden]) h2'))?.focus();
  });
  if (location.hash !== shown) await route(); // it has changed meanwhile
  await showSavedRuns(); // last: it may fail
}
main().catch(report);
