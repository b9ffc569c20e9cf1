// <trace-stage>: the two processes, the kernel between them, and their objects at one moment. The boxes show the state;
// animated tokens only point to what has just changed.
import { h, reducedMotion, setText } from '../../shared/dom.js';
import { counted } from '../../shared/format.js';
import { sleepsIn } from '../model/replay.js';

/**
 * @typedef {import('../model/types.js').Replay} Replay
 * @typedef {import('../model/types.js').ProcessState} ProcessState
 */

const MAX_ITEMS = 8; // drawn in one buffer
const isMemory = (/** @type {string} */ kind) => kind === 'shm' || kind === 'memfd' || kind === 'semaphore';

/** "semaphore /crossings-4711-free" -> "semaphore free": the object's own box has the full name. @param {string} name */
const shortName = (name) => name.replace(/ \/?crossings(-\d+)?-?/, ' ').trim();

/** What a process is doing, in words and as a state for the style sheet. @param {Replay} replay @param {ProcessState} process */
function activity({ trace }, process) {
  if (!process.alive) return process.last === null ? ['not started', 'absent'] : ['exited', 'absent'];
  if (process.doing === null) return ['running in user space', 'runs'];
  const event = trace.events[process.doing];
  if (event.kind === 'step') return [event.name, 'steps'];
  if (sleepsIn(trace, process.doing)) return [`sleeping in ${event.name}()`, 'sleeps'];
  return [`in the kernel: ${event.name}()`, 'crosses'];
}

class ProcessBox {
  doing = h('p', { class: 'doing' });
  list = h('ul', { class: 'descriptors' });
  /** @type {ProcessState | null} */ shown = null;

  /** @param {Replay} replay @param {ProcessState} process */
  constructor(replay, process) {
    this.replay = replay;
    this.root = h(
      'div',
      {
        role: 'group',
        class: 'process',
        'data-role': process.role,
        'aria-label': `the ${process.role}, process ${process.pid}`,
      },
      h('h3', {}, process.role, ' ', h('span', { class: 'soft number' }, String(process.pid))),
      this.doing,
      this.list,
    );
  }

  /** @param {ProcessState} process */
  show(process) {
    const [text, state] = activity(this.replay, process);
    setText(this.doing, text);
    this.root.dataset.state = state;
    if (this.shown?.descriptors !== process.descriptors || this.shown?.maps !== process.maps) this.#list(process);
    this.shown = process;
  }

  /** @param {ProcessState} process */
  #list({ descriptors, maps }) {
    const objects = this.replay.trace.objects;
    const name = (/** @type {string} */ id) => shortName(objects.find((object) => object.id === id)?.name ?? id);
    this.list.replaceChildren(
      ...descriptors.map(({ fd, object, as }) =>
        h('li', {}, h('b', { class: 'number' }, String(fd)), ` ${name(object)}${as ? `, ${as}` : ''}`),
      ),
      ...maps.map(({ object, as }) => h('li', { class: 'map' }, `${name(object)}, mapped${as ? `, ${as}` : ''}`)),
    );
  }
}

class ObjectBox {
  items = h('div', { class: 'items' });
  words = h('p', { class: 'words number' });
  /** @type {import('../model/types.js').ObjectState | null} */ shown = null;

  /** @param {import('../model/types.js').TracedObject} object */
  constructor(object) {
    this.id = object.id;
    this.kind = object.kind;
    this.root = h('div', { role: 'group', class: 'object', 'data-kind': object.kind, 'aria-label': object.name });
    this.root.append(h('h4', {}, object.name), this.items, this.words);
  }

  /** @param {import('../model/types.js').ObjectState} state @param {boolean} present does a process have it open or mapped? */
  show(state, present) {
    this.root.hidden = !present;
    if (this.shown === state) return;
    this.shown = state;
    // A semaphore contains only its value, which is one of the words.
    this.items.hidden = this.kind === 'semaphore' || this.kind === 'listener';
    this.#fill(state.items);
    this.words.replaceChildren(
      ...Object.entries(state.words).map(([word, value]) => h('span', {}, `${word} `, h('b', {}, String(value)))),
    );
  }

  /** @param {import('../model/types.js').Item[]} items */
  #fill(items) {
    const drawn = items.slice(0, MAX_ITEMS).map(({ message, bytes, state }) => {
      const label = message === null ? '' : String(message);
      const title = `${message === null ? '' : `message ${message}, `}${counted(bytes, 'byte')}${STATES[state]}`;
      return h('span', { class: `item ${state}`, title }, label);
    });
    const bytesOf = (/** @type {string} */ which) =>
      items.reduce((sum, { state, bytes }) => sum + (state === which ? bytes : 0), 0);
    const rest = items.length - drawn.length;
    this.items.replaceChildren(
      ...drawn,
      rest > 0 ? `+${rest} ` : '',
      h('span', { class: 'soft number' }, contents(bytesOf('there'), bytesOf('held'))),
    );
  }
}

const STATES = { held: ', not published yet', there: '', read: ', already read' };

