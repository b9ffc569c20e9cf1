// <event-details>: everything that is known of the selected event. Other events that it names are buttons.
import { h } from '../../shared/dom.js';
import { counted, duration } from '../../shared/format.js';
import { argsOf, payloadOf } from '../model/event-texts.js';
import { ASLEEP, DECODED, FAILED, LINE_REASONS, NEVER_RETURNED, PAYLOAD, SIGNAL, STEP } from '../model/flags.js';
import { bytesOf, hexLines, textOf, visibleText } from '../model/payload.js';
import { laneName, resultText, shortened } from '../model/text.js';

/** @typedef {import('../model/types.js').Recording} Recording */

const MOST_WOKEN = 10;
const MOST_TEXT = 4000;
const AROUND = 4; // lines of source before and after the one that made the call
let elements = 0;

export class EventDetails extends HTMLElement {
  /** @type {Recording | null} */ recording = null;
  #asHex = false;
  #group = `payload-form-${elements++}`; // of radio buttons: a page may hold two recordings

  /** @param {number} event -1: none */
  show(event) {
    const { recording } = this;
    if (!recording || event < 0) return this.replaceChildren(h('p', { class: 'soft' }, 'No event is selected.'));
    const { names, name, flags, lane } = recording;
    const step = flags[event] & STEP;
    this.replaceChildren(
      h(
        'p',
        { class: 'event-title' },
        h('code', {}, step ? names[name[event]] : `${names[name[event]]}()`),
        ' ',
        h('span', { class: 'soft' }, `event ${event + 1}, ${laneName(recording, lane[event])}`),
      ),
      h('dl', { class: 'details' }, ...this.#rows(recording, event)),
      ...this.#payload(recording, event),
      ...sourceOf(recording, event),
    );
  }

  /** @param {Recording} recording @param {number} event */
  #rows(recording, event) {
    const { t, end, flags, sleeps, wokenBy, lane } = recording;
    /** @type {HTMLElement[]} */
    const rows = [];
    const row = (/** @type {string} */ term, /** @type {(Node | string)[]} */ ...content) =>
      rows.push(h('dt', {}, term), h('dd', {}, ...content));
    for (const [i, arg] of argsOf(recording, event).entries())
      row(`argument ${i + 1}`, h('code', {}, visibleText(shortened(arg, MOST_TEXT))));
    const result = resultText(recording, event);
    if (result)
      row(
        'result',
        h('code', { class: flags[event] & FAILED ? 'failed' : '' }, visibleText(shortened(result, MOST_TEXT))),
      );
    row('began', `${(t[event] / 1e6).toLocaleString('en-US', { minimumFractionDigits: 6 })} ms`);
    if (!(flags[event] & SIGNAL))
      row(
        'took',
        flags[event] & NEVER_RETURNED
          ? `it never returned; its thread ended ${duration(recording.lanes[lane[event]].end - t[event])} later`
          : duration(end[event] - t[event]),
      );
    if (flags[event] & ASLEEP) row('slept', sleeps[event] > 0 ? counted(sleeps[event], 'time') : 'until the end');
    if (wokenBy[event] >= 0) row('woken by', this.#link(wokenBy[event]));
    const woken = this.#woken(recording, event);
    if (woken.length > 0)
      row(
        'woke',
        ...woken.slice(0, MOST_WOKEN).flatMap((one, i) => (i > 0 ? [', ', this.#link(one)] : [this.#link(one)])),
      );
    return rows;
  }

  /** @param {Recording} recording @param {number} event */
  #woken({ wokenBy, count }, event) {
    const found = [];
    for (let i = 0; i < count && found.length < MOST_WOKEN; i++) if (wokenBy[i] === event) found.push(i);
    return found;
  }

  /** A button that selects an event. @param {number} event */
  #link(event) {
    const { names, name, lane } = /** @type {Recording} */ (this.recording);
    const text = `${names[name[event]]} of ${laneName(/** @type {Recording} */ (this.recording), lane[event])} (event ${event + 1})`;
    const onclick = () => this.dispatchEvent(new CustomEvent('pick', { detail: event, bubbles: true }));
    return h('button', { type: 'button', class: 'link', onclick }, text);
  }

  /** @param {Recording} recording @param {number} event */
  #payload(recording, event) {
    const { flags, bytes: transferred } = recording;
    if (!(flags[event] & PAYLOAD)) return [];
    const text = payloadOf(recording, event);
    const area = h('pre', { class: 'payload', tabindex: 0, role: 'group', 'aria-label': 'Payload' });
    if (flags[event] & DECODED) {
      area.textContent = text;
      return [h('p', { class: 'source-title soft' }, 'Message'), area];
    }
    const bytes = bytesOf(text);
    const show = () => {
      area.textContent = this.#asHex ? hexLines(bytes).join('\n') : textOf(bytes);
    };
    const all = Math.max(transferred[event], bytes.length);
    const size = `Payload, ${counted(all, 'byte')}${all > bytes.length ? `, the first ${bytes.length}` : ''}`;
    const choose = (/** @type {boolean} */ hex, /** @type {string} */ label) => {
      const input = h('input', { type: 'radio', name: this.#group, checked: this.#asHex === hex });
      input.addEventListener('change', () => {
        this.#asHex = hex;
        show();
      });
      return h('label', { class: 'checkbox' }, input, ` ${label}`);
    };
    show();
    return [
      h('fieldset', { class: 'payload-form' }, h('legend', {}, size), choose(false, 'text'), choose(true, 'hex')),
      area,
    ];
  }
}

/** What a line did that did not itself make the call. @type {Record<string, string>} */
const LINE_SENTENCES = {
  continued: 'led to the callback that made this call',
  queued: 'gave this work to the thread pool (inferred)',
  created: 'created the descriptor that this call is about (inferred)',
  spawned: 'was creating this process',
};

/** The lines around the one that made the call. @param {Recording} recording @param {number} event */
function sourceOf({ files, file, line, lineReason, sources }, event) {
  if (file[event] < 0) return [];
  const name = files[file[event]];
  const reason = LINE_SENTENCES[LINE_REASONS[lineReason[event]]];
  const place = `${shortened(name, 200)}, line ${line[event]}`;
  const title = h('p', { class: 'source-title soft' }, reason ? `${place}, which ${reason}` : place);
  if (!Object.hasOwn(sources, name)) return [title];
  const lines = sources[name].split('\n', line[event] + AROUND);
  if (lines.length < line[event]) return [title];
  const first = Math.max(0, line[event] - 1 - AROUND);
  const rows = lines.slice(first).map((text, i) => {
    const number = first + i + 1;
    const current = number === line[event];
    return h(
      'div',
      { class: 'line', 'data-current': current && 'now' },
      h('span', { class: 'line-number', 'aria-hidden': 'true' }, String(number)),
      h('code', {}, shortened(text, 500) || ' '),
      current ? h('span', { class: 'only-read-aloud' }, ' (this event)') : null,
    );
  });
  return [title, h('div', { class: 'code excerpt', tabindex: 0, role: 'group', 'aria-label': 'Source' }, ...rows)];
}

customElements.define('event-details', EventDetails);
