// <trace-stage>: the two processes, the kernel between them, and what lies in each, as the recording says at one moment.
// What glides is only a pointer to what has just changed; the boxes alone tell the state.
import { h, say, stillness } from './dom.js';
import { sleepsIn } from './model.js';
import { counted } from './words.js';

/**
 * @typedef {import('./types.js').Play} Play
 * @typedef {import('./types.js').ProcessState} ProcessState
 */

const MOST_ITEMS = 8; // of a buffer drawn one by one
const isMemory = (/** @type {string} */ kind) => kind === 'shm' || kind === 'memfd' || kind === 'semaphore';

/** "semaphore /crossings-4711-free" -> "semaphore free": the object itself shows its whole name. @param {string} name */
const shortName = (name) => name.replace(/ \/?crossings(-\d+)?-?/, ' ').trim();

/** What a process is doing, in words and as a mark for the style sheet. @param {Play} play @param {ProcessState} process */
function activity({ trace }, process) {
  if (!process.alive) return process.last === null ? ['has not begun', 'absent'] : ['has ended', 'absent'];
  if (process.doing === null) return ['runs its own code', 'runs'];
  const event = trace.events[process.doing];
  if (event.kind === 'step') return [event.name, 'steps'];
  if (sleepsIn(trace, process.doing)) return [`asleep in ${event.name}`, 'sleeps'];
  return [`in the kernel: ${event.name}`, 'crosses'];
}

class ProcessBox {
  doing = h('p', { class: 'doing' });
  list = h('ul', { class: 'descriptors' });
  /** @type {ProcessState | null} */ shown = null;

  /** @param {Play} play @param {ProcessState} process */
  constructor(play, process) {
    this.play = play;
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
    const [words, mark] = activity(this.play, process);
    say(this.doing, words);
    this.root.dataset.state = mark;
    if (this.shown?.descriptors !== process.descriptors || this.shown?.maps !== process.maps) this.#list(process);
    this.shown = process;
  }

  /** @param {ProcessState} process */
  #list({ descriptors, maps }) {
    const objects = this.play.trace.objects;
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
  /** @type {import('./types.js').ObjectState | null} */ shown = null;

  /** @param {import('./types.js').TracedObject} object */
  constructor(object) {
    this.id = object.id;
    this.kind = object.kind;
    this.root = h('div', { role: 'group', class: 'object', 'data-kind': object.kind, 'aria-label': object.name });
    this.root.append(h('h4', {}, object.name), this.items, this.words);
  }

  /** @param {import('./types.js').ObjectState} state @param {boolean} present does any process still hold it? */
  show(state, present) {
    this.root.hidden = !present;
    if (this.shown === state) return;
    this.shown = state;
    // What lies in a semaphore is its value, which stands among the words.
    this.items.hidden = this.kind === 'semaphore' || this.kind === 'listener';
    this.#fill(state.items);
    this.words.replaceChildren(
      ...Object.entries(state.words).map(([word, value]) => h('span', {}, `${word} `, h('b', {}, String(value)))),
    );
  }

  /** @param {import('./types.js').Item[]} items */
  #fill(items) {
    const drawn = items.slice(0, MOST_ITEMS).map(({ message, bytes, state }) => {
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
      h('span', { class: 'soft number' }, holds(bytesOf('there'), bytesOf('held'))),
    );
  }
}

const STATES = { held: ', not yet released', there: '', read: ', already read' };

/** @param {number} there @param {number} held */
function holds(there, held) {
  const released = there > 0 ? `${counted(there, 'byte')} to read` : held > 0 ? '' : 'nothing to read';
  return [released, held > 0 ? `${counted(held, 'byte')} not yet released` : ''].filter(Boolean).join(', ');
}

export class TraceStage extends HTMLElement {
  /** @type {Play | null} */ #play = null;
  /** @type {ProcessBox[]} */ #processes = [];
  /** @type {ObjectBox[]} */ #objects = [];
  /** @type {HTMLElement[]} */ #walls = [];
  #sharing = h('span', { class: 'soft' });
  #tokens = h('div', { class: 'tokens', 'aria-hidden': 'true' });
  #kernel = h('div', { role: 'group', class: 'kernel', 'aria-label': 'the kernel' });
  #shared = h('div', { role: 'group', class: 'shared', 'aria-label': 'memory to share' });

