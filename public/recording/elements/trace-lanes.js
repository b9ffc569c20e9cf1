// <trace-lanes>: one lane for each thread along the time, on a canvas that draws only what is visible. Set `recording`, then
// call select(); the element dispatches "pick" (detail: an event) when the user selects one. The log shows the same as text.
import { onColorsChange } from '../../shared/colors.js';
import { h, setText } from '../../shared/dom.js';
import { duration } from '../../shared/format.js';
import { nearestEvent } from '../model/lanes.js';
import { drawLanes, looksFor } from './lanes-drawing.js';
import { View } from './view.js';

/** @typedef {import('../model/types.js').Recording} Recording */

const AXIS = 26; // pixels
const MOST_HEIGHT = 586;
const NARROW = 640;
const ZOOM = 1.6; // of a key or a button
const CLICK = 5; // pixels: a pointer that moves less than this selects
const HELP =
  'Left and right arrow: previous and next event of the thread. Up and down: the nearest event of another thread. Plus and minus: zoom. Page Up and Page Down: move in time. 0: show all.';

let instances = 0;

export class TraceLanes extends HTMLElement {
  /** @type {Recording | null} */ #recording = null;
  /** @type {Int32Array | null} the events to mark; null: no filter */ #marked = null;
  #selected = -1;
  #view = new View();
  #width = 0;
  #height = 0;
  #scale = 1; // pixels of the canvas per pixel of the page
  #frame = 0;
  /** @type {ReturnType<typeof looksFor> | null} */ #looks = null;
  /** @type {Map<number, {x: number, y: number}>} */ #pointers = new Map();
  #moved = 0;
  #canvas = h('canvas', { 'aria-hidden': 'true' });
  #space = h('div', { class: 'lanes-space' });
  #range = h('span', { class: 'lanes-range soft number' });
  #scroll = h('div', { class: 'lanes-scroll', role: 'application', tabindex: 0, 'aria-label': 'Timeline' });
  #ink = this.#canvas.getContext('2d', { alpha: false });
  #resizes = new ResizeObserver(() => this.#resize());
  /** @type {MediaQueryList | null} fulfilled until the page is zoomed, or its window moved to another screen */ #sameScale =
    null;
  #rescale = () => {
    this.#watchScale();
    this.#redraw();
  };
  #unsubscribe = () => {};

  constructor() {
    super();
    this.#listen(); // once, although the element may be moved to another place in the page
  }

  connectedCallback() {
    const helpId = `lanes-help-${++instances}`;
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ action) =>
      h('button', { type: 'button', 'aria-label': label, title: label, onclick: action }, text);
    const tools = h(
      'div',
      { class: 'lanes-tools' },
      button('◂', 'Earlier', () => this.#change((view) => view.pan(-view.length / 2))),
      button('▸', 'Later', () => this.#change((view) => view.pan(view.length / 2))),
      button('−', 'Zoom out', () => this.#zoom(ZOOM)),
      button('+', 'Zoom in', () => this.#zoom(1 / ZOOM)),
      button('All', 'Show the whole recording', () => this.#change((view) => view.showAll())),
      button('Activity', 'Show from the first event to the last', () => this.#showActivity()),
      this.#range,
      legend(),
    );
    this.#scroll.setAttribute('aria-describedby', helpId);
    this.#scroll.replaceChildren(this.#canvas, this.#space);
    const help = h('span', { id: helpId, class: 'only-read-aloud' }, HELP);
    this.replaceChildren(tools, this.#scroll, help);
    this.#resizes.observe(this.#scroll);
    this.#watchScale();
    this.#unsubscribe = onColorsChange(() => {
      this.#looks = null;
      this.#redraw();
    });
  }

  disconnectedCallback() {
    this.#unsubscribe();
    this.#resizes.disconnect();
    this.#sameScale?.removeEventListener('change', this.#rescale);
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  #watchScale() {
    this.#sameScale?.removeEventListener('change', this.#rescale);
    this.#sameScale = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    this.#sameScale.addEventListener('change', this.#rescale);
  }

  get recording() {
    return this.#recording;
  }

  set recording(recording) {
    this.#recording = recording;
    this.#selected = -1;
    this.#marked = null;
    this.#view.reset(recording?.durationNs ?? 1);
    this.#scroll.scrollTop = 0;
    if (recording) this.#scroll.setAttribute('aria-label', `Timeline of ${recording.lanes.length} threads`);
    this.#resize();
  }

  /** Marks the events that match a filter. @param {Int32Array | null} events ascending; null: no filter */
  mark(events) {
    this.#marked = events;
    this.#redraw();
  }

  /** Selects an event and makes it visible. @param {number} event -1: none */
  select(event) {
    this.#selected = event;
    const recording = this.#recording;
    if (recording && event >= 0) {
      this.#view.reveal(recording.t[event]);
      this.#revealLane(recording.lane[event]);
    }
    this.#redraw();
  }

  /** Shows an interval. @param {number} from nanoseconds @param {number} to */
  showInterval(from, to) {
    this.#change((view) => view.show(from, to));
  }

  get #narrow() {
    return this.#width < NARROW;
  }

  get #rowHeight() {
    return this.#narrow ? 46 : 34;
  }

  get #left() {
    return this.#narrow ? 8 : 190;
  }

  get #right() {
    return this.#width - 8;
  }

  /** @param {number} x pixels from the canvas's left edge */
  #timeAt(x) {
    const { from, length } = this.#view;
    return from + ((x - this.#left) / (this.#right - this.#left)) * length;
  }

  /** @param {number} lane */
  #revealLane(lane) {
    const top = lane * this.#rowHeight;
    const visible = this.#height - AXIS;
    const { scrollTop } = this.#scroll;
    if (top < scrollTop) this.#scroll.scrollTop = top;
    else if (top + this.#rowHeight > scrollTop + visible) this.#scroll.scrollTop = top + this.#rowHeight - visible;
  }

  /** @param {(view: View) => void} change */
  #change(change) {
    change(this.#view);
    this.#redraw();
  }

  /** From the first event to the beginning of the last: a program that hangs does nothing most of the time. */
  #showActivity() {
    const t = this.#recording?.t ?? [0];
    const last = t[t.length - 1];
    this.#change((view) => view.show(t[0] - last * 0.02, last * 1.1));
  }

  /** Zooms around the selected event if it is visible, else around the middle. @param {number} factor */
  #zoom(factor) {
    const { from, to } = this.#view;
    const at = this.#recording?.t[this.#selected] ?? -1;
    this.#change((view) => view.zoom(factor, at >= from && at <= to ? at : (from + to) / 2));
  }

  #resize() {
    const lanes = this.#recording?.lanes.length ?? 0;
    this.#width = this.#scroll.clientWidth;
    const content = AXIS + lanes * this.#rowHeight + 6;
    this.#height = Math.min(content, MOST_HEIGHT);
    if (this.#width === 0) return;
    this.#scale = devicePixelRatio;
    const [width, height] = [this.#width, this.#height].map((length) => Math.round(length * this.#scale));
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
      this.#canvas.style.height = `${this.#height}px`;
    }
    this.#scroll.style.height = `${this.#height + 2}px`;
    this.#space.style.height = `${content - this.#height}px`;
    this.#redraw();
  }

  /** Draws once before the next frame, however often it is called. */
  #redraw() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    const recording = this.#recording;
    const ink = this.#ink;
    if (!recording || !ink) return;
    if (this.#scale !== devicePixelRatio) this.#resize();
    if (this.#width === 0) return; // it is hidden
    this.#looks ??= looksFor(this);
    ink.setTransform(this.#scale, 0, 0, this.#scale, 0, 0);
    const { from, to } = this.#view;
    drawLanes(ink, this.#looks, {
      recording,
      marked: this.#marked,
      selected: this.#selected,
      ...{ from, to, axis: AXIS, width: this.#width, height: this.#height },
      ...{ left: this.#left, right: this.#right, rowHeight: this.#rowHeight, narrow: this.#narrow },
      scrollTop: this.#scroll.scrollTop,
    });
    const shown = this.#view.complete
      ? 'all'
      : `${duration(this.#view.length)}, ${zoomText(recording.durationNs / this.#view.length)}`;
    setText(this.#range, `Showing ${shown}`);
  }

  #listen() {
    const area = this.#scroll;
    area.addEventListener('scroll', () => this.#redraw(), { passive: true });
    area.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    area.addEventListener('keydown', (event) => this.#key(event));
    area.addEventListener('dblclick', ({ offsetX, target }) => {
      if (target === this.#canvas) this.#change((view) => view.zoom(1 / ZOOM ** 2, this.#timeAt(offsetX)));
    });
    this.#canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      if (this.#pointers.size === 0) this.#moved = 0;
      this.#pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      this.#canvas.setPointerCapture(event.pointerId);
    });
    this.#canvas.addEventListener('pointermove', (event) => this.#drag(event));
    for (const type of /** @type {const} */ (['pointerup', 'pointercancel'])) {
      this.#canvas.addEventListener(type, (event) => {
        if (!this.#pointers.delete(event.pointerId)) return;
        if (type === 'pointerup' && this.#moved < CLICK && this.#pointers.size === 0) this.#click(event);
      });
    }
  }

  /** One pointer pans, two zoom. @param {PointerEvent} event */
  #drag({ pointerId, offsetX, offsetY }) {
    const before = this.#pointers.get(pointerId);
    if (!before) return;
    const [other] = [...this.#pointers].filter(([id]) => id !== pointerId).map(([, at]) => at);
    this.#moved += Math.abs(offsetX - before.x) + Math.abs(offsetY - before.y);
    this.#pointers.set(pointerId, { x: offsetX, y: offsetY });
    if (this.#moved < CLICK) return;
    const perPixel = this.#view.length / (this.#right - this.#left);
    if (!other) return this.#change((view) => view.pan((before.x - offsetX) * perPixel));
    const [apart, now] = [Math.abs(before.x - other.x), Math.abs(offsetX - other.x)];
    const middle = this.#timeAt((offsetX + other.x) / 2);
    this.#change((view) => view.zoom(Math.max(apart, 10) / Math.max(now, 10), middle));
  }

  /** Control and wheel, or pinching on a touchpad, zooms; a horizontal wheel pans; a vertical one scrolls the lanes. @param {WheelEvent} event */
  #wheel(event) {
    const { deltaX, deltaY, ctrlKey, metaKey, shiftKey, offsetX } = event;
    if (ctrlKey || metaKey) {
      event.preventDefault();
      const around = this.#timeAt(offsetX);
      return this.#change((view) => view.zoom(Math.exp(Math.max(-60, Math.min(60, deltaY)) * 0.01), around));
    }
    const sideways = shiftKey ? deltaX || deltaY : Math.abs(deltaX) > Math.abs(deltaY) ? deltaX : 0;
    if (sideways === 0) return;
    event.preventDefault();
    this.#change((view) => view.pan((sideways * view.length) / (this.#right - this.#left)));
  }

  /** @param {PointerEvent} event */
  #click({ offsetX, offsetY }) {
    const recording = this.#recording;
    if (!recording || offsetY < AXIS) return;
    const lane = recording.lanes[Math.floor((offsetY - AXIS + this.#scroll.scrollTop) / this.#rowHeight)];
    if (!lane || offsetX < this.#left) return;
    const event = nearestEvent(recording.t, lane, this.#timeAt(offsetX));
    // A call is hit anywhere between its beginning and its end.
    const before = lane.events[positionAt(recording, lane, this.#timeAt(offsetX)) - 1];
    const inside = before !== undefined && !(recording.end[before] < this.#timeAt(offsetX));
    this.#pick(inside ? before : event);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { key, ctrlKey, altKey, metaKey } = event;
    if (ctrlKey || altKey || metaKey || !this.#recording) return;
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowLeft: () => this.#step(-1),
      ArrowRight: () => this.#step(1),
      ArrowUp: () => this.#stepLane(-1),
      ArrowDown: () => this.#stepLane(1),
      Home: () => this.#step(-Infinity),
      End: () => this.#step(Infinity),
      PageUp: () => this.#change((view) => view.pan(-view.length / 2)),
      PageDown: () => this.#change((view) => view.pan(view.length / 2)),
      '+': () => this.#zoom(1 / ZOOM),
      '=': () => this.#zoom(1 / ZOOM),
      '-': () => this.#zoom(ZOOM),
      0: () => this.#change((view) => view.showAll()),
    };
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    actions[key]();
  }

  /** To another event of the same thread. @param {number} by */
  #step(by) {
    const { lanes, lane } = /** @type {Recording} */ (this.#recording);
    const { events } = lanes[lane[this.#selected] ?? 0];
    const position = this.#selected < 0 ? -1 : events.indexOf(this.#selected);
    this.#pick(events[Math.max(0, Math.min(position + by, events.length - 1))] ?? -1);
  }

  /** To the nearest event of the next thread that has any. @param {number} by */
  #stepLane(by) {
    const { lanes, lane, t } = /** @type {Recording} */ (this.#recording);
    let next = (lane[this.#selected] ?? -1) + by;
    while (lanes[next] && lanes[next].events.length === 0) next += by;
    if (lanes[next]) this.#pick(nearestEvent(t, lanes[next], t[this.#selected] ?? 0));
  }

  /** @param {number} event */
  #pick(event) {
    if (event >= 0) this.dispatchEvent(new CustomEvent('pick', { detail: event, bubbles: true }));
  }
}

/** How many events of a lane began by a time. @param {Recording} recording @param {import('../model/types.js').Lane} lane @param {number} at */
function positionAt({ t }, { events }, at) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[events[middle]] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {number} factor */
const zoomText = (factor) => `${factor < 10 ? factor.toFixed(1) : Math.round(factor).toLocaleString('en-US')} ×`;

function legend() {
  const item = (/** @type {string} */ kind, /** @type {string} */ text) =>
    h('span', { class: 'lanes-key' }, h('span', { class: `lanes-swatch ${kind}`, 'aria-hidden': 'true' }), text);
  return h(
    'span',
    { class: 'lanes-legend soft' },
    item('call', 'in a system call'),
    item('asleep', 'asleep in a call'),
    item('user', 'in user space'),
    item('failed', 'failed'),
    item('step', 'step or signal'),
  );
}

customElements.define('trace-lanes', TraceLanes);
