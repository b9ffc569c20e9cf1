// The system calls of one message, each beside the line of JavaScript that it belongs to.
import { h } from '../shared/dom.js';

/** How a line that did not itself make the call belongs to it. @type {Record<string, string>} */
const REASONS = {
  continued: 'led to this callback',
  queued: 'gave the thread pool this work',
  created: 'created this descriptor',
  spawned: 'was creating this process',
};
const MOST_TEXT = 90;

/** @param {string} text */
const cut = (text) => (text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text);

/** @param {LessonAnswer} lesson @param {LessonMoment['calls'][number]['source']} source */
function lineOf({ sources }, source) {
  if (!source) return [];
  const { file, text } = sources.find(({ path }) => path === source.file) ?? { file: source.file, text: '' };
  const line = (text.split('\n')[source.line - 1] ?? '').trim();
  const reason = source.why ? REASONS[source.why] : '';
  return [
    h('span', { class: 'soft small' }, `${file}:${source.line}${reason ? ` ${reason}` : ''}`),
    h('code', { class: reason ? 'soft' : '' }, reason ? line : h('mark', {}, line)),
  ];
}

/** @param {LessonAnswer} lesson @param {LessonMoment} moment @param {boolean} open */
function moment(lesson, { name, calls, omitted }, open) {
  const label = lesson.see?.labels?.[name] ?? name;
  const rows = calls.map((call) =>
    h(
      'tr',
      {},
      h('td', {}, call.process, call.helper ? h('span', { class: 'soft small' }, ' another thread') : null),
      h('td', {}, ...lineOf(lesson, call.source)),
      h(
        'td',
        {},
        h('code', {}, `${call.name}(${cut(call.args)}) = ${cut(call.result)}`),
        call.sleeps ? h('span', { class: 'soft small' }, ' slept') : null,
      ),
    ),
  );
  const heads = ['process', 'line of JavaScript', 'system call'].map((head) => h('th', { scope: 'col' }, head));
  const more =
    omitted > 0
      ? h(
          'p',
          { class: 'soft small' },
          `${omitted} more calls, such as those by which threads wake each other, are not shown.`,
        )
      : null;
  return h(
    'details',
    { class: 'moment', open },
    h('summary', {}, label, h('span', { class: 'soft' }, ` one message, ${calls.length + omitted} system calls`)),
    calls.length > 0
      ? h(
          'div',
          { class: 'moment-calls', tabindex: '0', role: 'group', 'aria-label': `System calls of ${label}` },
          h('table', {}, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...rows)),
        )
      : h('p', {}, 'This message made no system call.'),
    more,
  );
}

/** @param {LessonAnswer} lesson @param {LessonMoment[]} list */
export const moments = (lesson, list) => list.map((one, i) => moment(lesson, one, i === 0));
