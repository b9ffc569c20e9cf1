// <event-list>: the log of all events that match the filter, as a list box. Only the visible lines are elements, so that
// 100,000 lines scroll smoothly; aria-setsize and aria-posinset state the whole. Dispatches "pick" (detail: an event).
import { h, setText } from '../../shared/dom.js';
import { positionOf } from '../model/filter.js';
import { ASLEEP, FAILED, NEVER_RETURNED } from '../model/flags.js';
import { callText, fitted, idFirst, resultText, took } from '../model/text.js';

/** @typedef {import('../model/types.js').Recording} Recording */
/** @typedef {{row: HTMLElement, at: number, when: HTMLElement, who: HTMLElement, call: HTMLElement, result: HTMLElement, note: HTMLElement}} Line */

const LINE = 26; // pixels; also in events.css
const SPARE = 8; // lines above and below the visible ones
const MOST_TEXT = 300; // plain characters of a call, and of its result, in a line

let instances = 0;

export class EventList extends HTMLElement {
  /** @type {Recording | null} */ #recording = null;
  /** @type {Int32Array} */ #events = new Int32Array(0);
  #selected = -1;
  /** @type {Line[]} */ #lines = [];
  #id = `event-list-${++instances}`;
  #rows = h('div', { class: 'event-rows', role: 'presentation' });
  #list = h('div', { class: 'event-list', role: 'listbox', tabindex: 0, 'aria-label': 'Events' }, this.#rows);
  #frame = 0;
  #resizes = new ResizeObserver(() => this.#render());

  // Listens once, although the element may be moved to another place in the page.
  constructor() {
    super();
    this.#list.addEventListener('scroll', () => this.#later(), { passive: true });
    this.#list.addEventListener('keydown', (event) => this.#key(event));
    this.#list.addEventListener('click', ({ target }) => {
      const row = target instanceof Element ? target.closest('.event-row') : null;
      const line = this.#lines.find((one) => one.row === row);
      if (line) this.#pick(line.at);
    });
  }

  connectedCallback() {
    this.replaceChildren(this.#list);
    this.#resizes.observe(this.#list);
  }

  disconnectedCallback() {
    this.#resizes.disconnect();
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  set recording(/** @type {Recording | null} */ recording) {
    this.#recording = recording;
    this.#selected = -1;
    this.#list.style.height = `${(recording?.count ?? 0) * LINE + 2}px`; // at most max-height
    this.show(new Int32Array(0));
  }

  /** @param {Int32Array} events the ones to list, ascending */
  show(events) {
    this.#events = events;
    this.#rows.style.height = `${events.length * LINE}px`;
    for (const line of this.#lines) line.at = -1;
    this.#reveal();
    this.#render();
  }

  /** @param {number} event -1: none */
  select(event) {
    this.#selected = event;
    this.#reveal();
    this.#render();
  }

  /** The position of the selected event in the list; -1 if it is not listed. */
  get #position() {
    const position = positionOf(this.#events, this.#selected);
    return this.#selected >= 0 && this.#events[position] === this.#selected ? position : -1;
  }

  #reveal() {
    const position = this.#position;
    if (position < 0) return;
    const top = position * LINE;
    const { scrollTop, clientHeight } = this.#list;
    if (top < scrollTop) this.#list.scrollTop = top;
    else if (top + LINE > scrollTop + clientHeight) this.#list.scrollTop = top + LINE - clientHeight;
  }

  #later() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render() {
    const height = this.#list.clientHeight;
    if (!this.#recording || height === 0) return;
    const count = this.#events.length;
    const first = Math.max(0, Math.floor(this.#list.scrollTop / LINE) - SPARE);
    const last = Math.min(count, Math.ceil((this.#list.scrollTop + height) / LINE) + SPARE);
    while (this.#lines.length < Math.ceil(height / LINE) + 2 * SPARE + 1) this.#addLine();
    const position = this.#position;
    // Line i of the log is always in the same element, modulo their number: scrolling by one line rewrites one element.
    for (let i = first; i < first + this.#lines.length; i++) {
      const line = this.#lines[i % this.#lines.length];
      const unused = i >= last;
      if (line.row.hidden !== unused) line.row.hidden = unused;
      if (unused) line.at = -1;
      else if (line.at !== i) this.#write(line, i);
      if (i === position && !unused) line.row.setAttribute('aria-selected', 'true');
      else if (line.row.hasAttribute('aria-selected')) line.row.removeAttribute('aria-selected');
    }
    if (position >= first && position < last)
      this.#list.setAttribute('aria-activedescendant', `${this.#id}-${position % this.#lines.length}`);
    else this.#list.removeAttribute('aria-activedescendant');
  }

  #addLine() {
    const cell = (/** @type {string} */ name) => h('span', { class: name });
    const [when, who, call, result, note] = ['when number', 'who', 'call', 'result', 'note'].map(cell);
    const id = `${this.#id}-${this.#lines.length}`;
    const row = h(
      'div',
      { class: 'event-row', role: 'option', id, hidden: true },
      when,
      ' ',
      who,
      ' ',
      call,
      ' ',
      result,
      ' ',
      note,
    );
    this.#lines.push({ row, at: -1, when, who, call, result, note });
    for (const line of this.#lines) line.at = -1; // their number decides which element shows which line
    this.#rows.append(row);
  }

  /** @param {Line} line @param {number} at its position in the list */
  #write(line, at) {
    const recording = /** @type {Recording} */ (this.#recording);
    const event = this.#events[at];
    const flags = recording.flags[event];
    line.at = at;
    line.row.style.transform = `translateY(${at * LINE}px)`;
    line.row.setAttribute('aria-posinset', String(at + 1));
    line.row.setAttribute('aria-setsize', String(this.#events.length));
    line.row.classList.toggle('failed', (flags & FAILED) !== 0);
    line.row.classList.toggle('asleep', (flags & ASLEEP) !== 0);
    setText(line.when, (recording.t[event] / 1e6).toFixed(3));
    setText(line.who, idFirst(recording, recording.lane[event]));
    setText(line.call, fitted(callText(recording, event), MOST_TEXT));
    const result = fitted(resultText(recording, event), MOST_TEXT);
    setText(line.result, result && (flags & NEVER_RETURNED ? result : `= ${result}`));
    setText(line.note, [flags & ASLEEP ? 'slept' : '', took(recording, event)].filter(Boolean).join(' '));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { key, ctrlKey, altKey, metaKey } = event;
    if (ctrlKey || altKey || metaKey || this.#events.length === 0) return;
    const page = Math.max(1, Math.floor(this.#list.clientHeight / LINE) - 1);
    const next = positionOf(this.#events, this.#selected);
    const listed = this.#position >= 0;
    /** @type {Record<string, number>} */
    const targets = {
      ArrowDown: listed ? next + 1 : next,
      ArrowUp: next - 1,
      PageDown: next + page,
      PageUp: next - page,
      Home: 0,
      End: Infinity,
    };
    if (!Object.hasOwn(targets, key)) return;
    event.preventDefault();
    this.#pick(Math.max(0, Math.min(targets[key], this.#events.length - 1)));
  }

  /** @param {number} at position in the list */
  #pick(at) {
    this.dispatchEvent(new CustomEvent('pick', { detail: this.#events[at], bubbles: true }));
  }
}

customElements.define('event-list', EventList);