  /** @param {Play} play */
  load(play) {
    this.#play = play;
    const { trace, worlds } = play;
    this.#processes = worlds[0].processes.map((process) => new ProcessBox(play, process));
    this.#walls = worlds[0].processes.map(({ role }) =>
      h(
        'p',
        { class: 'wall number' },
        h('span', { class: 'only-read-aloud' }, `crossings of the ${role}: `),
        h('span'),
      ),
    );
    // What is never opened or mapped by anyone while we watch would only be an empty box.
    const ever = new Set(worlds.flatMap(({ processes }) => processes.flatMap(held)));
    const objects = trace.objects.filter(({ id }) => ever.has(id));
    this.#objects = objects.map((object) => new ObjectBox(object));
    const boxes = (/** @type {boolean} */ memory) =>
      this.#objects.filter((_, i) => isMemory(objects[i].kind) === memory).map(({ root }) => root);
    this.#kernel.replaceChildren(h('h3', {}, 'kernel'), h('div', { class: 'objects' }, ...boxes(false)));
    this.#shared.replaceChildren(
      h('h3', {}, 'memory to share ', this.#sharing),
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

  /** @param {number} count of moments that are past */
  show(count) {
    const play = this.#play;
    if (!play) return;
    const world = play.worlds[count];
    const present = new Set(world.processes.flatMap(held));
    for (const [i, process] of world.processes.entries()) {
      this.#processes[i].show(process);
      const inside = process.doing !== null && play.trace.events[process.doing].kind === 'syscall';
      say(/** @type {Element} */ (this.#walls[i].lastChild), String(process.crossings));
      this.#walls[i].dataset.state = inside ? (sleepsIn(play.trace, process.doing) ? 'sleeps' : 'inside') : '';
    }
    for (const box of this.#objects) box.show(world.objects[box.id], present.has(box.id));
    say(this.#sharing, sharing(world));
    this.#tokens.replaceChildren();
  }

  /** Point at what the last moment did. @param {number} count of moments that are past @param {number} ms how long */
  glide(count, ms) {
    const { trace, moments } = /** @type {Play} */ (this.#play);
    if (ms <= 0 || count === 0 || stillness.matches) return;
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
    for (const { do: what, from, to, object } of event.effects) {
      const box = (/** @type {string | undefined} */ id) =>
        this.#objects.find((candidate) => candidate.id === id)?.root;
      const label = event.message === null ? '' : String(event.message);
      if (what === 'copy') {
        const [start, end] = from === 'process' ? [process, box(to)] : [box(from), process];
        if (start && end) this.#fly(label, start, end, ms, 'payload');
      } else if (what === 'store' || what === 'load') {
        const memory = box(object);
        if (memory && what === 'store') this.#fly(label, process, memory, ms, 'payload');
        else if (memory) this.#fly(label, memory, process, ms, 'payload');
      }
    }
  }

  /** @param {string} text @param {Element} from @param {Element} to @param {number} ms @param {string} kind */
  #fly(text, from, to, ms, kind) {
    const token = h('span', { class: `token ${kind}` }, text);
    this.#tokens.append(token);
    const ground = this.getBoundingClientRect();
    const place = (/** @type {Element} */ element) => {
      const box = element.getBoundingClientRect();
      return `translate(${box.left + box.width / 2 - ground.left}px, ${box.top + box.height / 2 - ground.top}px) translate(-50%, -50%)`;
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

/** What a process holds on to. @param {ProcessState} process */
const held = ({ descriptors, maps }) => [...descriptors, ...maps].map(({ object }) => object);

/** Who maps what there is to share? @param {import('./types.js').World} world */
function sharing({ processes }) {
  const [ours, theirs] = processes.map(({ maps }) => maps.map(({ object }) => object));
  const common = ours.filter((object) => theirs.includes(object)).length;
  const all = new Set([...ours, ...theirs]).size;
  if (all === 0) return 'mapped by nobody';
  if (common === 0) return 'not yet in both processes';
  return common === all ? 'the same bytes in both processes' : 'in part the same bytes in both processes';
}

customElements.define('trace-stage', TraceStage);
