// The list of kept runs: open, choose two to compare, remove.
import { call } from '../shared/api.js';
import { byteCount, when } from './format.js';
import { byId, fill, h, named } from './html.js';

/** Runs chosen for a comparison, by id. @type {Set<string>} */
const chosen = new Set();
/** @type {KeptRun[]} newest first */
let runs = [];

function showChosen() {
  byId('compare').disabled = chosen.size !== 2;
  byId('compare-hint').textContent =
    ['Choose two finished runs.', 'Choose one more.', ''][chosen.size] ?? 'Choose only two.';
}

/** @param {KeptRun} run */
function row({ id, startedAt, state, parameters, mechanisms }) {
  const name = when(startedAt, 'medium');
  const choose = () => {
    chosen[box.checked ? 'add' : 'delete'](id);
    showChosen();
  };
  const box = h('input', {
    type: 'checkbox',
    'aria-label': `Compare the run of ${name}`,
    disabled: state !== 'done',
    onchange: choose,
  });
  box.checked = chosen.has(id);
  const remove = {
    type: 'button',
    class: 'plain',
    'aria-label': `Remove the run of ${name}`,
    onclick: () => ask(id, name),
  };
  return [
    h('span', { class: 'named' }, h('label', { class: 'box' }, box), h('a', { href: `#run=${id}` }, name)),
    state,
    parameters.effort ?? '–',
    parameters.messages.toLocaleString('en-US'),
    byteCount(parameters.sizeBytes),
    h('span', { class: 'names' }, ...mechanisms.map((mechanism) => named(mechanism))),
    state === 'running' ? '' : h('button', remove, 'Remove'),
  ];
}

/** Read the list again and show it. */
export async function showKept() {
  ({ runs } = await call('/api/runs'));
  for (const id of chosen) if (!runs.some((run) => run.id === id)) chosen.delete(id);
  byId('kept').hidden = runs.length === 0;
  fill(byId('kept-rows'), runs.map(row));
  showChosen();
}

/** @param {string} id @param {string} name */
function ask(id, name) {
  byId('confirm-text').textContent = `Remove the run of ${name}? Its figures cannot be brought back.`;
  byId('confirm').dataset.id = id;
  byId('confirm').showModal();
}

/** @param {(id: string) => void} onRemoved @param {(a: string, b: string) => void} onCompare the older run first */
export function setUpKept(onRemoved, onCompare) {
  byId('compare').addEventListener('click', () => {
    const [b, a] = runs.filter(({ id }) => chosen.has(id));
    onCompare(a.id, b.id);
  });
  byId('confirm-no').addEventListener('click', () => byId('confirm').close());
  byId('confirm-yes').addEventListener('click', async () => {
    const { id } = byId('confirm').dataset;
    await call(`/api/runs/${id}`, { method: 'DELETE' }).catch(() => {}); // removed elsewhere: the list will tell
    byId('confirm').close();
    await showKept();
    byId(runs.length ? 'kept-title' : 'start').focus();
    onRemoved(id);
  });
}
