// <trace-source>: the C files of a demo. The line that each process is at is lit; a line that makes calls can be clicked
// and goes to its next one.
import { h, say } from './dom.js';
import { roleOf } from './words.js';

/** @typedef {import('./types.js').Play} Play */

export class TraceSource extends HTMLElement {
  /** @type {Play | null} */ #play = null;
  #count = 0;
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

  /** @param {Play} play */
  load(play) {
    this.#play = play;
    const files = Object.keys(play.trace.sources);
    this.#choice.replaceChildren(...files.map((file) => h('option', { value: file }, file)));
    this.#open(this.#first());
  }

  /** The demo itself, before anything has happened. */
  #first() {
    const { sources, mechanism } = /** @type {Play} */ (this.#play).trace;
    return Object.keys(sources).find((file) => file.endsWith(`/demos/${mechanism}.c`)) ?? Object.keys(sources)[0];
  }

  /** @param {string} file */
  #open(file) {
    const { trace } = /** @type {Play} */ (this.#play);
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
                'aria-label': `Line ${line}: go to its next event, of ${times}`,
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
    this.#light();
  }

  /** @param {number} count of moments that are past */
  show(count) {
    const play = this.#play;
    if (!play) return;
    this.#count = count;
    const current = count > 0 ? play.trace.events[play.moments[count - 1].event] : null;
    const file = current?.source?.file ?? this.#first();
    if (file !== this.#file && file in play.trace.sources) this.#open(file);
    this.#light();
  }

  #light() {
    const { trace, worlds, moments } = /** @type {Play} */ (this.#play);
    this.#acting = null;
    for (const { row, mark } of this.#lines.values()) {
      if (row.dataset.lit === undefined) continue;
      delete row.dataset.lit;
      say(mark, '');
    }
    const acting = this.#count > 0 ? trace.events[moments[this.#count - 1].event].pid : -1;
    for (const { pid, last, alive } of worlds[this.#count].processes) {
      const source = last === null || !alive ? null : trace.events[last].source;
      const line = source?.file === this.#file ? this.#lines.get(source.line) : undefined;
      if (!line) continue;
      line.row.dataset.lit = line.row.dataset.lit === 'now' || pid === acting ? 'now' : 'there';
      say(line.mark, [line.mark.textContent, roleOf(trace, pid)].filter(Boolean).join(', '));
      if (pid === acting) this.#acting = line.row;
    }
  }

  /** Bring the line that runs into sight, within the source only. */
  follow() {
    if (!this.#acting) return;
    const top = this.#acting.offsetTop;
    const { scrollTop, clientHeight } = this.#code;
    if (top < scrollTop + 20 || top > scrollTop + clientHeight - 60) this.#code.scrollTop = top - clientHeight / 2;
  }

  /** The next event of a line after the present, or its first. @param {number} line */
  #next(line) {
    const { trace, entered } = /** @type {Play} */ (this.#play);
    const here = trace.events.flatMap(({ source }, e) =>
      source?.file === this.#file && source.line === line ? [e] : [],
    );
    const next = here.find((e) => entered[e] >= this.#count) ?? here[0];
    if (next !== undefined) this.dispatchEvent(new CustomEvent('pick', { detail: next, bubbles: true }));
  }
}

customElements.define('trace-source', TraceSource);
