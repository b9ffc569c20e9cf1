// What the four charts have in common: the canvas, the sentence and the table below it, the colours of the theme, the
// picture to keep. A chart is drawn again whenever more is known, at most once a frame, and never animated: the page
// shares the machine with what it measures.
import { write } from './drawing.js';
import { when } from './format.js';
import { fill, h } from './html.js';
import { colour, onTheme } from './marks.js';

/** The most telling time of a mechanism. @param {Result} result */
export const tripNs = (result) => Number(result.roundTrip.ns.p50);

/** The element: each kind of chart gives it a drawing. */
export class LabChart extends HTMLElement {
  drawing = /** @type {Drawing} */ (Object());
  /** @type {Figures | null} */ #figures = null;
  #sentence = '';
  /** @type {any} */ #chart = null;
  #drawing = 0;

  connectedCallback() {
    this.#part('.save').addEventListener('click', () => this.#save());
    onTheme(() => this.#later());
  }

  /** @param {string} selector @returns {any} */
  #part(selector) {
    return this.querySelector(selector);
  }

  /**
   * @param {Figures} figures a run, or as much of one as there is
   * @param {string} sentence
   */
  show(figures, sentence) {
    const { rank = tripNs } = this.drawing;
    const results = [...figures.results].sort((a, b) => rank(a) - rank(b));
    this.#figures = { ...figures, results };
    this.#sentence = sentence;
    this.#later();
  }

  #later() {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const figures = this.#figures;
    if (!figures?.results.length) return;
    const { rowRem, axes, datasets, tip, paint, rows, describe } = this.drawing;
    const canvas = this.#part('canvas');
    const mostRows = Math.max(figures.results.length, figures.expected ?? 0);
    this.#part('.reading').textContent = this.#sentence;
    this.#part('.plot').style.height = rowRem ? `${mostRows * rowRem + 4.25}rem` : '';
    canvas.setAttribute('aria-label', describe(figures));
    fill(this.#part('tbody'), rows(figures));

    const { scales, right } = axes(figures);
    const options = {
      animation: false,
      maintainAspectRatio: false,
      font: { family: getComputedStyle(this).fontFamily, size: 12 },
      layout: { padding: { top: 10, right } },
      scales,
      elements: { point: { radius: 0, hoverRadius: 0, hitRadius: 12 } },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false,
          filter: (/** @type {any} */ { dataset }) => dataset.result && tip,
          backgroundColor: colour('ink'),
          titleColor: colour('paper'),
          bodyColor: colour('paper'),
          callbacks: {
            title: (/** @type {any[]} */ [item]) => item?.dataset.result.title,
            label: (/** @type {any} */ { dataset, raw }) => tip?.(dataset.result, raw),
          },
        },
      },
    };
    const top = {
      id: 'paint',
      afterDatasetsDraw: (/** @type {any} */ chart) => {
        chart.ctx.save();
        paint(chart, chart.ctx, this.#figures ?? figures);
        chart.ctx.restore();
      },
    };
    this.#chart ??= new Chart(canvas, /** @type {any} */ ({ type: 'scatter', data: {}, options, plugins: [top] }));
    this.#chart.data = { datasets: datasets?.(figures) ?? [] };
    this.#chart.options = options;
    this.#chart.update('none');
  }

  /** The chart as a picture that stands on its own: heading, machine and date, the ground behind it. */
  #save() {
    const chart = this.#chart;
    const run = /** @type {Partial<RunFile>} */ (this.#figures);
    if (!chart) return;
    const { width, height } = chart;
    const [margin, head, scale] = [24, 56, 2];
    chart.options.devicePixelRatio = scale;
    chart.resize();
    const picture = h('canvas', { width: (width + 2 * margin) * scale, height: (height + head + 2 * margin) * scale });
    const ctx = /** @type {Canvas} */ (picture.getContext('2d'));
    const about = [run.environment?.cpu, run.environment?.kernel, run.startedAt && when(run.startedAt)];
    ctx.scale(scale, scale);
    ctx.fillStyle = colour('paper');
    ctx.fillRect(0, 0, picture.width, picture.height);
    write(ctx, this.#part('h3').textContent, margin, margin + 10, { size: 18 });
    write(ctx, about.filter(Boolean).join(' · '), margin, margin + 34, { tone: 'soft' });
    ctx.drawImage(chart.canvas, margin, margin + head, width, height);
    delete chart.options.devicePixelRatio;
    chart.resize();
    picture.toBlob((blob) => {
      const address = URL.createObjectURL(/** @type {Blob} */ (blob));
      h('a', { href: address, download: `crossings-${this.localName.replace('-chart', '')}.png` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
  }
}

/**
 * Define an element that draws one kind of chart.
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
