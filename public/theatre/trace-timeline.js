// <trace-timeline>: the lanes of process, kernel, process along stretched time, with the present in the middle. A canvas,
// since thousands of events must scroll smoothly: only what is in sight is drawn. The log has the same as text.
import { h } from './dom.js';
import { sleepsIn } from './model.js';
import { countShown } from './stretch.js';

/** @typedef {import('./types.js').Play} Play */

const HEIGHT = 184; // CSS pixels
const PER_MS = 0.135; // pixels for a millisecond of shown time
const PRESENT = 0.5; // of the width: where the present stands
const LANE = 16; // height of a bar
const LANES = [
  { own: 34, kernel: 76 }, // the first process: its own lane, its calls in the kernel's
  { own: 150, kernel: 108 },
];
const KERNEL = { top: 68, bottom: 132 };

const forced = matchMedia('(forced-colors: active)');

/** Where the reader's system chooses all colours, ours by the part that they play. @type {Record<string, string>} */
const FORCED = {
  '--ink': 'CanvasText',
  '--soft': 'CanvasText',
  '--line': 'Canvas',
  '--edge': 'CanvasText',
  '--raised': 'Canvas',
  '--sunken': 'Canvas',
  '--paper': 'Canvas',
  '--accent': 'Highlight',
  '--focus': 'Highlight',
};

