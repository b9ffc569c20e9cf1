// The page of the pitfalls: the list of all, or one of them with its text, its two programs, and a button that runs both.
import { announce } from '../shared/announce.js';
import { call } from '../shared/api.js';
import { byId, h, showText } from '../shared/dom.js';
import { outcome, verdictOf } from './outcome.js';
import { programs } from './programs.js';
import { sectionsOf } from './text.js';

/** @typedef {{name: string, title: string, lesson: string, fails: string}} Entry */
/** @typedef {{name: string, title: string, text: string, programs: {wrong: string, right: string}, lines: import('./programs.js').Line[]}} Pitfall */

const wanted = new URLSearchParams(location.search).get('name');

/** @param {Error} error */
const fail = (error) => showText(byId('page-error'), error.message);

/** @param {string} name */
const addressOf = (name) => `/pitfalls.html?name=${encodeURIComponent(name)}`;

/** @param {Entry[]} all */
function showList(all) {
  const items = all.map(({ name, title }) =>
    h('li', {}, h('a', { href: addressOf(name) }, title), ' ', h('code', { class: 'soft' }, name)),
  );
  byId('list').replaceChildren(...items);
  byId('all').hidden = false;
}

/** Links to the previous and the next one, and to the list. @param {Entry[]} all */
function showNeighbors(all) {
  const here = all.findIndex(({ name }) => name === wanted);
  const link = (/** @type {Entry | undefined} */ entry, /** @type {string} */ before, /** @type {string} */ after) =>
    entry ? h('a', { href: addressOf(entry.name) }, `${before}${entry.title}${after}`) : null;
  byId('neighbors').append(
    ...[
      link(all[here - 1], '← ', ''),
      h('a', { href: '/pitfalls.html' }, 'All pitfalls'),
      link(all[here + 1], '', ' →'),
    ].filter((each) => each !== null),
  );
}

/** @param {string} name */
async function run(name) {
  byId('run').disabled = true;
  showText(byId('page-error'), '');
  showText(byId('run-state'), 'Running both programs. This takes a few seconds.');
  announce('Running both programs.');
  try {
    const file = await call(`/api/pitfalls/${name}/runs`, { method: 'POST' });
    byId('outcomes').replaceChildren(outcome(file.wrong, 'wrong'), outcome(file.right, 'right'));
    byId('outcomes').hidden = false;
    showText(byId('verdict'), verdictOf(file));
    announce(verdictOf(file));
  } catch (error) {
    fail(/** @type {Error} */ (error));
    announce('');
  } finally {
    showText(byId('run-state'), '');
    byId('run').disabled = false;
    byId('run').textContent = 'Run again';
  }
}

/** @param {Pitfall} pitfall */
function showPitfall({ name, title, text, programs: names, lines }) {
  document.title = `${title} · crossings`;
  byId('title').textContent = title;
  const [what, ...why] = sectionsOf(text);
  byId('what').replaceChildren(what.element);
  byId('why').replaceChildren(...why.map(({ element }) => element));
  byId('command').textContent = `crossings pitfall ${name}`;
  const showPrograms = () => byId('programs').replaceChildren(...programs(lines, names, byId('whole').checked));
  byId('whole').addEventListener('change', showPrograms);
  byId('run').addEventListener('click', () => run(name));
  showPrograms();
  byId('pitfall').hidden = false;
}

async function begin() {
  const { pitfalls } = await call('/api/pitfalls');
  if (wanted === null) return showList(pitfalls);
  showPitfall(await call(`/api/pitfalls/${encodeURIComponent(wanted)}`));
  showNeighbors(pitfalls);
}

begin().catch(fail);
