// One figure: heading, explanation, plot, what it shows in a sentence, and the same figures as a table.
import { fillRows, h, setText } from '../shared/dom.js';
import { dateTime } from '../shared/format.js';
import { legendOf } from '../shared/mechanisms.js';
import { Plot } from '../shared/plot.js';

/**
 * @typedef {object} Parts
 * @property {string} name of the PNG file
 * @property {string} title
 * @property {string} how to read the plot
 * @property {string[]} columns headings of the table
 * @property {[string, number][]} [groups] headings above the columns after the first, each with its number of columns
 */

/**
 * A table that can be scrolled by keyboard.
 * @param {string} label
 * @param {string[]} columns headings; the first may be empty
 * @param {[string, number][]} [groups] headings above the columns after the first
 */
export function makeTable(label, columns, groups) {
  const above = groups?.map(([text, span]) =>
    text ? h('th', { scope: 'colgroup', colspan: span }, text) : h('td', { colspan: span }),
  );
  const headings = h('tr');
  const body = h('tbody');
  const head = h('thead', {}, above ? h('tr', { class: 'groups' }, h('td'), ...above) : null, headings);
  const attributes = { class: 'scroller', tabindex: 0, 'aria-label': `${label}: data table` };
  let shown = '';
  /** @param {string[]} names */
  const setColumns = (names) => {
    if (names.join('\n') === shown) return;
    shown = names.join('\n');
    headings.replaceChildren(...names.map((text) => (text ? h('th', { scope: 'col' }, text) : h('td'))));
  };
  setColumns(columns);
  return {
    element: h('section', attributes, h('table', {}, head, body)),
    setColumns,
    /** @param {import('../shared/dom.js').Child[][]} rows */
    show: (rows) => fillRows(body, rows),
  };
}

export class Figure {
  #plot;
  #canvas = h('canvas', { role: 'img' });
  #reading = h('p', { class: 'reading' });
  #legend = h('ul', { class: 'legend', hidden: true });
  #how = h('p', { class: 'how' });
  #box = h('div', { class: 'plot' }, this.#canvas);
  #table;
  /** @type {ExperimentFile | null} */ #file = null;

  /** @param {Parts} parts */
  constructor({ name, title, how, columns, groups }) {
    this.#table = makeTable(title, columns, groups);
    this.setHow(how);
    this.#plot = new Plot(this.#canvas);
    const save = h(
      'button',
      {
        type: 'button',
        class: 'plain save',
        'aria-label': `Save “${title}” as PNG`,
        onclick: () => this.#save(name, title),
      },
      'Save as PNG',
    );
    this.element = h(
      'section',
      { class: 'figure' },
      h('header', {}, h('h3', {}, title), save),
      this.#how,
      this.#legend,
      this.#box,
      this.#reading,
      this.#table.element,
    );
  }

  /**
   * @param {ExperimentFile} file
   * @param {object} parts
   * @param {() => PlotSpec} parts.plot
   * @param {import('../shared/dom.js').Child[][]} parts.rows of the table
   * @param {string[]} [parts.columns] if they depend on the file
   * @param {string} [parts.reading]
   * @param {Parameters<typeof legendOf>[0]} [parts.legend] on a narrow screen
   * @param {string} [parts.height] of the plot, with its unit
   */
  show(file, { plot, rows, columns, legend = [], reading = '', height = '' }) {
    this.#file = file;
    this.#box.style.height = height;
    setText(this.#reading, reading);
    this.#reading.hidden = reading === '';
    if (columns) this.#table.setColumns(columns);
    this.#table.show(rows);
    this.#legend.replaceChildren(...legendOf(legend));
    this.#legend.hidden = legend.length === 0;
    this.#plot.show(plot);
  }

  /** How to read the plot. @param {string} how */
  setHow(how) {
    setText(this.#how, how);
  }

  /** @param {string} name @param {string} title */
  #save(name, title) {
    if (!this.#file) return;
    const { environment, startedAt } = this.#file;
    const about = [environment.cpu, environment.kernel, dateTime(startedAt)];
    this.#plot.save({ title, about: about.filter(Boolean).join(' · '), name: `crossings-${name}` });
  }
}
