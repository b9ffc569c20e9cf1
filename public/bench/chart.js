// What the four charts have in common: the heading, the canvas, the sentence and the table below it, the picture to keep,
// the colours of the theme. A chart is drawn again whenever more is known, at most once a frame, and never animated: the
// page shares the machine with what it measures.
import { duration, when } from './format.js';
import { h, tableOf } from './html.js';
import { colour, onTheme } from './marks.js';

/** @typedef {{heads: (string | HTMLElement)[], rows: import('./html.js').Child[][], groups?: [string, number][]}} Table */

/** The floor of these figures in words. @param {Figures} figures */
export const floorOf = ({ floors }) => duration(floors.cacheLineRoundTripNs);

/** Each class that extends this one draws one kind of chart. */
export class LabChart extends HTMLElement {
  heading = '';
  /** How the chart is read. */
  how = '';
  /** @type {ChartName} */ kind = 'throughput';

  /** @type {Figures | null} */ #figures = null;
  #sentence = '';
  /** @type {any} */ #chart = null;
  #drawn = 0;
  #canvas = h('canvas', { role: 'img' });
  #reading = h('p', { class: 'reading' });
  #plot = h('div', { class: 'plot' }, this.#canvas);
  #table = h('div', { class: 'figures' });

  connectedCallback() {
    const save = h('button', { type: 'button', class: 'plain save', onclick: () => this.#save() }, 'Save as PNG');
    this.append(
      h('header', {}, h('h3', {}, this.heading), save),
      h('p', { class: 'how' }, this.how),
      this.#plot,
      this.#reading,
      this.#table,
    );
    save.setAttribute('aria-label', `Save “${this.heading}” as PNG`);
    onTheme(() => this.#later());
  }

  /**
   * @param {Figures} figures a run, or as much of one as there is
   * @param {string} sentence
   */
  show(figures, sentence) {
    const results = [...figures.results].sort((a, b) => Number(a.roundTrip.ns.p50) - Number(b.roundTrip.ns.p50));
    this.#figures = { ...figures, results };
    this.#sentence = sentence;
    this.#later();
  }

  #later() {
    cancelAnimationFrame(this.#drawn);
    this.#drawn = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const figures = this.#figures;
    if (!figures || figures.results.length === 0) return;
    this.#reading.textContent = this.#sentence;
    this.#canvas.setAttribute('aria-label', this.describe(figures));
    const rows = this.rows(figures);
    this.#plot.style.height = rows ? `${rows * 3.1 + 3.75}rem` : '';

    const { heads, rows: lines, groups } = this.table(figures);
    const fresh = tableOf(`${this.heading}: the figures`, heads, lines, { groups });
    const old = this.#table.firstElementChild;
    // The box stays, so that a reader who has scrolled or focused it is not thrown out by the next sample.
    if (old) old.replaceChildren(...fresh.childNodes);
    else this.#table.append(fresh);

    const config = this.#config(figures);
    if (!this.#chart) this.#chart = new Chart(this.#canvas, config);
    this.#chart.data = config.data;
    this.#chart.options = config.options;
    this.#chart.$figures = figures;
    this.#chart.update('none');
  }

  /** @param {Figures} figures @returns {any} */
  #config(figures) {
    const family = getComputedStyle(document.body).fontFamily;
    const { scales, right = 8 } = this.axes(figures);
    return {
      type: 'scatter',
      data: { datasets: this.datasets(figures) },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        font: { family, size: 12 },
        layout: { padding: { top: 10, right } },
        scales,
        elements: { point: { radius: 0, hoverRadius: 0, hitRadius: 12 } },
        plugins: {
          legend: { display: false },
          tooltip: {
            displayColors: false,
            filter: (/** @type {any} */ item) => item.dataset.result !== undefined,
            backgroundColor: colour('ink'),
            titleColor: colour('paper'),
            bodyColor: colour('paper'),
            callbacks: {
              title: (/** @type {any[]} */ [item]) => item?.dataset.result.title,
              label: (/** @type {any} */ item) => this.tip(item.dataset.result, item.raw),
            },
          },
        },
      },
      plugins: [
        {
          id: 'lab',
          afterDatasetsDraw: (/** @type {any} */ chart) => {
            chart.ctx.save();
            this.paint(chart, chart.ctx, chart.$figures ?? figures);
            chart.ctx.restore();
          },
        },
      ],
    };
  }

  // What each chart says for itself.

  /** How many rows it has, when its height follows from them. @param {Figures} _figures */
  rows(_figures) {
    return 0;
  }
  /** @param {Figures} _figures @returns {{scales: any, right?: number}} and the room at the right for labels */
  axes(_figures) {
    return { scales: {} };
  }
  /** @param {Figures} _figures @returns {any[]} */
  datasets(_figures) {
    return [];
  }
  /** @param {any} _chart @param {CanvasRenderingContext2D} _ctx @param {Figures} _figures */
  paint(_chart, _ctx, _figures) {}
  /** What the pointer over a point shows. @param {Result} _result @param {any} _point @returns {string | string[]} */
  tip(_result, _point) {
    return '';
  }
  /** @param {Figures} _figures @returns {Table} */
  table(_figures) {
    return { heads: [], rows: [] };
  }
  /** The chart in words. @param {Figures} _figures */
  describe(_figures) {
    return this.heading;
  }

  /** The chart as a picture that stands on its own: heading, machine and date, the ground behind it. */
  #save() {
    if (!this.#chart) return;
    const { heading } = this;
    const { width, height } = this.#chart;
    const margin = 24;
    const head = 56;
    this.#chart.options.devicePixelRatio = 2;
    this.#chart.resize();
    const picture = h('canvas', { width: (width + 2 * margin) * 2, height: (height + head + 2 * margin) * 2 });
    const ctx = /** @type {CanvasRenderingContext2D} */ (picture.getContext('2d'));
    const { fontFamily } = getComputedStyle(document.body);
    ctx.scale(2, 2);
    ctx.fillStyle = colour('paper');
    ctx.fillRect(0, 0, picture.width, picture.height);
    ctx.fillStyle = colour('ink');
    ctx.font = `650 17px ${fontFamily}`;
    ctx.fillText(heading, margin, margin + 16);
    const run = /** @type {Partial<RunFile>} */ (this.#figures ?? {});
    ctx.fillStyle = colour('soft');
    ctx.font = `12px ${fontFamily}`;
    const about = [run.environment?.cpu, run.environment?.kernel, run.startedAt && when(run.startedAt), 'crossings'];
    ctx.fillText(about.filter(Boolean).join(' · '), margin, margin + 38);
    ctx.drawImage(this.#canvas, margin, margin + head, width, height);
    delete this.#chart.options.devicePixelRatio;
    this.#chart.resize();
    picture.toBlob((blob) => {
      if (!blob) return;
      const address = URL.createObjectURL(blob);
      h('a', { href: address, download: `crossings-${this.kind}.png` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    }, 'image/png');
  }
}
