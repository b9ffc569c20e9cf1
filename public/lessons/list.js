// The page of all lessons: their questions in order, how long each takes, and which are finished.
import { announce } from '../shared/announce.js';
import { isLive } from '../shared/api.js';
import { needsLab } from '../shared/copy.js';
import { byId, h, showText } from '../shared/dom.js';
import { clearProgress, finished } from './progress.js';
import { lessonList } from './source.js';

/** @param {LessonLine[]} lessons */
function show(lessons) {
  const done = new Set(finished());
  const next = lessons.find(({ name }) => !done.has(name));
  const rows = lessons.map(({ name, number, title, minutes }) => {
    const isDone = done.has(name);
    const state = isDone ? 'finished' : name === next?.name ? (done.size > 0 ? 'continue here' : 'start here') : '';
    return h(
      'li',
      { class: isDone ? 'done' : name === next?.name ? 'next' : '' },
      h('span', { class: 'digit', 'aria-hidden': 'true' }, isDone ? '✓' : String(number)),
      h('a', { href: `lesson.html?name=${encodeURIComponent(name)}` }, title),
      h('span', { class: 'soft facts' }, [`${minutes} min`, state].filter(Boolean).join(' · ')),
    );
  });
  byId('lessons').replaceChildren(...rows);
  const count = lessons.filter(({ name }) => done.has(name)).length;
  byId('progress').hidden = count === 0;
  showText(byId('progress-text'), `${count} of ${lessons.length} finished.`);
}

async function main() {
  const { lessons, problems } = await lessonList();
  showText(byId('page-error'), problems.join(' '));
  if (!isLive)
    document.querySelector('.lead')?.after(needsLab('Its lessons show runs that were recorded on another machine.'));
  show(lessons);
  byId('clear').addEventListener('click', () => {
    clearProgress();
    show(lessons);
    announce('Your progress was cleared.');
    /** @type {HTMLElement | null} */ (document.querySelector('#lessons a'))?.focus();
  });
}
main().catch((error) => showText(byId('page-error'), error.message));