/** Near-black or white, whichever can be read on a colour (WCAG 2.2, relative luminance). @param {string} colour 'rgb(…)' */
function readable(colour) {
  const [red, green, blue] = (colour.match(/[\d.]+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#111' : '#fff';
}

/** @typedef {{event: number, from: number, to: number, process: number}} Bar in shown milliseconds */

export class TraceTimeline extends HTMLElement {
  /** @type {Play | null} */ #play = null;
  /** @type {Bar[]} */ #bars = [];
  /** @type {{process: number, from: number, to: number}[]} */ #own = []; // while it runs its own code
  /** @type {number[]} */ #begins = []; // of the bars, ascending
  /** @type {{at: number, name: string}[]} */ #parts = [];
  #longest = 0;
  /** @type {Map<string, number>} */ #widths = new Map(); // of texts, pixels
  #font = '';
  #onAccent = ''; // the colour of text on the accent
  #position = 0;
  #width = 0;
  #hideFuture = false;
  /** @type {Record<string, string>} */ #colours = {};
  #canvas = h('canvas', { role: 'img' });
  #ink = this.#canvas.getContext('2d');

  connectedCallback() {
    this.replaceChildren(this.#canvas);
    new ResizeObserver(() => this.#resize()).observe(this);
    document.documentElement.addEventListener('themechange', () => this.#recolour());
    for (const query of [matchMedia('(prefers-color-scheme: dark)'), forced]) {
      query.addEventListener('change', () => this.#recolour());
    }
    this.#canvas.addEventListener('click', (click) => this.#pick(click));
  }

  /** @param {Play} play @param {number[]} shown when each moment is shown, milliseconds */
  load(play, shown) {
    this.#play = play;
    const { trace, entered, left } = play;
    this.#bars = trace.events.map(({ pid }, event) => {
      const from = shown[entered[event]];
      const to = left[event] >= 0 ? shown[left[event]] : from;
      return { event, from, to, process: trace.processes.findIndex((process) => process.pid === pid) };
    });
    this.#own = this.#ownCode(trace);
    this.#begins = this.#bars.map(({ from }) => from);
    this.#longest = Math.max(0, ...this.#bars.map(({ from, to }) => to - from));
    this.#parts = play.moments.flatMap(({ segment }, i) => {
      if (i > 0 && play.moments[i - 1].segment === segment) return [];
      return [{ at: i === 0 ? 0 : shown[i] - 20, name: play.segments[segment].name }];
    });
    this.#canvas.setAttribute(
      'aria-label',
      `The lanes of writer, kernel and reader over ${trace.events.length} events; the log tells the same in words.`,
    );
    this.#recolour();
  }

  /** The stretches between the calls of each process. @param {import('./types.js').Trace} trace */
  #ownCode({ events, processes }) {
    return processes.flatMap((_, process) => {
      const bars = this.#bars.filter((bar) => bar.process === process);
      const calls = bars.filter(({ event }) => events[event].kind === 'syscall');
      const begins = [bars[0]?.from ?? 0, ...calls.map(({ to }) => to)];
      const ends = [...calls.map(({ from }) => from), bars.at(-1)?.to ?? 0];
      return begins.map((from, i) => ({ process, from, to: ends[i] })).filter(({ from, to }) => to > from);
    });
  }

  /** @param {number} positionMs @param {boolean} hideFuture */
  show(positionMs, hideFuture) {
    this.#position = positionMs;
    this.#hideFuture = hideFuture;
    this.#draw();
  }

  #recolour() {
    const style = getComputedStyle(this);
    this.#font = `12px ${style.fontFamily}`;
    this.#widths.clear();
    const names = ['--ink', '--soft', '--line', '--edge', '--raised', '--sunken', '--paper', '--accent', '--focus'];
    // Canvas does not know light-dark(): let the browser work each colour out.
    const probe = h('span', { hidden: true });
    probe.style.forcedColorAdjust = 'none';
    this.append(probe);
    for (const name of names) {
      probe.style.color = forced.matches ? FORCED[name] : style.getPropertyValue(name);
      this.#colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    this.#onAccent = readable(this.#colours['--accent']);
    this.#draw();
  }

  #resize() {
    const scale = devicePixelRatio;
    this.#width = this.clientWidth;
    this.#canvas.width = Math.round(this.#width * scale);
    this.#canvas.height = Math.round(HEIGHT * scale);
    this.#ink?.setTransform(scale, 0, 0, scale, 0, 0);
    this.#draw();
  }

  /** @param {CanvasRenderingContext2D} ink @param {string} text */
  #widthOf(ink, text) {
    const known = this.#widths.get(text) ?? ink.measureText(text).width;
    this.#widths.set(text, known);
    return known;
  }

  /** @param {number} ms */
  #x(ms) {
    return (ms - this.#position) * PER_MS + this.#width * PRESENT;
  }

  #draw() {
    const ink = this.#ink;
    const play = this.#play;
    if (!ink || !play || this.#width === 0) return;
    const colours = this.#colours;
    ink.clearRect(0, 0, this.#width, HEIGHT);
    ink.font = this.#font;
    ink.textBaseline = 'middle';
    ink.fillStyle = colours['--sunken'];
    ink.fillRect(0, KERNEL.top, this.#width, KERNEL.bottom - KERNEL.top);
    this.#drawParts(ink);

    const reach = this.#width / PER_MS;
    ink.fillStyle = colours['--ink'];
    for (const { process, from, to } of this.#own) {
      const [left, right] = [Math.max(this.#x(from), -5), Math.min(this.#x(to), this.#width + 5)];
      if (right > left) ink.fillRect(left, LANES[process].own - 1, right - left, 2);
    }
    const [from, to] = [this.#position - reach - this.#longest, this.#position + reach];
    const inSight = this.#bars.slice(countShown(this.#begins, from), countShown(this.#begins, to));
    for (const bar of inSight) this.#drawBar(ink, play, bar);
    for (const bar of inSight) this.#drawWake(ink, play, bar);
    const now = this.#x(this.#position);
    // The future is pale, or not there at all while the reader of the page is guessing.
    ink.globalAlpha = this.#hideFuture ? 1 : 0.6;
    ink.fillStyle = colours['--raised'];
    ink.fillRect(now + 1, 0, this.#width, HEIGHT);
    ink.globalAlpha = 1;
    ink.fillStyle = colours['--focus'];
    ink.fillRect(now - 1, 0, 2, HEIGHT);
    this.#drawNames(ink, play);
  }

  /** Where set-up, each message and tear-down begin. @param {CanvasRenderingContext2D} ink */
  #drawParts(ink) {
    ink.fillStyle = this.#colours['--soft'];
    for (const { at, name } of this.#parts) {
      const x = this.#x(at);
      if (x < -120 || x > this.#width) continue;
      ink.fillRect(x, 0, 1, HEIGHT);
      ink.fillText(name, x + 5, 9);
    }
  }

  /** @param {CanvasRenderingContext2D} ink @param {Play} play */
  #drawNames(ink, { trace }) {
    const colours = this.#colours;
    const names = [
      ...trace.processes.map(({ role }, i) => [role, LANES[i].own]),
      ['kernel', (KERNEL.top + KERNEL.bottom) / 2],
    ];
    for (const [name, y] of /** @type {[string, number][]} */ (names)) {
      const width = this.#widthOf(ink, name) + 10;
      ink.fillStyle = colours['--raised'];
      ink.fillRect(0, y - 9, width, 18);
      ink.fillStyle = colours['--ink'];
      ink.fillText(name, 4, y);
    }
  }

  /** @param {CanvasRenderingContext2D} ink @param {Play} play @param {Bar} bar */
  #drawBar(ink, play, { event: which, from, to, process }) {
    const event = play.trace.events[which];
    const colours = this.#colours;
    const [left, right] = [this.#x(from), this.#x(to)];
    if (right < -200) return;
    const { own, kernel } = LANES[process];
    const width = Math.max(right - left, 3);
    const inKernel = event.kind === 'syscall';
    const y = inKernel ? kernel : own;
    if (inKernel) {
      ink.fillStyle = colours['--ink'];
      const [top, bottom] = own < kernel ? [own, kernel] : [kernel, own];
      ink.fillRect(left, top, 1.5, bottom - top);
      if (event.end !== null) ink.fillRect(right - 1.5, top, 1.5, bottom - top);
    }
    const asleep = inKernel && sleepsIn(play.trace, which);
    ink.fillStyle = asleep ? colours['--sunken'] : inKernel ? colours['--accent'] : colours['--line'];
    ink.strokeStyle = colours['--edge'];
    ink.beginPath();
    ink.roundRect(left, y - LANE / 2, width, LANE, 3);
    ink.fill();
    ink.stroke();
    if (asleep) this.#hatch(ink, left, y - LANE / 2, width);
    const label = `${event.name}${asleep ? '  asleep' : ''}`;
    const above = own < kernel ? -1 : 1;
    const fits = this.#widthOf(ink, label) < width - 8;
    if (!inKernel && !fits && width > 60)
      return this.#label(ink, this.#cut(ink, label, width - 8), left + 4, y + 0.5, width);
    ink.fillStyle = colours['--ink'];
    if (inKernel && !fits) return this.#label(ink, event.name, left + 4, kernel - above * LANE, width + 60);
    if (fits && inKernel && !asleep) ink.fillStyle = this.#onAccent;
    if (fits) ink.fillText(label, left + 4, y + 0.5);
    else this.#label(ink, event.name, left, own + above * LANE, width + 40);
  }

  /** From the call that woke a sleeper to the end of its sleep. @param {CanvasRenderingContext2D} ink @param {Play} play @param {Bar} bar */
  #drawWake(ink, play, { event: which, to, process }) {
    const { wokenBy } = play.trace.events[which];
    const waker = wokenBy === null || wokenBy === undefined ? undefined : this.#bars[wokenBy];
    const end = this.#x(to) - 1;
    if (!waker || waker.process === process || end < -50 || this.#x(waker.from) > this.#width) return;
    const start = Math.min(Math.max(this.#x(waker.from) + 4, 0), end);
    const [above, below] = [LANES[waker.process].kernel, LANES[process].kernel];
    const way = below > above ? 1 : -1;
    ink.strokeStyle = ink.fillStyle = this.#colours['--ink'];
    ink.lineWidth = 1.5;
    ink.beginPath();
    ink.moveTo(start, above + (way * LANE) / 2);
    const tip = below - (way * LANE) / 2;
    ink.lineTo(end - 3, tip - way * 3);
    ink.stroke();
    ink.beginPath();
    ink.moveTo(end, tip);
    ink.lineTo(end - 8, tip - way * 2);
    ink.lineTo(end - 2, tip - way * 9);
    ink.fill();
    ink.lineWidth = 1;
  }

  /** As much of a text as there is room for. @param {CanvasRenderingContext2D} ink @param {string} text @param {number} room */
  #cut(ink, text, room) {
    const share = room / this.#widthOf(ink, text);
    return `${text.slice(0, Math.max(1, Math.floor(text.length * share) - 2)).trimEnd()}…`;
  }

  /** A name beside its bar, where there is room for it. @param {CanvasRenderingContext2D} ink @param {string} text @param {number} x @param {number} y @param {number} room */
  #label(ink, text, x, y, room) {
    if (this.#widthOf(ink, text) > room) return;
    ink.fillStyle = this.#colours['--soft'];
    ink.fillText(text, x, y);
  }

  /** Sleep: thin slanting lines. @param {CanvasRenderingContext2D} ink @param {number} x @param {number} y @param {number} width */
  #hatch(ink, x, y, width) {
    ink.save();
    ink.beginPath();
    ink.rect(x, y, width, LANE);
    ink.clip();
    ink.strokeStyle = this.#colours['--edge'];
    ink.beginPath();
    const begin = Math.max(x, -LANE);
    const end = Math.min(x + width, this.#width + LANE);
    for (let at = begin - (begin % 7) - LANE; at < end; at += 7) {
      ink.moveTo(at, y + LANE);
      ink.lineTo(at + LANE, y);
    }
    ink.globalAlpha = 0.5;
    ink.stroke();
    ink.restore();
  }

  /** @param {MouseEvent} click */
  #pick({ offsetX, offsetY }) {
    const ms = (offsetX - this.#width * PRESENT) / PER_MS + this.#position;
    const process = offsetY < (KERNEL.top + KERNEL.bottom) / 2 ? 0 : 1;
    const hit = this.#bars.find((bar) => bar.process === process && bar.from - 15 <= ms && ms <= bar.to + 15);
    if (hit) this.dispatchEvent(new CustomEvent('pick', { detail: hit.event, bubbles: true }));
  }
}

customElements.define('trace-timeline', TraceTimeline);
