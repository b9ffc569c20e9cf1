// The controls of the filter: built for a recording, filled from a filter, and read back.
import { byId, h, setText } from '../shared/dom.js';
import { frequencies, NO_FILTER } from './model/filter.js';
import { fitted, laneName, processName } from './model/text.js';

/**
 * @typedef {import('./model/types.js').Recording} Recording
 * @typedef {import('./model/types.js').Filter} Filter
 */

const MOST_OPTIONS = 500; // of one select; the search finds the rest
const MOST_NAME = 60; // plain characters of an option: the browser measures all of them

const controls = {
  form: /** @type {HTMLFormElement} */ (byId('filter')),
  text: /** @type {HTMLInputElement} */ (byId('filter-text')),
  call: /** @type {HTMLSelectElement} */ (byId('filter-call')),
  who: /** @type {HTMLSelectElement} */ (byId('filter-who')),
  object: /** @type {HTMLSelectElement} */ (byId('filter-object')),
  errors: /** @type {HTMLInputElement} */ (byId('filter-errors')),
  sleeping: /** @type {HTMLInputElement} */ (byId('filter-sleeping')),
  reset: /** @type {HTMLButtonElement} */ (byId('filter-reset')),
};

const whoValue = (/** @type {number | null} */ pid, /** @type {number | null} */ tid) =>
  pid === null ? '' : tid === null ? `${pid}` : `${pid} ${tid}`;

/** @param {number} count */
const times = (count) => ` (${count.toLocaleString('en-US')})`;

/** @param {Recording} recording */
export function buildFilter(recording) {
  const { calls, objects } = frequencies(recording, MOST_OPTIONS);
  const any = (/** @type {string} */ text) => h('option', { value: '' }, text);
  controls.call.replaceChildren(
    any('all'),
    ...calls.map(({ index, count }) => {
      const name = recording.names[index];
      return h('option', { value: name }, fitted(name, MOST_NAME) + times(count));
    }),
  );
  const processes = recording.processes.slice(0, MOST_OPTIONS);
  let left = MOST_OPTIONS - processes.length; // every process comes first; what is left is for threads
  const who = processes.flatMap(({ pid }, process) => {
    const threads = recording.lanes.flatMap((lane, i) => (lane.process === process ? [{ i, tid: lane.tid }] : []));
    const own = h('option', { value: whoValue(pid, null) }, processName(recording, pid));
    if (threads.length < 2) return [own];
    const shown = threads.slice(0, left);
    left -= shown.length;
    return [
      own,
      ...shown.map(({ i, tid }) =>
        h(
          'option',
          { value: whoValue(pid, tid) },
          `– ${recording.lanes[i].main ? `${laneName(recording, i)}, first thread` : laneName(recording, i)}`,
        ),
      ),
    ];
  });
  controls.who.replaceChildren(any('all'), ...who);
  controls.object.replaceChildren(
    any('all'),
    ...objects.map(({ index, count }) =>
      h('option', { value: index }, fitted(recording.objects[index].name, MOST_NAME) + times(count)),
    ),
  );
}

/** Selects a value, which is added if it is not among the options. @param {HTMLSelectElement} select @param {string} value @param {string} name */
function choose(select, value, name) {
  if (![...select.options].some((option) => option.value === value))
    select.append(h('option', { value }, fitted(name, MOST_NAME)));
  select.value = value;
}

/** @param {Recording} recording @param {Filter} filter */
export function showFilter(recording, filter) {
  if (controls.text.value.trim() !== filter.text) controls.text.value = filter.text;
  choose(controls.call, filter.call, filter.call);
  choose(controls.who, whoValue(filter.pid, filter.tid), whoValue(filter.pid, filter.tid));
  const { object } = filter;
  choose(
    controls.object,
    object === null ? '' : String(object),
    object === null ? '' : (recording.objects[object]?.name ?? `object ${object}`),
  );
  controls.errors.checked = filter.errors;
  controls.sleeping.checked = filter.sleeping;
}

/** @returns {Filter} */
function read() {
  const [pid, tid] = controls.who.value === '' ? [] : controls.who.value.split(' ').map(Number);
  return {
    text: controls.text.value.trim(),
    call: controls.call.value,
    pid: pid ?? null,
    tid: tid ?? null,
    object: controls.object.value === '' ? null : Number(controls.object.value),
    errors: controls.errors.checked,
    sleeping: controls.sleeping.checked,
  };
}

/** @param {(filter: Filter) => void} onChange */
export function listenToFilter(onChange) {
  let waiting = 0;
  controls.form.addEventListener('submit', (event) => event.preventDefault());
  controls.form.addEventListener('input', ({ target }) => {
    clearTimeout(waiting);
    if (target !== controls.text) return onChange(read());
    waiting = window.setTimeout(() => onChange(read()), 150); // not at every letter
  });
  controls.reset.addEventListener('click', () => {
    clearTimeout(waiting);
    controls.text.value = '';
    onChange({ ...NO_FILTER });
    controls.text.focus();
  });
}

/** @param {number} found @param {number} all @param {boolean} filtered */
export function showCount(found, all, filtered) {
  const [some, total] = [found, all].map((count) => count.toLocaleString('en-US'));
  setText(
    byId('filter-count'),
    found === all ? `${total} events` : found === 0 ? `No event of ${total} matches.` : `${some} of ${total} events`,
  );
  controls.reset.disabled = !filtered;
}
