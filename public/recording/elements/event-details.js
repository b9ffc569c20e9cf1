// <event-details>: everything that is known of the selected event. Other events that it names are buttons.
import { h } from '../../shared/dom.js';
import { counted, duration } from '../../shared/format.js';
import { argsOf, payloadOf } from '../model/event-texts.js';
import { ASLEEP, DECODED, FAILED, LINE_REASONS, NEVER_RETURNED, PAYLOAD, SIGNAL, STEP } from '../model/flags.js';
import { bytesOf, hexLines, textOf, visibleText } from '../model/payload.js';
import { fitted, fitting, laneName, resultText } from '../model/text.js';

/** @typedef {import('../model/types.js').Recording} Recording */

const MOST_WOKEN = 10;
// Plain characters (see fitting()) that are shown of an event at once: a text in a stranger's file must not freeze the page.
const MOST_TEXT = 8192; // of its arguments and its result together
const MOST_PAYLOAD = 8192;
const MORE_TEXT = 16_384; // for each click on "Show more"
const MOST_NAME = 200;
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
    const title = h('code');
    const more = showGradually(title, names[name[event]] + (step ? '' : '()'), MOST_NAME, 'the name');
    this.replaceChildren(
      h(
        'p',
        { class: 'event-title' },
        title,
        ' ',
        h('span', { class: 'soft' }, `event ${event + 1}, ${laneName(recording, lane[event])}`),
        ...more,
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
    const args = argsOf(recording, event);
    const share = Math.floor(MOST_TEXT / (args.length + 1));
    for (const [i, arg] of args.entries()) {
      const code = h('code');
      row(`argument ${i + 1}`, code, ...showGradually(code, visibleText(arg), share, `argument ${i + 1}`));
    }
    const result = resultText(recording, event);
    if (result) {
      const code = h('code', { class: flags[event] & FAILED ? 'failed' : '' });
      row('result', code, ...showGradually(code, visibleText(result), share, 'the result'));
    }
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
    const text = `${fitted(names[name[event]], MOST_NAME)} of ${laneName(/** @type {Recording} */ (this.recording), lane[event])} (event ${event + 1})`;
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
      const more = showGradually(area, text, MOST_PAYLOAD, 'the message');
      return [h('p', { class: 'source-title soft' }, 'Message'), area, ...more];
    }
    const bytes = bytesOf(text);
    const more = h('div');
    const show = () => {
      if (this.#asHex) area.textContent = hexLines(bytes).join('\n');
      more.replaceChildren(...(this.#asHex ? [] : showGradually(area, textOf(bytes), MOST_PAYLOAD, 'the payload')));
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
      more,
    ];
  }
}

/**
 * Shows the beginning of a text. If that is not all, returns a button that shows more with each click.
 * @param {HTMLElement} area
 * @param {string} text
 * @param {number} most plain characters of the beginning
 * @param {string} what
 */
function showGradually(area, text, most, what) {
  const first = fitting(text, most);
  area.textContent = text.slice(0, first);
  if (first === text.length) return [];
  let shown = first;
  const button = h('button', { type: 'button', class: 'link more' });
  const label = () => {
    const [part, all] = [shown, text.length].map((length) => length.toLocaleString('en-US'));
    button.textContent =
      shown < text.length ? `Show more of ${what} (${part} of ${all} characters shown)` : `Show less of ${what}`;
  };
  button.addEventListener('click', () => {
    const next = shown < text.length ? shown + fitting(text.slice(shown), MORE_TEXT) : first;
    if (next > shown) area.append(text.slice(shown, next));
    else area.textContent = text.slice(0, first);
    shown = next;
    label();
  });
  label();
  return [button];
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
  const place = `${fitted(name, 200)}, line ${line[event]}`;
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
      h('code', {}, fitted(text, 500) || ' '),
      current ? h('span', { class: 'only-read-aloud' }, ' (this event)') : null,
    );
  });
  return [title, h('div', { class: 'code excerpt', tabindex: 0, role: 'group', 'aria-label': 'Source' }, ...rows)];
}

customElements.define('event-details', EventDetails);
