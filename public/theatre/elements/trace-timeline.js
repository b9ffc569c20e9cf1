// <trace-timeline>: lanes for process, kernel and process along the time scale, with the present in the middle. A canvas that
// draws only what is visible, because thousands of events must scroll smoothly. The log shows the same events as text.
import { areaColor, color, onColorsChange, textOn } from '../../shared/colors.js';
import { h } from '../../shared/dom.js';
import { sleepsIn } from '../model/replay.js';
import { countUpTo } from '../model/time-scale.js';

/** @typedef {import('../model/types.js').Replay} Replay */

const HEIGHT = 184; // CSS pixels
const PER_MS = 0.135; // pixels per millisecond of display time
const PRESENT = 0.5; // position of the present, as a share of the width
const LANE = 16; // height of a bar
const LANES = [
  { own: 34, kernel: 76 }, // user space and kernel lane of the first process
  { own: 150, kernel: 108 },
];
const KERNEL = { top: 68, bottom: 132 };

/** @typedef {{event: number, from: number, to: number, process: number}} Bar in milliseconds of display time */

export class TraceTimeline extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  /** @type {Bar[]} */ #bars = []; // those drawn
  /** @type {Bar[]} */ #barOf = []; // of each event
  /** @type {{process: number, from: number, to: number}[]} */ #userSpace = []; // while it runs in user space
  /** @type {number[]} */ #begins = []; // of the bars, ascending
  /** @type {{at: number, name: string}[]} */ #parts = [];
  #longest = 0;
  /** @type {Map<string, number>} */ #widths = new Map(); // of texts, pixels
  #font = '';
  #accent = '';
  #onAccent = ''; // the color of text on the accent
  #position = 0;
  #width = 0;
  #hideFuture = false;
  #canvas = h('canvas', { role: 'img' });
  #ink = this.#canvas.getContext('2d');

  #unsubscribe = () => {};

  connectedCallback() {
    this.replaceChildren(this.#canvas);
    new ResizeObserver(() => this.#resize()).observe(this);
    this.#unsubscribe = onColorsChange(() => this.#restyle());
    this.#canvas.addEventListener('click', (click) => this.#pick(click));
  }

  disconnectedCallback() {
    this.#unsubscribe();
  }

  /**
   * @param {Replay} replay
   * @param {number[]} times when each moment is displayed, milliseconds
   * @param {boolean} folded is the setup left out?
   */
  load(replay, times, folded) {
    this.#replay = replay;
    const { trace, entered, left } = replay;
    this.#barOf = trace.events.map(({ pid }, event) => {
      const from = times[entered[event]];
      const to = left[event] >= 0 ? times[left[event]] : from;
      return { event, from, to, process: trace.processes.findIndex((process) => process.pid === pid) };
    });
    this.#bars = this.#barOf.filter(({ event }) => !folded || trace.events[event].phase !== 'setup');
    this.#userSpace = this.#userSpaceBars(trace);
    this.#begins = this.#bars.map(({ from }) => from);
    this.#longest = Math.max(0, ...this.#bars.map(({ from, to }) => to - from));
    this.#parts = replay.moments.flatMap(({ part }, i) => {
      if (i > 0 && replay.moments[i - 1].part === part) return [];
      return [{ at: i === 0 ? 0 : times[i] - 20, name: replay.parts[part].name }];
    });
    this.#canvas.setAttribute(
      'aria-label',
      `Timeline of writer, kernel and reader, ${trace.events.length} events. The log lists the same events.`,
    );
    this.#restyle();
  }

  /** The intervals between the calls of each process. @param {import('../model/types.js').Trace} trace */
  #userSpaceBars({ events, processes }) {
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

  #restyle() {
    this.#font = `12px ${getComputedStyle(this).fontFamily}`;
    this.#widths.clear();
    this.#accent = areaColor(this.#replay?.trace.mechanism ?? '');
    this.#onAccent = textOn(this.#accent);
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
    const replay = this.#replay;
    if (!ink || !replay || this.#width === 0) return;
    ink.clearRect(0, 0, this.#width, HEIGHT);
    ink.font = this.#font;
    ink.textBaseline = 'middle';
    ink.fillStyle = color('sunken');
    ink.fillRect(0, KERNEL.top, this.#width, KERNEL.bottom - KERNEL.top);
    this.#drawParts(ink);

    const reach = this.#width / PER_MS;
    ink.fillStyle = color('ink');
    for (const { process, from, to } of this.#userSpace) {
      const [left, right] = [Math.max(this.#x(from), -5), Math.min(this.#x(to), this.#width + 5)];
      if (right > left) ink.fillRect(left, LANES[process].own - 1, right - left, 2);
    }
    const [from, to] = [this.#position - reach - this.#longest, this.#position + reach];
    const visible = this.#bars.slice(countUpTo(this.#begins, from), countUpTo(this.#begins, to));
    for (const bar of visible) this.#drawBar(ink, replay, bar);
    for (const bar of visible) this.#drawWake(ink, replay, bar);
    const now = this.#x(this.#position);
    // The future is faded; during the quiz it is hidden.
    ink.globalAlpha = this.#hideFuture ? 1 : 0.6;
    ink.fillStyle = color('raised');
    ink.fillRect(now + 1, 0, this.#width, HEIGHT);
    ink.globalAlpha = 1;
    ink.fillStyle = color('focus');
    ink.fillRect(now - 1, 0, 2, HEIGHT);
    this.#drawNames(ink, replay);
  }

  /** The start of setup, each message and teardown. @param {CanvasRenderingContext2D} ink */
  #drawParts(ink) {
    ink.fillStyle = color('soft');
    for (const { at, name } of this.#parts) {
      const x = this.#x(at);
      if (x < -120 || x > this.#width) continue;
      ink.fillRect(x, 0, 1, HEIGHT);
      ink.fillText(name, x + 5, 9);
    }
  }

  /** @param {CanvasRenderingContext2D} ink @param {Replay} replay */
  #drawNames(ink, { trace }) {
    const names = [
      ...trace.processes.map(({ role }, i) => [role, LANES[i].own]),
      ['kernel', (KERNEL.top + KERNEL.bottom) / 2],
    ];
    for (const [name, y] of /** @type {[string, number][]} */ (names)) {
      const width = this.#widthOf(ink, name) + 10;
      ink.fillStyle = color('raised');
      ink.fillRect(0, y - 9, width, 18);
      ink.fillStyle = color('ink');
      ink.fillText(name, 4, y);
    }
  }

  /** @param {CanvasRenderingContext2D} ink @param {Replay} replay @param {Bar} bar */
  #drawBar(ink, replay, { event: which, from, to, process }) {
    const event = replay.trace.events[which];
    const [left, right] = [this.#x(from), this.#x(to)];
    if (right < -200) return;
    const { own, kernel } = LANES[process];
    const width = Math.max(right - left, 3);
    const inKernel = event.kind === 'syscall';
    const y = inKernel ? kernel : own;
    if (inKernel) {
      ink.fillStyle = color('ink');
      const [top, bottom] = own < kernel ? [own, kernel] : [kernel, own];
      ink.fillRect(left, top, 1.5, bottom - top);
      if (event.end !== null) ink.fillRect(right - 1.5, top, 1.5, bottom - top);
    }
    const sleeping = inKernel && sleepsIn(replay.trace, which);
    ink.fillStyle = sleeping || !inKernel ? color('sunken') : this.#accent;
    ink.strokeStyle = color('edge');
    ink.beginPath();
    ink.roundRect(left, y - LANE / 2, width, LANE, 3);
    ink.fill();
    ink.stroke();
    if (sleeping) this.#hatch(ink, left, y - LANE / 2, width);
    const label = `${event.name}${sleeping ? '  sleeping' : ''}`;
    const above = own < kernel ? -1 : 1;
    const fits = this.#widthOf(ink, label) < width - 8;
    if (!inKernel && !fits && width > 60)
      return this.#label(ink, this.#cut(ink, label, width - 8), left + 4, y + 0.5, width);
    ink.fillStyle = color('ink');
    if (inKernel && !fits) return this.#label(ink, event.name, left + 4, kernel - above * LANE, width + 60);
    if (fits && inKernel && !sleeping) ink.fillStyle = this.#onAccent;
    if (fits) ink.fillText(label, left + 4, y + 0.5);
    else this.#label(ink, event.name, left, own + above * LANE, width + 40);
  }

  /** An arrow from the call that woke a sleeping process to the end of the sleep. @param {CanvasRenderingContext2D} ink @param {Replay} replay @param {Bar} bar */
  #drawWake(ink, replay, { event: which, to, process }) {
    const { wokenBy } = replay.trace.events[which];
    const waker = wokenBy === null || wokenBy === undefined ? undefined : this.#barOf[wokenBy];
    const end = this.#x(to) - 1;
    if (!waker || waker.process === process || end < -50 || this.#x(waker.from) > this.#width) return;
    const start = Math.min(Math.max(this.#x(waker.from) + 4, 0), end);
    const [above, below] = [LANES[waker.process].kernel, LANES[process].kernel];
    const direction = below > above ? 1 : -1;
    ink.strokeStyle = ink.fillStyle = color('ink');
    ink.lineWidth = 1.5;
    ink.beginPath();
    ink.moveTo(start, above + (direction * LANE) / 2);
    const tip = below - (direction * LANE) / 2;
    ink.lineTo(end - 3, tip - direction * 3);
    ink.stroke();
    ink.beginPath();
    ink.moveTo(end, tip);
    ink.lineTo(end - 8, tip - direction * 2);
    ink.lineTo(end - 2, tip - direction * 9);
    ink.fill();
    ink.lineWidth = 1;
  }

  /** As much of a text as fits. @param {CanvasRenderingContext2D} ink @param {string} text @param {number} room */
  #cut(ink, text, room) {
    const share = room / this.#widthOf(ink, text);
    return `${text.slice(0, Math.max(1, Math.floor(text.length * share) - 2)).trimEnd()}…`;
  }

  /** A name beside its bar, if it fits. @param {CanvasRenderingContext2D} ink @param {string} text @param {number} x @param {number} y @param {number} room */
  #label(ink, text, x, y, room) {
    if (this.#widthOf(ink, text) > room) return;
    ink.fillStyle = color('soft');
    ink.fillText(text, x, y);
  }

  /** Hatching marks sleep. @param {CanvasRenderingContext2D} ink @param {number} x @param {number} y @param {number} width */
  #hatch(ink, x, y, width) {
    ink.save();
    ink.beginPath();
    ink.rect(x, y, width, LANE);
    ink.clip();
    ink.strokeStyle = color('edge');
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
