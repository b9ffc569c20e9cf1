// A moment of the theatre's recording of a mechanism, beside the figures of a lesson: the latest recording, or the one that ships.
import { call } from '../shared/api.js';
import { h } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { loadModules } from '../shared/modules.js';

/** The event that the lesson names. @param {any} trace @param {{call: string, line?: string}} moment */
function eventOf({ events, sources }, { call: name, line: text }) {
  const found = events.findIndex((/** @type {any} */ event) => {
    const { file, line } = event.source ?? {};
    return event.name === name && (!text || (sources[file]?.split('\n')[line - 1] ?? '').includes(text));
  });
  return Math.max(found, 0);
}

/** @param {LessonPlot} plot @returns {Promise<HTMLElement[]>} none if the lesson has no such moment */
export async function theatre({ theatre: wanted }) {
  if (!wanted) return [];
  const [trace] = await Promise.all([
    call(`/api/traces/${wanted.mechanism}`),
    loadModules(() => import('../theatre/elements/trace-moment.js')),
  ]);
  const moment = /** @type {any} */ (document.createElement('trace-moment'));
  const link = h('a', { href: `./#mechanism=${wanted.mechanism}` }, 'Open in the theatre');
  moment.addEventListener('moment', (/** @type {CustomEvent} */ { detail }) => {
    link.href = `./#mechanism=${wanted.mechanism}&at=${detail.count}`;
  });
  const { cpu, kernel } = trace.environment;
  const origin = ` Recorded on ${dateTime(trace.recordedAt)}: ${cpu}, ${kernel}.`;
  const text = h('p', { class: 'soft small' }, wanted.text);
  const section = h('section', { class: 'in-theatre', 'aria-labelledby': 'theatre-title' });
  section.append(h('h3', { id: 'theatre-title' }, 'In the theatre'), text, moment);
  section.append(h('p', { class: 'soft small' }, link, origin));
  // It scrolls to the line of C, so it needs its place first.
  const filled = new ResizeObserver(() => {
    filled.disconnect();
    moment.show(trace, eventOf(trace, wanted.moment));
  });
  filled.observe(section);
  return [section];
}