/** @param {number} there @param {number} held */
function contents(there, held) {
  const unread = there > 0 ? `${counted(there, 'byte')} to read` : held > 0 ? '' : 'nothing to read';
  return [unread, held > 0 ? `${counted(held, 'byte')} not published yet` : ''].filter(Boolean).join(', ');
}

export class TraceStage extends HTMLElement {
  /** @type {Replay | null} */ #replay = null;
  /** @type {ProcessBox[]} */ #processes = [];
  /** @type {ObjectBox[]} */ #objects = [];
  /** @type {HTMLElement[]} */ #walls = [];
  #sharing = h('span', { class: 'soft' });
  #tokens = h('div', { class: 'tokens', 'aria-hidden': 'true' });
  #kernel = h('div', { role: 'group', class: 'kernel', 'aria-label': 'the kernel' });
  #shared = h('div', { role: 'group', class: 'shared', 'aria-label': 'shared memory' });

  /** @param {Replay} replay */
  load(replay) {
    this.#replay = replay;
    const { trace, snapshots } = replay;
    this.#processes = snapshots[0].processes.map((process) => new ProcessBox(replay, process));
    this.#walls = snapshots[0].processes.map(({ role }) =>
      h(
        'p',
        { class: 'wall number' },
        h('span', { class: 'only-read-aloud' }, `crossings made by the ${role}: `),
        h('span'),
      ),
    );
    // An object that no process opens or maps during the recording would be an empty box.
    const used = new Set(snapshots.flatMap(({ processes }) => processes.flatMap(objectsOf)));
    const objects = trace.objects.filter(({ id }) => used.has(id));
    this.#objects = objects.map((object) => new ObjectBox(object));
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
      this.#walls[0],
      this.#kernel,
      this.#walls[1],
      reader.root,
      this.#shared,
      this.#tokens,
    );
    this.show(0);
  }

  /** @param {number} count of moments that have passed */
  show(count) {
    const replay = this.#replay;
    if (!replay) return;
    const snapshot = replay.snapshots[count];
    const present = new Set(snapshot.processes.flatMap(objectsOf));
    for (const [i, process] of snapshot.processes.entries()) {
      this.#processes[i].show(process);
      const inside = process.doing !== null && replay.trace.events[process.doing].kind === 'syscall';
      setText(/** @type {Element} */ (this.#walls[i].lastChild), String(process.crossings));
      this.#walls[i].dataset.state = inside ? (sleepsIn(replay.trace, process.doing) ? 'sleeps' : 'inside') : '';
    }
    for (const box of this.#objects) box.show(snapshot.objects[box.id], present.has(box.id));
    setText(this.#sharing, sharing(snapshot));
    this.#tokens.replaceChildren();
  }

  /** Animate what the latest moment changed. @param {number} count of moments that have passed @param {number} ms duration */
  animateChange(count, ms) {
    const { trace, moments } = /** @type {Replay} */ (this.#replay);
    if (ms <= 0 || count === 0 || reducedMotion.matches) return;
    const moment = moments[count - 1];
    const event = trace.events[moment.event];
    const index = trace.processes.findIndex(({ pid }) => pid === event.pid);
    const process = this.#processes[index]?.root;
    if (!process) return;
    if (event.kind === 'syscall') {
      if (moment.edge === 'leave') this.#fly(event.result, this.#kernel, process, ms, 'result');
      else this.#fly(event.name, process, this.#kernel, ms, 'call');
    }
    if (moment.edge === 'enter') return;
    for (const { do: kind, from, to, object } of event.effects) {
      const box = (/** @type {string | undefined} */ id) =>
        this.#objects.find((candidate) => candidate.id === id)?.root;
      const label = event.message === null ? '' : String(event.message);
      if (kind === 'copy') {
        const [start, end] = from === 'process' ? [process, box(to)] : [box(from), process];
        if (start && end) this.#fly(label, start, end, ms, 'payload');
      } else if (kind === 'store' || kind === 'load') {
        const memory = box(object);
        if (memory && kind === 'store') this.#fly(label, process, memory, ms, 'payload');
        else if (memory) this.#fly(label, memory, process, ms, 'payload');
      }
    }
  }

  /** @param {string} text @param {Element} from @param {Element} to @param {number} ms @param {string} kind */
  #fly(text, from, to, ms, kind) {
    const token = h('span', { class: `token ${kind}` }, text);
    this.#tokens.append(token);
    const origin = this.getBoundingClientRect();
    const place = (/** @type {Element} */ element) => {
      const box = element.getBoundingClientRect();
      return `translate(${box.left + box.width / 2 - origin.left}px, ${box.top + box.height / 2 - origin.top}px) translate(-50%, -50%)`;
    };
    const path = [
      { transform: place(from), opacity: 0 },
      { opacity: 1, offset: 0.2 },
      { opacity: 1, offset: 0.8 },
      { transform: place(to), opacity: 0 },
    ];
    token.animate(path, { duration: ms, easing: 'ease-in-out', fill: 'both' });
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
  if (common === 0) return 'not mapped by both processes yet';
  return common === all ? 'the same memory in both processes' : 'in part the same memory in both processes';
}

customElements.define('trace-stage', TraceStage);
