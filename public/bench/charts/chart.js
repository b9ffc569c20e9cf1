// The custom element behind all four charts: canvas, sentence, table, PNG export, one mark or row per mechanism.
import { color } from '../../shared/colors.js';
import { fillRows } from '../../shared/dom.js';
import { axis } from '../../shared/drawing.js';
import { dateTime } from '../../shared/format.js';
import { Plot } from '../../shared/plot.js';

/** The time that charts sort by and label: the median round trip. @param {Result} result */
export const tripNs = (result) => Number(result.roundTrip.ns.p50);

/** The base element; each kind of chart supplies a drawing. */
export class LabChart extends HTMLElement {
  drawing = /** @type {Drawing} */ (Object());
  /** @type {Figures | null} */ #figures = null;
  /** @type {Plot | null} */ #plot = null;

  connectedCallback() {
    this.#plot = new Plot(this.#part('canvas'));
    this.#part('.save').addEventListener('click', () => this.#save());
  }

  /** @param {string} selector @returns {any} */
  #part(selector) {
    return this.querySelector(selector);
  }

  /**
   * @param {Figures} figures of a finished run, or of a run in progress
   * @param {string} sentence
   */
  show(figures, sentence) {
    const { rank = tripNs } = this.drawing;
    const results = [...figures.results].sort((a, b) => rank(a) - rank(b));
    this.#figures = { ...figures, results };
    if (results.length > 0) this.#plot?.show(() => this.#draw(this.#figures ?? figures, sentence));
  }

  /** @param {Figures} figures @param {string} sentence @returns {PlotSpec} */
  #draw(figures, sentence) {
    const { rowRem, axes, datasets, tip, paint, rows, describe } = this.drawing;
    const mostRows = Math.max(figures.results.length, figures.expected ?? 0);
    this.#part('.reading').textContent = sentence;
    this.#part('.plot').style.height = rowRem ? `${mostRows * rowRem + 4.25}rem` : '';
    fillRows(this.#part('tbody'), rows(figures));
    return {
      ...axes(figures),
      datasets: datasets?.(figures) ?? [],
      paint: (chart, ctx) => paint(chart, ctx, figures),
      tip: ({ result }, point) => (result && tip ? [result.title, tip(result, point)] : null),
      text: describe(figures),
    };
  }

  #save() {
    const { environment, startedAt } = /** @type {Partial<RunFile>} */ (this.#figures);
    const about = [environment?.cpu, environment?.kernel, startedAt && dateTime(startedAt)];
    this.#plot?.save({
      title: this.#part('h3').textContent,
      about: about.filter(Boolean).join(' · '),
      name: `crossings-${this.localName.replace('-chart', '')}`,
    });
  }
}

/** One row per mechanism, the first at the top: row i has its base at n-1-i. @param {Figures} figures */
export function rowAxis({ results, expected = 0 }) {
  const last = results.length - 1;
  const steps = results.map((_, i) => last - i + 0.5);
  const { ticks, ...rest } = axis('', steps, (value) => results[Math.round(last + 0.5 - value)].mechanism);
  return {
    ...rest,
    min: Math.min(0, results.length - expected) - 0.1,
    max: results.length,
    grid: { display: false },
    ticks: { ...ticks, color: color('ink'), autoSkip: false },
  };
}

/**
 * Define the element of one kind of chart.
 * @param {string} name
 * @param {Drawing} drawing
 */
export function defineChart(name, drawing) {
  customElements.define(
    name,
    class extends LabChart {
      drawing = drawing;
    },
  );
}
