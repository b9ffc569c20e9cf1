// The page of the pitfalls: the list of all, or one of them with its text, its two programs, and a button that runs both.

import { recording } from '../lessons/recording.js';
import { announce } from '../shared/announce.js';
import { call, isLive, NEEDS_LAB } from '../shared/api.js';
import { byId, h, showParagraphs, showText } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { outcome, verdictOf } from './outcome.js';
import { programs } from './programs.js';
import { sectionsOf } from './text.js';

/** @typedef {{name: string, title: string, lesson: string, group: string, fails: string}} Entry */
/** @typedef {{groups: {name: string, title: string}[], pitfalls: Entry[], problems: string[]}} List */
/** @typedef {import('./outcome.js').PitfallFile & {startedAt: string, environment: {cpu: string, cores: number, kernel: string}}} Shipped */
/** @typedef {{name: string, title: string, text: string, programs: {wrong: string, right: string}, lines: import('./programs.js').Line[], shipped: Shipped | null}} Pitfall */

const wanted = new URLSearchParams(location.search).get('name');

/** @param {Error} error */
const fail = (error) => showText(byId('page-error'), error.message);

/** @param {string} name */
const addressOf = (name) => `pitfalls.html?name=${encodeURIComponent(name)}`;

/** @param {Entry} entry */
const itemOf = ({ name, title }) =>
  h('li', {}, h('a', { href: addressOf(name) }, title), ' ', h('code', { class: 'soft' }, name));

/** @param {List} list */
function showList({ groups, pitfalls, problems }) {
  const parts = groups.map(({ name, title }) => {
    const items = pitfalls.filter(({ group }) => group === name).map(itemOf);
    return h(
      'section',
      { 'aria-labelledby': `group-${name}` },
      h('h2', { id: `group-${name}` }, title),
      h('ul', {}, ...items),
    );
  });
  byId('list').replaceChildren(...parts);
  showText(byId('page-error'), problems.join(' '));
  if (!isLive) showParagraphs(byId('intro'), [NEEDS_LAB]);
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
      h('a', { href: 'pitfalls.html' }, 'All pitfalls'),
      link(all[here + 1], '', ' →'),
    ].filter((each) => each !== null),
  );
}

/** The system calls of the wrong program, where they were recorded. @param {import('./outcome.js').PitfallFile} file */
async function showRecording({ recording: trace = null, notRecorded = null, event }) {
  byId('recorded').replaceChildren();
  const first = event ?? trace?.stuck?.waits.at(-1)?.event ?? 0;
  const found = trace && { trace, event: first, origin: /** @type {const} */ ('here'), beside: true };
  const element = await recording({ recording: found, notRecorded, hang: trace?.stuck?.text ?? null });
  if (element) byId('recorded').replaceChildren(element);
}

/** @param {import('./outcome.js').PitfallFile} file */
function showOutcomes(file) {
  byId('outcomes').replaceChildren(outcome(file.wrong, 'wrong'), outcome(file.right, 'right'));
  byId('outcomes').hidden = false;
  showRecording(file).catch(fail); // its modules are loaded now
  showText(byId('verdict'), verdictOf(file));
}

/** In a copy without a server: what a run needs, and a button that shows the run that ships. @param {Shipped | null} shipped */
function offerShipped(shipped) {
  showParagraphs(byId('needs'), [shipped ? NEEDS_LAB : `${NEEDS_LAB} No run of this pitfall ships with it.`]);
  byId('run').textContent = 'Show the result from another machine';
  byId('run').hidden = shipped === null;
  byId('run').addEventListener('click', () => {
    if (!shipped) return;
    const { cpu, cores, kernel } = shipped.environment;
    showOutcomes(shipped);
    const when = dateTime(shipped.startedAt);
    showText(byId('origin'), `Observed on ${when} on another machine: ${cpu}, ${cores} cores, ${kernel}.`);
    announce(verdictOf(shipped));
  });
}

/** @param {string} name */
async function run(name) {
  if (byId('run').getAttribute('aria-disabled') === 'true') return;
  byId('run').setAttribute('aria-disabled', 'true'); // it keeps the focus
  showText(byId('page-error'), '');
  showText(byId('run-state'), 'Running both programs. This takes a few seconds.');
  announce('Running both programs.');
  try {
    const file = await call(`/api/pitfalls/${name}/runs`, { method: 'POST' });
    showOutcomes(file);
    announce(verdictOf(file));
  } catch (error) {
    fail(/** @type {Error} */ (error));
    announce('');
  } finally {
    showText(byId('run-state'), '');
    byId('run').setAttribute('aria-disabled', 'false');
    byId('run').textContent = 'Run again';
  }
}

/** @param {Pitfall} pitfall */
function showPitfall({ name, title, text, programs: names, lines, shipped }) {
  document.title = `${title} · crossings`;
  byId('title').textContent = title;
  const [what, ...why] = sectionsOf(text);
  byId('what').replaceChildren(what.element);
  byId('why').replaceChildren(...why.map(({ element }) => element));
  byId('command').textContent = `npx crossings-lab pitfall ${name}`;
  const showPrograms = () => byId('programs').replaceChildren(...programs(lines, names, byId('whole').checked));
  byId('whole').addEventListener('change', showPrograms);
  if (isLive) byId('run').addEventListener('click', () => run(name));
  else offerShipped(shipped);
  showPrograms();
  byId('pitfall').hidden = false;
}

async function begin() {
  /** @type {List} */ const list = await call('/api/pitfalls');
  if (!wanted) return showList(list);
  showPitfall(await call(`/api/pitfalls/${encodeURIComponent(wanted)}`));
  showNeighbors(list.pitfalls);
}

begin().catch(fail);
