// <trace-stage>: the two processes, the kernel between them, and their objects at one moment. The boxes show the state. A copy is
// animated from where the bytes stay to where they arrive; a message in shared memory is never moved.
import { h, reducedMotion, setText } from '../../shared/dom.js';
import { sleepsIn } from '../model/replay.js';
import { blockOf, ObjectBox, ProcessBox } from './stage-boxes.js';

/**
 * @typedef {import('../model/types.js').Replay} Replay
 * @typedef {import('../model/types.js').ProcessState} ProcessState
 * @typedef {import('../model/types.js').Item} Item
 * @typedef {{token: HTMLElement, from: Element, to: Element}} Flight of a token over the stage
 */

const isMemory = (/** @type {string} */ kind) => kind === 'shm' || kind === 'memfd' || kind === 'semaphore';

export class TraceStage extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  /** @type {ProcessBox[]} */ #processes = [];
  /** @type {ObjectBox[]} */ #objects = [];
  /** @type {{root: HTMLElement, count: HTMLElement, word: HTMLElement, others: HTMLElement}[]} */ #walls = [];
  #sharing = h('span', { class: 'soft' });
  #tokens = h('div', { class: 'tokens', 'aria-hidden': 'true' });
  #kernel = h('div', { role: 'group', class: 'kernel', 'aria-label': 'the kernel' });
  #shared = h('div', { role: 'group', class: 'shared', 'aria-label': 'shared memory' });

  /** @param {Replay} replay */
  load(replay) {
    this.#replay = replay;
    const { trace, snapshots } = replay;
    this.#processes = snapshots[0].processes.map((process) => new ProcessBox(replay, process));
    this.#walls = snapshots[0].processes.map(({ role }) => {
      const count = h('span', { class: 'count' });
      const others = h('span', { class: 'others soft' });
      const word = h('span', { class: 'word', 'aria-hidden': 'true' });
      const name = h('span', { class: 'only-read-aloud' }, `crossings made by the ${role} for messages: `);
      return { root: h('p', { class: 'wall number' }, name, count, word, others), count, word, others };
    });
    // An object that no process opens or maps during the recording would be an empty box.
    const used = new Set(snapshots.flatMap(({ processes }) => processes.flatMap(objectsOf)));
    const objects = trace.objects.filter(({ id }) => used.has(id));
    this.#objects = objects.map((object) => new ObjectBox(object));
    const moving = trace.events.filter(({ phase }) => phase === 'message').flatMap(({ effects }) => effects);
    const carriers = new Set(moving.flatMap(({ object, from, to }) => [object, from, to]));
    for (const { id, root } of this.#objects) root.classList.toggle('aside', !carriers.has(id)); // carries no message
    const boxes = (/** @type {boolean} */ memory) =>
      this.#objects.filter((_, i) => isMemory(objects[i].kind) === memory).map(({ root }) => root);
    this.#kernel.replaceChildren(h('h3', {}, 'kernel'), h('div', { class: 'objects' }, ...boxes(false)));
    this.#shared.replaceChildren(
      h('h3', {}, 'shared memory ', this.#sharing),
      h('div', { class: 'objects' }, ...boxes(true)),
    );
    this.#shared.hidden = boxes(true).length === 0;
    const [writer, reader] = this.#processes;
    this.replaceChildren(
      writer.root,
      this.#walls[0].root,
      this.#kernel,
      this.#walls[1].root,
      reader.root,
      this.#shared,
      this.#tokens,
    );
    this.show(0);
  }

  /**
   * @param {number} count of moments that have passed
   * @param {{pid: number, item: Item} | null} [ahead] a message that a process is about to send
   */
  show(count, ahead = null) {
    const replay = this.#replay;
    if (!replay) return;
    const { trace, moments, snapshots } = replay;
    const snapshot = snapshots[count];
    const present = new Set(snapshot.processes.flatMap(objectsOf));
    const moment = count > 0 ? moments[count - 1] : null;
    const event = moment ? trace.events[moment.event] : null;
    const touched = event?.effects.find(
      (effect) => effect.do === 'store' || effect.do === 'load' || effect.do === 'publish',
    );
    for (const [i, process] of snapshot.processes.entries()) {
      this.#processes[i].show(process, ahead?.pid === process.pid ? ahead.item : null);
      this.#processes[i].root.classList.toggle('touches', touched !== undefined && event?.pid === process.pid);
      const inside = process.doing !== null && trace.events[process.doing].kind === 'syscall';
      const { root, count: number, word, others } = this.#walls[i];
      const rest = process.crossings - process.inMessages;
      setText(number, String(process.inMessages));
      setText(word, process.inMessages === 1 ? 'crossing' : 'crossings');
      setText(others, rest > 0 ? `+${rest} other` : '');
      root.dataset.state = inside ? (sleepsIn(trace, process.doing) ? 'sleeps' : 'inside') : '';
    }
    for (const box of this.#objects) {
      box.show(snapshot.objects[box.id], present.has(box.id));
      box.root.classList.toggle('touched', touched?.object === box.id);
    }
    setText(this.#sharing, sharing(snapshot));
    this.#tokens.replaceChildren();
  }

  /** Animate what the latest moment changed. @param {number} count of moments that have passed @param {number} ms duration */
  animateChange(count, ms) {
    const { trace, moments } = /** @type {Replay} */ (this.#replay);
    if (ms <= 0 || count === 0 || reducedMotion.matches) return;
    const moment = moments[count - 1];
    const event = trace.events[moment.event];
    const process = this.#processes[trace.processes.findIndex(({ pid }) => pid === event.pid)];
    if (!process) return;
    const pill = (/** @type {string} */ kind, /** @type {string} */ text) =>
      h('span', { class: `token ${kind}` }, text);
    /** @type {Flight[]} */
    const flights = [];
    if (event.kind === 'syscall') {
      if (moment.edge === 'leave')
        flights.push({ token: pill('result', event.result), from: this.#kernel, to: process.root });
      else flights.push({ token: pill('call', event.name), from: process.root, to: this.#kernel });
    }
    for (const { do: kind, from, to, bytes = 0 } of moment.edge === 'enter' ? [] : event.effects) {
      const inward = from === 'process';
      const box = this.#objects.find(({ id }) => id === (inward ? to : from));
      if (kind !== 'copy' || !box) continue;
      const token = blockOf({ message: event.message, bytes, state: 'there' });
      token.classList.add('token', 'copied');
      const own = process.payload.querySelector('.item') ?? process.root;
      const last = [...box.items.querySelectorAll('.item')].at(-1) ?? box.root;
      flights.push(inward ? { token, from: own, to: last } : { token, from: box.items, to: own });
    }
    this.#fly(flights, ms);
  }

  /**
   * Move tokens to their destinations. A block that a token stands for appears when the token arrives.
   * @param {Flight[]} flights
   * @param {number} ms
   */
  #fly(flights, ms) {
    const origin = this.getBoundingClientRect();
    const place = (/** @type {Element} */ element) => {
      const box = element.getBoundingClientRect();
      return `translate(${box.left + box.width / 2 - origin.left}px, ${box.top + box.height / 2 - origin.top}px) translate(-50%, -50%)`;
    };
    // All places are read before a token is added, which would cost another layout.
    const placed = flights.map((flight) => ({ ...flight, begin: place(flight.from), end: place(flight.to) }));
    this.#tokens.append(...flights.map(({ token }) => token));
    for (const { token, to, begin, end } of placed) {
      const copied = token.classList.contains('copied');
      const edge = copied ? 1 : 0; // a copy is as solid as what it is a copy of
      const path = [
        { transform: begin, opacity: edge },
        { opacity: 1, offset: 0.2 },
        { opacity: 1, offset: 0.8 },
        { transform: end, opacity: edge, offset: 0.97 },
        { transform: end, opacity: 0 },
      ];
      token.animate(path, { duration: ms, easing: 'ease-in-out', fill: 'both' });
      const later = [{ opacity: 0 }, { opacity: 0, offset: 0.95 }, { opacity: 1 }];
      if (copied && to.matches('.item')) to.animate(later, { duration: ms });
    }
  }
}

/** The objects that a process has open or mapped. @param {ProcessState} process */
const objectsOf = ({ descriptors, maps }) => [...descriptors, ...maps].map(({ object }) => object);

/** Which processes map the shared memory. @param {import('../model/types.js').Snapshot} snapshot */
function sharing({ processes }) {
  const [first, second] = processes.map(({ maps }) => maps.map(({ object }) => object));
  const common = first.filter((object) => second.includes(object)).length;
  const all = new Set([...first, ...second]).size;
  if (all === 0) return 'not mapped';
  if (common === 0) return 'not mapped by both processes';
  return common === all ? 'mapped by both processes' : 'in part mapped by both processes';
}

customElements.define('trace-stage', TraceStage);
