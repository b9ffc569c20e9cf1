// The custom element behind all four charts: canvas, sentence, table, PNG export. It redraws when data arrives, at most once
// per frame and without animation, because the page shares the machine with the measurement.
import { color, onColorsChange } from '../../shared/colors.js';
import { fillRows, h } from '../../shared/dom.js';
import { dateTime } from '../../shared/format.js';
import { write } from './drawing.js';

/** The time that charts sort by and label: the median round trip. @param {Result} result */
export const tripNs = (result) => Number(result.roundTrip.ns.p50);

/** The base element; each kind of chart supplies a drawing. */
export class LabChart extends HTMLElement {
  drawing = /** @type {Drawing} */ (Object());
  /** @type {Figures | null} */ #figures = null;
  #sentence = '';
  /** @type {any} */ #chart = null;
  #frame = 0;

  connectedCallback() {
    this.#part('.save').addEventListener('click', () => this.#save());
    onColorsChange(() => this.#schedule());
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
    this.#sentence = sentence;
    this.#schedule();
  }

  #schedule() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
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
    fillRows(this.#part('tbody'), rows(figures));

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
          backgroundColor: color('ink'),
          titleColor: color('paper'),
          bodyColor: color('paper'),
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

  /** Save the chart as a PNG that is complete by itself: heading, machine, date and background. */
  #save() {
    const chart = this.#chart;
    const run = /** @type {Partial<RunFile>} */ (this.#figures);
    if (!chart) return;
    const { width, height } = chart;
    const [margin, head, scale] = [24, 56, 2];
    chart.options.devicePixelRatio = scale;
    chart.resize();
    const image = h('canvas', { width: (width + 2 * margin) * scale, height: (height + head + 2 * margin) * scale });
    const ctx = /** @type {Canvas} */ (image.getContext('2d'));
    const about = [run.environment?.cpu, run.environment?.kernel, run.startedAt && dateTime(run.startedAt)];
    ctx.scale(scale, scale);
    ctx.fillStyle = color('paper');
    ctx.fillRect(0, 0, image.width, image.height);
    write(ctx, this.#part('h3').textContent, margin, margin + 10, { size: 18 });
    write(ctx, about.filter(Boolean).join(' · '), margin, margin + 34, { tone: 'soft' });
    ctx.drawImage(chart.canvas, margin, margin + head, width, height);
    delete chart.options.devicePixelRatio;
    chart.resize();
    image.toBlob((blob) => {
      const address = URL.createObjectURL(/** @type {Blob} */ (blob));
      h('a', { href: address, download: `crossings-${this.localName.replace('-chart', '')}.png` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
  }
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
