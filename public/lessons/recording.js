// The recording of a run: its lanes, its events, and the selected one with its line of C. It opens at the event that the lesson
// is about.
import { h } from '../shared/dom.js';
import { loadModules } from '../shared/modules.js';

/** The elements are loaded when a run has a recording. */
const load = () =>
  loadModules(() =>
    Promise.all([
      import('../recording/model/check.js'),
      import('../recording/model/recording.js'),
      import('../recording/model/filter.js'),
      import('../recording/elements/trace-lanes.js'),
      import('../recording/elements/event-list.js'),
      import('../recording/elements/event-details.js'),
    ]),
  );

/** @param {Pick<LessonRunAnswer, 'recording' | 'notRecorded' | 'hang'>} run @returns {Promise<HTMLElement | null>} */
export async function recording({ recording: found, notRecorded, hang }) {
  if (!found && hang) return h('p', { class: 'notice' }, `${hang} ${notRecorded ?? ''}`.trim());
  if (!found) return notRecorded ? h('p', { class: 'notice' }, notRecorded) : null;
  const [{ checkTrace }, { recordingOf }, { matchingEvents, NO_FILTER }] = await load();
  checkTrace(found.trace);
  const read = recordingOf(found.trace);
  const make = (/** @type {string} */ name) => /** @type {any} */ (document.createElement(name));
  const [lanes, list, details] = ['trace-lanes', 'event-list', 'event-details'].map(make);
  const inNode = found.trace.command?.[0] === 'node';
  const given = found.trace.command?.slice(inNode ? 2 : 1) ?? [];
  const withThese =
    given.length > 0 ? ` with the ${given.length > 1 ? 'arguments' : 'argument'} ${given.join(' ')}` : '';
  const beside = `The program then ran once more${withThese} while its system calls were recorded, since recording makes it slower.`;
  const { notes } = read.about;
  const which =
    notes.length > 0
      ? notes.join(' ')
      : found.beside
        ? 'Here are all of them.'
        : 'Here are all system calls of this run.';
  const text =
    `${found.beside ? `${beside} ` : ''}${which} The calls below are in the order in which they happened. ` +
    `The line of ${inNode ? 'JavaScript' : 'C'} that made the selected call is marked. ` +
    'Select another call in the list, or in the lanes above it.';
  const shipped = found.origin === 'shipped' && notRecorded;
  const element = h(
    'section',
    { class: 'recorded', 'aria-label': 'The system calls' },
    h('h3', {}, 'The system calls'),
    hang ? h('p', { class: 'notice' }, hang) : null,
    shipped ? h('p', { class: 'notice' }, `${notRecorded} These calls were recorded on another machine.`) : null,
    h('p', { class: 'soft small' }, text),
    lanes,
    h('div', { class: 'recorded-parts' }, list, details),
  );
  const select = (/** @type {number} */ event) => {
    lanes.select(event);
    list.select(event);
    details.show(event);
  };
  element.addEventListener('pick', (event) => select(/** @type {CustomEvent} */ (event).detail));
  // The elements measure themselves, so they need their place first.
  const filled = new ResizeObserver(() => {
    filled.disconnect();
    for (const one of [lanes, list, details]) one.recording = read;
    list.show(matchingEvents(read, NO_FILTER));
    select(found.event);
  });
  filled.observe(element);
  return element;
}
