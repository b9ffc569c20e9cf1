// <trace-log>: every event up to the present, one line each, in the format of strace. Arrow keys select a line.
import { h, setText } from '../../shared/dom.js';
import { failed, lineText, roleOf, startText } from '../model/text.js';

/** @typedef {import('../model/types.js').Replay} Replay */

/** 12345 ns -> "12.3" of microseconds. @param {number} ns */
const microseconds = (ns) => (ns / 1000).toFixed(1);

export class TraceLog extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  /** @type {{row: HTMLElement, text: HTMLElement}[]} */ #rows = [];
  #count = 0;
  /** @type {HTMLElement | null} */ #current = null;
  #list = h('div', { role: 'listbox', tabindex: 0, 'aria-label': 'Log of events', class: 'log' });

  connectedCallback() {
    this.replaceChildren(h('h3', {}, 'Log ', h('span', { class: 'soft' }, 'µs since the start (traced)')), this.#list);
    this.#list.addEventListener('keydown', (key) => this.#key(key));
    this.#list.addEventListener('click', ({ target }) => {
      const row = target instanceof Element ? target.closest('[data-event]') : null;
      if (row instanceof HTMLElement) this.#pick(Number(row.dataset.event));
    });
  }

  /** @param {Replay} replay */
  load(replay) {
    this.#replay = replay;
    const { trace } = replay;
    this.#rows = trace.events.map((event, i) => {
      const text = h('span', { class: 'text' });
      const when = h('span', { class: 'when number' }, microseconds(event.t));
      const who = h('span', { class: 'who' }, roleOf(trace, event.pid));
      const attributes = { role: 'option', class: 'row', hidden: true, 'data-event': i, 'data-kind': event.kind };
      const row = h(
        'div',
        { ...attributes, 'data-role': roleOf(trace, event.pid), id: `${this.id}-${i}` },
        when,
        ' ',
        who,
        ' ',
        text,
      );
      return { row, text };
    });
    this.#list.replaceChildren(...this.#rows.map(({ row }) => row));
    this.#count = 0;
    this.#current = null;
    this.show(0);
  }

  /** @param {number} count of moments that have passed */
  show(count) {
    const replay = this.#replay;
    if (!replay) return;
    const [from, to] = [Math.min(count, this.#count), Math.max(count, this.#count)];
    for (let m = from; m < to; m++) this.#write(replay.moments[m].event, count);
    this.#count = count;
    const current = count > 0 ? replay.moments[count - 1].event : -1;
    this.#current?.removeAttribute('aria-selected');
    this.#current = current < 0 ? null : this.#rows[current].row;
    this.#current?.setAttribute('aria-selected', 'true');
    if (this.#current) this.#list.setAttribute('aria-activedescendant', this.#current.id);
    else this.#list.removeAttribute('aria-activedescendant');
  }

  /** Scroll the log to the current line. scrollIntoView would scroll the page, too. */
  follow() {
    const row = this.#current;
    if (!row) return;
    const top = row.offsetTop;
    const { scrollTop, clientHeight } = this.#list;
    if (top < scrollTop) this.#list.scrollTop = top;
    else if (top + row.offsetHeight > scrollTop + clientHeight) {
      this.#list.scrollTop = top + row.offsetHeight - clientHeight;
    }
  }

  /** One line, as far as it is known after `count` moments. @param {number} which @param {number} count */
  #write(which, count) {
    const { trace, entered, left } = /** @type {Replay} */ (this.#replay);
    const event = trace.events[which];
    const { row, text } = this.#rows[which];
    const ended = left[which] >= 0 && left[which] < count;
    row.hidden = entered[which] >= count;
    row.classList.toggle('failed', ended && failed(event));
    setText(text, ended ? lineText(event) : startText(event));
  }

  /** @param {KeyboardEvent} key */
  #key(key) {
    const replay = this.#replay;
    if (!replay || key.altKey || key.ctrlKey || key.metaKey) return;
    const current = this.#count > 0 ? replay.moments[this.#count - 1].event : -1;
    const direction = key.key === 'ArrowDown' ? 1 : key.key === 'ArrowUp' ? -1 : 0;
    if (direction === 0) return;
    const next = current + direction;
    key.preventDefault();
    if (next >= 0 && next < this.#rows.length) this.#pick(next);
  }

  /** @param {number} event */
  #pick(event) {
    this.dispatchEvent(new CustomEvent('pick', { detail: event, bubbles: true }));
  }
}

customElements.define('trace-log', TraceLog);
