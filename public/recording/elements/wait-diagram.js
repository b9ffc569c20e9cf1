// <wait-diagram>: who sleeps in which call on which object, held by whom, as a drawing and as sentences.
import { h } from '../../shared/dom.js';
import { fitted, processName } from '../model/text.js';
import { waitGraph } from '../model/waits.js';

/**
 * @typedef {import('../model/types.js').Recording} Recording
 * @typedef {import('../model/waits.js').WaitNode} WaitNode
 */

const SVG = 'http://www.w3.org/2000/svg';
const BOX = { width: 138, height: 46 };
const ROW = 104;
const GAP = { narrow: 62, wide: 190 };
const MARGIN = 6;
const MOST_SENTENCES = 20;

/** @param {string} tag @param {Record<string, string | number>} attributes @param {...(Node | string)} children */
function s(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export class WaitDiagram extends HTMLElement {
  /** @type {Recording | null} */ #recording = null;
  #picture = h('div', { class: 'waits-picture' });
  #gap = 0;
  #resizes = new ResizeObserver(() => this.#draw());

  connectedCallback() {
    this.#resizes.observe(this);
  }

  disconnectedCallback() {
    this.#resizes.disconnect();
  }

  set recording(/** @type {Recording | null} */ recording) {
    this.#recording = recording;
    this.#gap = 0;
    const waits = recording?.stuck?.waits ?? [];
    const sentences = waits.slice(0, MOST_SENTENCES).map((wait) => {
      const onclick = () => this.dispatchEvent(new CustomEvent('pick', { detail: wait.event, bubbles: true }));
      const text = waitText(/** @type {Recording} */ (recording), wait);
      return h('li', {}, wait.event < 0 ? text : h('button', { type: 'button', class: 'link', onclick }, text));
    });
    if (waits.length > MOST_SENTENCES)
      sentences.push(h('li', { class: 'soft' }, `${waits.length - MOST_SENTENCES} more.`));
    this.replaceChildren(this.#picture, h('ul', { class: 'waits' }, ...sentences));
    this.#draw();
  }

  #draw() {
    const recording = this.#recording;
    const gap = this.clientWidth > 560 ? GAP.wide : GAP.narrow;
    if (!recording || this.clientWidth === 0 || gap === this.#gap) return;
    this.#gap = gap;
    const { nodes, edges, left } = waitGraph(recording);
    if (nodes.length === 0) return this.#picture.replaceChildren();
    const rows = Math.max(...nodes.map(({ row }) => row)) + 1;
    const width = 2 * (BOX.width + MARGIN) + gap;
    const height = (rows - 1) * ROW + BOX.height + 2 * MARGIN + 4;
    const byKey = new Map(nodes.map((node) => [node.key, node]));
    const center = (/** @type {WaitNode} */ { column, row }) => ({
      x: MARGIN + BOX.width / 2 + column * (BOX.width + gap),
      y: MARGIN + BOX.height / 2 + row * ROW,
    });
    const picture = s('svg', {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': 'Diagram of which process waits for which. The list below contains the same information.',
    });
    for (const { from, to, text } of edges) {
      const [a, b] = [byKey.get(from), byKey.get(to)];
      if (a && b) picture.append(...arrow(center(a), center(b), text, a.kind === 'process'));
    }
    for (const node of nodes) picture.append(box(recording, node, center(node)));
    this.#picture.replaceChildren(
      picture,
      ...(left > 0 ? [h('p', { class: 'soft' }, `${left} more waits are not drawn.`)] : []),
    );
  }
}

/** @param {Recording} recording @param {WaitNode} node @param {{x: number, y: number}} at */
function box(recording, { kind, pid, object }, { x, y }) {
  const process = kind === 'process';
  const [first, second] = process
    ? [processName(recording, pid), 'process']
    : [recording.objects[object].name, recording.objects[object].kind];
  return s(
    'g',
    { class: `waits-${kind}` },
    s('rect', {
      x: x - BOX.width / 2,
      y: y - BOX.height / 2,
      width: BOX.width,
      height: BOX.height,
      rx: process ? 4 : BOX.height / 2,
    }),
    s('text', { x, y: y - 4, class: 'waits-name' }, fitted(first, 18)),
    s('text', { x, y: y + 13, class: 'waits-kind' }, fitted(second, 20)),
  );
}

/** Where the line from a box's center to another point leaves the box. @param {{x: number, y: number}} center @param {{x: number, y: number}} toward @param {number} room */
function border(center, toward, room) {
  const [dx, dy] = [toward.x - center.x, toward.y - center.y];
  const scale = Math.min(
    (BOX.width / 2 + room) / Math.max(Math.abs(dx), 1e-6),
    (BOX.height / 2 + room) / Math.max(Math.abs(dy), 1e-6),
  );
  return { x: center.x + dx * Math.min(scale, 1), y: center.y + dy * Math.min(scale, 1) };
}

/** @param {{x: number, y: number}} a @param {{x: number, y: number}} b @param {string} text @param {boolean} waits */
function arrow(a, b, text, waits) {
  const from = border(a, b, 0);
  const to = border(b, a, 3);
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const tip = (/** @type {number} */ turn, /** @type {number} */ length) =>
    `${to.x - length * Math.cos(angle + turn)},${to.y - length * Math.sin(angle + turn)}`;
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const level = Math.abs(to.y - from.y) < 2;
  return [
    s('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: waits ? 'waits-for' : 'held-by' }),
    s('polygon', { points: `${to.x},${to.y} ${tip(0.4, 11)} ${tip(-0.4, 11)}`, class: 'waits-tip' }),
    s('text', { x: middle.x, y: level ? middle.y - 9 : middle.y + 4, class: 'waits-text' }, fitted(text, 14)),
  ];
}

/** @param {Recording} recording @param {import('../model/types.js').Wait} wait */
export function waitText(recording, { pid, tid, call, object, fd, heldBy }) {
  const thread = tid === pid ? '' : `, thread ${tid},`;
  const number = fd === null ? '' : ` (fd ${fd})`;
  const on = recording.objects[object] ? ` on ${fitted(recording.objects[object].name, 80)}${number}` : '';
  const holders = heldBy.slice(0, 6).map((holder) => {
    const who = holder.pid === pid ? 'itself' : processName(recording, holder.pid);
    if (holder.tid !== null) return `thread ${holder.tid}`;
    return holder.fd === null || holder.fd < 0 ? who : `${who} (fd ${holder.fd})`;
  });
  const held =
    holders.length > 0
      ? `, ${heldBy.some((holder) => holder.tid !== null) || !recording.objects[object] ? 'waiting for' : 'held by'} ${holders.join(', ')}`
      : '';
  return `${processName(recording, pid)}${thread} sleeps in ${call}()${on}${held}.`;
}

customElements.define('wait-diagram', WaitDiagram);
