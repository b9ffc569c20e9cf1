// The list of runs: open one, select two to compare, delete.
import { call, isLive } from '../shared/api.js';
import { confirmDelete, setUpConfirm } from '../shared/confirm.js';
import { byId, fillRows, h } from '../shared/dom.js';
import { byteCount, dateTime } from '../shared/format.js';
import { named } from '../shared/mechanisms.js';

/** The ids of the runs to compare. @type {Set<string>} */
const selected = new Set();
/** @type {SavedRun[]} newest first */
let runs = [];
let listed = 0; // how often the list was fetched

function showSelection() {
  byId('compare').disabled = selected.size !== 2;
  byId('compare-hint').textContent =
    ['Select two finished runs.', 'Select one more.', ''][selected.size] ?? 'Select only two.';
}

/** @param {RunState} state */
const stateName = (state) => (state === 'cancelled' ? 'canceled' : state);

/** @param {SavedRun} run */
function row({ id, startedAt, state, parameters, mechanisms }) {
  const name = dateTime(startedAt, 'medium');
  const select = () => {
    selected[box.checked ? 'add' : 'delete'](id);
    showSelection();
  };
  const box = h('input', {
    type: 'checkbox',
    'aria-label': `Compare the run of ${name}`,
    disabled: state !== 'done',
    onchange: select,
  });
  box.checked = selected.has(id);
  const attributes = {
    type: 'button',
    class: 'plain',
    'aria-label': `Delete the run of ${name}`,
    onclick: () => confirmDelete({ id, startedAt }),
  };
  return [
    h(
      'span',
      { class: 'named' },
      isLive ? h('label', { class: 'box' }, box) : null,
      h('a', { href: `#run=${id}` }, name),
    ),
    stateName(state),
    parameters.effort ?? '–',
    parameters.messages.toLocaleString('en-US'),
    byteCount(parameters.sizeBytes),
    h('span', { class: 'names' }, ...mechanisms.map((mechanism) => named(mechanism))),
    state === 'running' || !isLive ? '' : h('button', attributes, 'Delete'),
  ];
}

/** Fetch the list and show it, unless it is fetched again meanwhile. */
export async function showSavedRuns() {
  const mine = ++listed;
  const answer = await call('/api/runs');
  if (mine !== listed) return;
  runs = answer.runs.filter((/** @type {SavedRun} */ { kind }) => kind === 'bench');
  for (const id of selected) if (!runs.some((run) => run.id === id)) selected.delete(id);
  byId('saved-runs').hidden = runs.length === 0;
  for (const part of ['compare', 'compare-hint']) byId(part).hidden = !isLive; // the server compares
  fillRows(byId('saved-rows'), runs.map(row));
  showSelection();
}

/**
 * @param {object} listeners
 * @param {(id: string) => void} listeners.onDelete
 * @param {(baseline: string, candidate: string) => void} listeners.onCompare the older run is the baseline
 * @param {(error: Error) => void} listeners.onError
 */
export function setUpSavedRuns({ onDelete, onCompare, onError }) {
  byId('compare').addEventListener('click', () => {
    const [candidate, baseline] = runs.filter(({ id }) => selected.has(id));
    onCompare(baseline.id, candidate.id);
  });
  setUpConfirm(async (id) => {
    await showSavedRuns();
    byId(runs.length ? 'saved-title' : 'start').focus();
    onDelete(id);
  }, onError);
}
