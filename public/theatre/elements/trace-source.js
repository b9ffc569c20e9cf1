// <trace-source>: the C files of a demo, with the line of each process highlighted. The number of a line that has events is a
// button that goes to the next of them.
import { h, setText } from '../../shared/dom.js';
import { roleOf } from '../model/text.js';

/** @typedef {import('../model/types.js').Replay} Replay */

export class TraceSource extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  #count = 0;
  #quiet = true;
  #file = '';
  /** @type {HTMLElement | null} the line of the process that acts */ #acting = null;
  #choice = h('select', { 'aria-label': 'File' });
  #code = h('div', { class: 'code', tabindex: 0, role: 'group', 'aria-label': 'Source' });
  /** @type {Map<number, {row: HTMLElement, mark: HTMLElement}>} */ #lines = new Map();

  connectedCallback() {
    this.replaceChildren(h('h3', {}, 'Source ', this.#choice), this.#code);
    this.#choice.addEventListener('change', () => this.#open(this.#choice.value));
    this.#code.addEventListener('click', ({ target }) => {
      const button = target instanceof Element ? target.closest('button') : null;
      if (button) this.#next(Number(button.dataset.line));
    });
  }

  /** @param {Replay} replay */
  load(replay) {
    this.#replay = replay;
    const files = Object.keys(replay.trace.sources);
    this.#choice.replaceChildren(...files.map((file) => h('option', { value: file }, file)));
    this.#open(this.#demoFile());
  }

  /** The demo's own file. */
  #demoFile() {
    const { sources, mechanism } = /** @type {Replay} */ (this.#replay).trace;
    return Object.keys(sources).find((file) => file.endsWith(`/demos/${mechanism}.c`)) ?? Object.keys(sources)[0];
  }

  /** @param {string} file */
  #open(file) {
    const { trace } = /** @type {Replay} */ (this.#replay);
    this.#file = file;
    this.#choice.value = file;
    this.#lines.clear();
    const calls = new Map();
    for (const { source } of trace.events)
      if (source?.file === file) calls.set(source.line, (calls.get(source.line) ?? 0) + 1);
    const rows = (trace.sources[file] ?? '')
      .replace(/\n$/, '')
      .split('\n')
      .map((text, i) => {
        const line = i + 1;
        const times = calls.get(line);
        const number = times
          ? h(
              'button',
              {
                class: 'line-number',
                'data-line': line,
                'aria-label': `Line ${line}: go to its next event (${times} in total)`,
              },
              String(line),
            )
          : h('span', { class: 'line-number', 'aria-hidden': 'true' }, String(line));
        const mark = h('span', { class: 'at' });
        const row = h('div', { class: 'line' }, number, h('code', {}, text || ' '), mark);
        this.#lines.set(line, { row, mark });
        return row;
      });
    this.#code.replaceChildren(...rows);
    this.#highlight();
  }

  /** @param {number} count of moments that have passed @param {boolean} [quiet] is no event current? */
  show(count, quiet = false) {
    const replay = this.#replay;
    if (!replay) return;
    this.#count = count;
    this.#quiet = quiet || count === 0;
    const current = this.#quiet ? null : replay.trace.events[replay.moments[count - 1].event];
    const file = current?.source?.file ?? this.#demoFile();
    if (file !== this.#file && file in replay.trace.sources) this.#open(file);
    this.#highlight();
  }

  #highlight() {
    const { trace, snapshots, moments } = /** @type {Replay} */ (this.#replay);
    this.#acting = null;
    for (const { row, mark } of this.#lines.values()) {
      if (row.dataset.current === undefined) continue;
      delete row.dataset.current;
      setText(mark, '');
    }
    const acting = this.#quiet ? -1 : trace.events[moments[this.#count - 1].event].pid;
    for (const { pid, last, alive } of snapshots[this.#count].processes) {
      const source = last === null || !alive ? null : trace.events[last].source;
      const line = source?.file === this.#file ? this.#lines.get(source.line) : undefined;
      if (!line) continue;
      line.row.dataset.current = line.row.dataset.current === 'now' || pid === acting ? 'now' : 'there';
      setText(line.mark, [line.mark.textContent, roleOf(trace, pid)].filter(Boolean).join(', '));
      if (pid === acting) this.#acting = line.row;
    }
  }

  /** Scroll the source to the current line. */
  follow() {
    if (!this.#acting) return;
    const top = this.#acting.offsetTop;
    const { scrollTop, clientHeight } = this.#code;
    if (top < scrollTop + 20 || top > scrollTop + clientHeight - 60) this.#code.scrollTop = top - clientHeight / 2;
  }

  /** Go to the line's next event after the present, or to its first. @param {number} line */
  #next(line) {
    const { trace, entered } = /** @type {Replay} */ (this.#replay);
    const events = trace.events.flatMap(({ source }, e) =>
      source?.file === this.#file && source.line === line ? [e] : [],
    );
    const next = events.find((e) => entered[e] >= this.#count) ?? events[0];
    if (next !== undefined) this.dispatchEvent(new CustomEvent('pick', { detail: next, bubbles: true }));
  }
}

customElements.define('trace-source', TraceSource);
