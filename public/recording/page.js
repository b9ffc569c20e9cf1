// The page of a recording: opens one, and keeps the lanes, the log, the details, the descriptors and the address at one
// selected event and one filter.
import { announce } from '../shared/announce.js';
import { byId, h, showParagraphs, showText } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { loadModules } from '../shared/modules.js';
import { withRests } from '../shared/rests.js';
import { forgetRecording, readAddress, recordingName, writeAddress } from './address.js';
import { buildFilter, listenToFilter, showCount, showFilter } from './filter-form.js';
import { filters, matchingEvents, NO_FILTER } from './model/filter.js';
import { momentAfter } from './model/recording.js';
import { fitted, spokenText, summaryOf } from './model/text.js';
import { fetchRecording, knownRecordings, readRecording } from './open.js';

/**
 * @typedef {import('./model/types.js').Recording} Recording
 * @typedef {import('./model/types.js').Filter} Filter
 */

const parts = {
  opener: /** @type {HTMLDetailsElement} */ (byId('opener')),
  drop: /** @type {HTMLElement} */ (byId('drop')),
  file: /** @type {HTMLInputElement} */ (byId('file')),
  paste: /** @type {HTMLTextAreaElement} */ (byId('paste')),
  error: /** @type {HTMLElement} */ (byId('page-error')),
  busy: /** @type {HTMLElement} */ (byId('busy')),
  recording: /** @type {HTMLElement} */ (byId('recording')),
  title: /** @type {HTMLElement} */ (byId('title')),
  stuck: /** @type {HTMLElement} */ (byId('stuck')),
  waits: /** @type {any} */ (byId('waits')),
  lanes: /** @type {import('./elements/trace-lanes.js').TraceLanes} */ (byId('lanes')),
  list: /** @type {import('./elements/event-list.js').EventList} */ (byId('events')),
  details: /** @type {import('./elements/event-details.js').EventDetails} */ (byId('details')),
  descriptors: /** @type {import('./elements/open-descriptors.js').OpenDescriptors} */ (byId('descriptors')),
};

/** @type {Recording | null} */
let recording = null;
/** @type {Filter} */
let filter = { ...NO_FILTER };
let selected = -1;
let openings = 0; // only the latest is shown
/** Shows the details of the selected event, and what is open after it, now or soon. */
let showSelected = () => {};

/** @param {number} event */
function select(event) {
  if (!recording || event < 0 || event >= recording.count) return;
  selected = event;
  parts.lanes.select(event);
  parts.list.select(event);
  showSelected();
  writeAddress(selected, filter);
}

/** @param {Filter} wanted */
function applyFilter(wanted) {
  if (!recording) return;
  filter = wanted;
  const found = matchingEvents(recording, filter);
  showFilter(recording, filter);
  showCount(found.length, recording.count, filters(filter));
  parts.list.show(found);
  parts.lanes.mark(filters(filter) ? found : null);
  writeAddress(selected, filter);
}

/** Show a recording that has been read. @param {Recording} opened */
function show(opened) {
  recording = opened;
  const { event, filter: wanted } = readAddress();
  parts.recording.hidden = false;
  parts.opener.open = false;
  byId('opener-title').textContent = 'Open another recording';
  parts.title.textContent = fitted(opened.about.title, 200);
  document.title = `${fitted(opened.about.title, 80)} · crossings`;
  byId('summary').textContent = summaryOf(opened);
  const { recordedAt, machine } = opened.about;
  const when = recordedAt === null ? '' : `Recorded on ${dateTime(recordedAt)}`;
  showText(
    byId('recorded'),
    [when, machine]
      .filter(Boolean)
      .join(', on ')
      .concat(when || machine ? '.' : ''),
  );
  parts.stuck.hidden = opened.stuck === null;
  byId('stuck-title').textContent = opened.stuck?.deadlock ? 'Why it hangs' : 'What it was waiting for';
  parts.stuck.classList.toggle('deadlock', opened.stuck?.deadlock === true);
  showParagraphs(byId('notes'), opened.about.notes);
  byId('stuck-text').textContent = fitted(opened.stuck?.text ?? '', 2000);
  parts.waits.recording = opened;
  parts.lanes.recording = opened;
  parts.list.recording = opened;
  parts.details.recording = opened;
  parts.descriptors.recording = opened;
  selected = -1;
  // Of its own: that of the last recording may be resting.
  showSelected = withRests(() => {
    if (recording !== opened) return;
    parts.details.show(selected);
    parts.descriptors.show(momentAfter(opened, selected), opened.lanes[opened.lane[selected]].pid);
  });
  buildFilter(opened);
  applyFilter(wanted);
  const stuckAt = opened.stuck?.waits.find((wait) => wait.event >= 0)?.event;
  select(event !== null && event < opened.count ? event : (stuckAt ?? 0));
}

