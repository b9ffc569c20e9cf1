// The list of kept runs: open, choose two to compare, remove.
import { call } from '../shared/api.js';
import { byteCount, whenShort } from './format.js';
import { byId, h, tableOf } from './html.js';
import { markOf } from './marks.js';

/** Runs chosen for a comparison, by id. @type {Set<string>} */
const chosen = new Set();
/** @type {KeptRun[]} newest first */
let runs = [];

/** @param {KeptRun} run */
const comparable = ({ state }) => state === 'done';

function showChosen() {
  const ready = chosen.size === 2;
  byId('compare').disabled = !ready;
  byId('compare-hint').textContent = ready
    ? ''
    : `Choose two finished runs${chosen.size ? `; ${chosen.size} chosen` : ''}.`;
}

/** @param {KeptRun} run */
function row({ id, startedAt, state, parameters, mechanisms }) {
  const name = whenShort(startedAt);
  const box = h('input', { type: 'checkbox', 'aria-label': `Compare the run of ${name}`, disabled: state !== 'done' });
  box.checked = chosen.has(id);
  box.addEventListener('change', () => {
    chosen[box.checked ? 'add' : 'delete'](id);
    showChosen();
  });
  const remove = h('button', { type: 'button', class: 'plain', 'aria-label': `Remove the run of ${name}` }, 'Remove');
  remove.addEventListener('click', () => askToRemove(id, name));
  return [
    h('span', { class: 'named' }, h('label', { class: 'box' }, box), h('a', { href: `#run=${id}` }, name)),
    state,
    parameters.effort,
    parameters.messages.toLocaleString('en-US'),
    byteCount(parameters.sizeBytes),
    h(
      'span',
      { class: 'names' },
      ...mechanisms.map((mechanism) => h('span', { class: 'named' }, markOf(mechanism), mechanism)),
    ),
    state === 'running' ? '' : remove,
  ];
}

/** Read the list again and show it. */
export async function showKept() {
  ({ runs } = await call('/api/runs'));
  const left = new Set(runs.filter(comparable).map(({ id }) => id));
  for (const id of chosen) if (!left.has(id)) chosen.delete(id);
  byId('kept').hidden = runs.length === 0;
  const heads = ['started', 'state', 'effort', 'messages', 'size', 'mechanisms', ''];
  const fresh = tableOf('Kept runs', heads, runs.map(row));
  byId('kept-table').replaceChildren(fresh);
  showChosen();
}

/** @param {string} id @param {string} name */
function askToRemove(id, name) {
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
    await showKept();
    byId('confirm').close();
    (runs.length ? byId('kept-title') : byId('start')).focus();
    onRemoved(id);
  });
}
