// The glossary: every term with its explanation, and the lessons in which it appears. An address such as #term-pipe names a term.
import { byId, h, showText } from '../shared/dom.js';
import { glossary } from './source.js';
import { setHtml } from './texts.js';

/** @param {GlossaryTerm} term */
function entry({ term, id, text, lessons }) {
  const meaning = h('dd');
  setHtml(meaning, text);
  const links = lessons.map(({ name, number, title }) =>
    h('a', { href: `lesson.html?name=${encodeURIComponent(name)}`, title }, `Lesson ${number}`),
  );
  if (links.length > 0) meaning.append(h('p', { class: 'soft small' }, ...links));
  return [h('dt', { id, tabindex: '-1' }, term), meaning];
}

/** The terms are here only now, so the browser has not found the one that the address names. */
function showNamed() {
  const named = document.getElementById(location.hash.slice(1));
  named?.scrollIntoView();
  named?.focus();
}

async function main() {
  const { terms } = await glossary();
  byId('terms').replaceChildren(...terms.flatMap(entry));
  showNamed();
}
main().catch((error) => showText(byId('page-error'), error.message));