/** The elements are loaded while the first recording is read, so that the page appears sooner. */
const loadElements = () =>
  loadModules(() =>
    Promise.all([
      import('./elements/event-details.js'),
      import('./elements/event-list.js'),
      import('./elements/open-descriptors.js'),
      import('./elements/trace-lanes.js'),
      import('./elements/wait-diagram.js'),
    ]),
  );

/** @param {() => Promise<Recording>} read */
async function open(read) {
  const opening = ++openings;
  showText(parts.error, '');
  parts.busy.hidden = false;
  document.body.setAttribute('aria-busy', 'true');
  try {
    const [opened] = await Promise.all([read(), loadElements()]);
    if (opening !== openings) return;
    show(opened);
    announce(`Opened. ${parts.stuck.hidden ? '' : byId('stuck-text').textContent} ${byId('summary').textContent}`);
  } catch (error) {
    if (opening !== openings) return;
    showText(parts.error, /** @type {Error} */ (error).message);
    parts.opener.open = true;
  } finally {
    if (opening === openings) {
      parts.busy.hidden = true;
      document.body.removeAttribute('aria-busy');
    }
  }
}

/** A file or a text of the user: the address no longer names a recording of the server. @param {Blob | string} source */
function openOwn(source) {
  forgetRecording();
  return open(async () => readRecording(source));
}

function listenToOpener() {
  parts.file.addEventListener('change', () => {
    const [file] = parts.file.files ?? [];
    if (file) openOwn(file);
    parts.file.value = ''; // so that the same file can be chosen again
  });
  byId('paste-open').addEventListener('click', () => openOwn(parts.paste.value));
  document.addEventListener('paste', (event) => {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement) return;
    const [file] = event.clipboardData?.files ?? [];
    const text = event.clipboardData?.getData('text/plain');
    if (file ?? text) openOwn(file ?? text ?? '');
  });
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    parts.drop.classList.add('over');
  });
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) parts.drop.classList.remove('over');
  });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    parts.drop.classList.remove('over');
    const [file] = event.dataTransfer?.files ?? [];
    const text = event.dataTransfer?.getData('text/plain');
    if (file ?? text) openOwn(file ?? text ?? '');
  });
}

function listen() {
  listenToOpener();
  listenToFilter(applyFilter);
  document.addEventListener('pick', (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    select(detail);
    // The list box announces its active option itself.
    if (recording && document.activeElement?.getAttribute('role') !== 'listbox')
      announce(spokenText(recording, detail));
  });
  document.addEventListener('object', (event) =>
    applyFilter({ ...filter, object: /** @type {CustomEvent} */ (event).detail }),
  );
  window.addEventListener('hashchange', () => {
    const { event, filter: wanted } = readAddress();
    applyFilter(wanted);
    if (event !== null) select(event);
  });
}

async function listKnown() {
  const known = await knownRecordings();
  const links = known.map(({ name, title }) => h('a', { href: `?recording=${encodeURIComponent(name)}` }, title));
  byId('known').append(...links);
  byId('known-part').hidden = links.length === 0;
}

listen();
listKnown();
const named = recordingName();
if (named) open(() => fetchRecording(named));
