// One chart of Chart.js in one canvas. It is redrawn when its data or the theme changes, at most once per frame and without
// animation, because the page shares the machine with the measurement. It can be saved as PNG.
import { color, onColorsChange } from './colors.js';
import { h } from './dom.js';
import { write } from './drawing.js';

export class Plot {
  #canvas;
  /** @type {(() => PlotSpec) | null} */ #specOf = null;
  /** @type {any} */ #chart = null;
  /** @type {PlotSpec | null} */ #spec = null;
  #frame = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
    onColorsChange(() => this.#schedule());
  }

  /** @param {() => PlotSpec} specOf called for each drawing, so that it has the colors of the current theme */
  show(specOf) {
    this.#specOf = specOf;
    this.#schedule();
  }

  #schedule() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    if (!this.#specOf) return;
    const spec = this.#specOf();
    this.#spec = spec;
    this.#canvas.setAttribute('aria-label', spec.text);
    const options = {
      animation: false,
      maintainAspectRatio: false,
      font: { family: getComputedStyle(this.#canvas).fontFamily, size: 12 },
      layout: { padding: { top: spec.top ?? 10, right: spec.right } },
      scales: spec.scales,
      elements: { point: { radius: 0, hoverRadius: 0, hitRadius: 12 } },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false,
          filter: (/** @type {any} */ { dataset, raw }) => spec.tip?.(dataset, raw),
          backgroundColor: color('ink'),
          titleColor: color('paper'),
          bodyColor: color('paper'),
          callbacks: {
            title: (/** @type {any[]} */ [item]) => item && spec.tip?.(item.dataset, item.raw)?.[0],
            label: (/** @type {any} */ { dataset, raw }) => spec.tip?.(dataset, raw)?.[1],
          },
        },
      },
    };
    const top = {
      id: 'paint',
      afterDatasetsDraw: (/** @type {any} */ chart) => {
        chart.ctx.save();
        this.#spec?.paint(chart, chart.ctx);
        chart.ctx.restore();
      },
    };
    this.#chart ??= new Chart(
      this.#canvas,
      /** @type {any} */ ({ type: 'scatter', data: {}, options, plugins: [top] }),
    );
    this.#chart.data = { datasets: spec.datasets };
    this.#chart.options = options;
    this.#chart.update('none');
  }

  /**
   * Save as a PNG that is complete by itself: heading, machine, date and background.
   * @param {{title: string, about: string, name: string}} options
   */
  save({ title, about, name }) {
    const chart = this.#chart;
    if (!chart) return;
    const { width, height } = chart;
    const [margin, head, scale] = [24, 56, 2];
    chart.options.devicePixelRatio = scale;
    chart.resize();
    const image = h('canvas', { width: (width + 2 * margin) * scale, height: (height + head + 2 * margin) * scale });
    const ctx = /** @type {Canvas} */ (image.getContext('2d'));
    ctx.scale(scale, scale);
    ctx.fillStyle = color('paper');
    ctx.fillRect(0, 0, image.width, image.height);
    write(ctx, title, margin, margin + 10, { size: 18 });
    write(ctx, about, margin, margin + 34, { tone: 'soft' });
    ctx.drawImage(chart.canvas, margin, margin + head, width, height);
    delete chart.options.devicePixelRatio;
    chart.resize();
    image.toBlob((blob) => {
      const address = URL.createObjectURL(/** @type {Blob} */ (blob));
      h('a', { href: address, download: `${name}.png` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
  }
}
