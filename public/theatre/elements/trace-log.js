// <trace-log>: every event up to the present, one line each, in the format of strace. Arrow keys select a line. Consecutive events
// of the setup can be folded into one line, which unfolds them (event "unfold").
import { h, setText } from '../../shared/dom.js';
import { counted } from '../../shared/format.js';
import { failed, lineText, roleOf, startText } from '../model/text.js';

/** @typedef {import('../model/types.js').Replay} Replay */

/** 12345 ns -> "12.3" of microseconds. @param {number} ns */
const microseconds = (ns) => (ns / 1000).toFixed(1);

export class TraceLog extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  /** @type {{row: HTMLElement, text: HTMLElement}[]} */ #rows = [];
  #count = 0;
  /** @type {{row: HTMLElement, first: number}[]} one for each run of setup events */ #folds = [];
  #folded = false;
  /** @type {HTMLElement | null} */ #current = null;
  #list = h('div', { role: 'listbox', tabindex: 0, 'aria-label': 'Log of events', class: 'log' });

  connectedCallback() {
    this.replaceChildren(h('h3', {}, 'Log ', h('span', { class: 'soft' }, 'µs since the start (traced)')), this.#list);
    this.#list.addEventListener('keydown', (key) => this.#key(key));
    this.#list.addEventListener('click', ({ target }) => {
      const row = target instanceof Element ? target.closest('.row') : null;
      if (!(row instanceof HTMLElement)) return;
      if (row.dataset.event === undefined) this.#unfold();
      else this.#pick(Number(row.dataset.event));
    });
  }

  /** @param {Replay} replay @param {boolean} folded is the setup folded? */
  load(replay, folded) {
    this.#replay = replay;
    this.#folded = folded;
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
    this.#folds = folded ? this.#makeFolds(replay) : [];
    this.#list.replaceChildren(...this.#rows.map(({ row }) => row));
    for (const { row, first } of this.#folds) this.#rows[first].row.before(row);
    this.#count = 0;
    this.#current = null;
    this.show(0);
  }

  /** @param {Replay} replay */
  #makeFolds({ trace: { events } }) {
    const starts = events.flatMap(({ phase }, i) => (phase === 'setup' && events[i - 1]?.phase !== 'setup' ? [i] : []));
    return starts.map((first) => {
      const next = events.findIndex(({ phase }, i) => i > first && phase !== 'setup');
      const run = events.slice(first, next < 0 ? events.length : next);
      const calls = run.filter(({ kind }) => kind === 'syscall').length;
      const text = `▸ ${calls > 0 ? counted(calls, 'call') : counted(run.length, 'step')} of setup`;
      const attributes = { role: 'option', class: 'row fold', hidden: true, id: `${this.id}-setup-${first}` };
      return { row: h('div', attributes, h('span', { class: 'text' }, text)), first };
    });
  }

  /** @param {number} count of moments that have passed */
  show(count) {
    const replay = this.#replay;
    if (!replay) return;
    const [from, to] = [Math.min(count, this.#count), Math.max(count, this.#count)];
    for (let m = from; m < to; m++) this.#write(replay.moments[m].event, count);
    this.#count = count;
    for (const { row, first } of this.#folds) row.hidden = replay.entered[first] >= count;
    const current = count > 0 ? replay.moments[count - 1].event : -1;
    this.#current?.removeAttribute('aria-selected');
    this.#current = current < 0 ? null : this.#rowOf(current);
    this.#current?.setAttribute('aria-selected', 'true');
    if (this.#current) this.#list.setAttribute('aria-activedescendant', this.#current.id);
    else this.#list.removeAttribute('aria-activedescendant');
  }

  /** The line of an event, which may be folded. @param {number} event */
  #rowOf(event) {
    const folded = this.#folded && this.#replay?.trace.events[event].phase === 'setup';
    return folded ? (this.#folds.findLast(({ first }) => first <= event)?.row ?? null) : this.#rows[event].row;
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
    row.hidden = entered[which] >= count || (this.#folded && event.phase === 'setup');
    row.classList.toggle('failed', ended && failed(event));
    setText(text, ended ? lineText(event) : startText(event));
  }

  /** @param {KeyboardEvent} key */
  #key(key) {
    const replay = this.#replay;
    if (!replay || key.altKey || key.ctrlKey || key.metaKey) return;
    if (key.key === 'Enter' && this.#current?.matches('.fold')) return this.#unfold();
    const current = this.#count > 0 ? replay.moments[this.#count - 1].event : -1;
    const direction = key.key === 'ArrowDown' ? 1 : key.key === 'ArrowUp' ? -1 : 0;
    if (direction === 0) return;
    const { events } = replay.trace;
    let next = current + direction;
    while (this.#folded && events[next]?.phase === 'setup') next += direction;
    key.preventDefault();
    if (next >= 0 && next < this.#rows.length) this.#pick(next);
  }

  #unfold() {
    this.dispatchEvent(new CustomEvent('unfold', { bubbles: true }));
  }

  /** @param {number} event */
  #pick(event) {
    this.dispatchEvent(new CustomEvent('pick', { detail: event, bubbles: true }));
  }
}

customElements.define('trace-log', TraceLog);
