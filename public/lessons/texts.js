// Parts of a lesson that the server has rendered: its texts, its programs with the lines that matter, its terms, its worksheet.
import { h } from '../shared/dom.js';

/** The server rendered it from a file of the package, with all HTML in it escaped. @param {Element} element @param {string} html */
export function setHtml(element, html) {
  element.innerHTML = html;
}

/** @param {string} html */
export function fromHtml(html) {
  const span = h('span');
  setHtml(span, html);
  return span;
}

/** A program: only its lines that matter, until it is opened. @param {LessonAnswer['sources'][number]} source @param {boolean} open */
export function program({ file, path, text, lit }, open) {
  const lines = text.replace(/\n$/, '').split('\n');
  const isLit = new Set(lit);
  const rows = lines.map((line, i) =>
    h(
      'span',
      { class: isLit.has(i + 1) ? 'line lit' : 'line' },
      h('span', { class: 'line-number', 'aria-hidden': 'true' }, String(i + 1).padStart(3)),
      isLit.has(i + 1) ? h('mark', {}, line || ' ') : line,
    ),
  );
  const code = h('pre', { tabindex: '0', 'aria-label': `The program ${path}` }, ...rows);
  const details = h(
    'details',
    { class: 'program', open },
    h('summary', {}, h('code', {}, file), h('span', { class: 'soft' }, ` ${lines.length} lines`)),
    code,
  );
  // The lines that matter are in view when it opens.
  const first = rows[Math.max(0, lit[0] - 4)];
  new ResizeObserver(() => {
    if (first && code.scrollTop === 0) code.scrollTop = first.offsetTop - rows[0].offsetTop;
  }).observe(code);
  return details;
}

/** The explanation that a term's button opens. @param {LessonAnswer['terms'][number]} term */
export function explanation({ term, id, text }) {
  const box = h('div', { id, class: 'explanation', popover: 'auto', role: 'note', 'aria-label': term });
  setHtml(box, text);
  box.prepend(h('strong', {}, term));
  return box;
}

/** Two sheets: the questions, and the answers. @param {LessonAnswer} lesson */
export function worksheet({ title, number, worksheet: questions }) {
  /** @param {boolean} withAnswers */
  const sheet = (withAnswers) =>
    h(
      'div',
      { class: 'sheet' },
      h('p', { class: 'sheet-head' }, `crossings · lesson ${number} · ${withAnswers ? 'answers' : 'worksheet'}`),
      h('h2', {}, title),
      h(
        'ol',
        {},
        ...questions.map(({ question, answer }) => {
          const item = h('li', {});
          setHtml(item, question);
          const reply = h('div', { class: withAnswers ? 'reply' : 'space' });
          if (withAnswers) setHtml(reply, answer);
          item.append(reply);
          return item;
        }),
      ),
    );
  return [sheet(false), sheet(true)];
}
