// The boxes of the stage: a process, and an object of the kernel or of shared memory. Each shows its part of a snapshot.
import { h, setText } from '../../shared/dom.js';
import { counted } from '../../shared/format.js';
import { sleepsIn } from '../model/replay.js';

/**
 * @typedef {import('../model/types.js').Replay} Replay
 * @typedef {import('../model/types.js').ProcessState} ProcessState
 * @typedef {import('../model/types.js').Item} Item
 */

const MAX_ITEMS = 8; // drawn in one buffer
const STATES = { held: ', not published yet', there: '', read: ', already read' };

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

/** A message, or a part of one. @param {Item} item */
export function blockOf({ message, bytes, state }) {
  const title = `${message === null ? '' : `message ${message}, `}${counted(bytes, 'byte')}${STATES[state]}`;
  const word = message === null ? null : h('span', { class: 'word' }, 'message ');
  return h(
    'span',
    { class: `item ${state}`, title, 'data-message': message ?? undefined },
    word,
    message === null ? '' : String(message),
  );
}

export class ProcessBox {
  doing = h('p', { class: 'doing' });
  payload = h('p', { class: 'payload', hidden: true });
  list = h('ul', { class: 'descriptors' });
  /** @type {ProcessState | null} */ shown = null;
  /** @type {Item | null} */ #item = null;

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
      this.payload,
      this.list,
    );
  }

  /** @param {ProcessState} process @param {Item | null} [ahead] the message that it is about to send */
  show(process, ahead = null) {
    const [text, state] = activity(this.replay, process);
    setText(this.doing, text);
    this.root.dataset.state = state;
    if (this.shown?.descriptors !== process.descriptors || this.shown?.maps !== process.maps) this.#list(process);
    this.shown = process;
    const item = ahead ?? process.holds;
    if (item === this.#item) return;
    this.#item = item;
    this.payload.hidden = item === null;
    this.payload.replaceChildren(...(item ? [h('span', { class: 'soft' }, 'in its own memory '), blockOf(item)] : []));
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

export class ObjectBox {
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

  /** @param {Item[]} items */
  #fill(items) {
    const drawn = items.slice(0, MAX_ITEMS).map(blockOf);
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

/** @param {number} there @param {number} held */
function contents(there, held) {
  const unread = there > 0 ? `${counted(there, 'byte')} to read` : held > 0 ? '' : 'nothing to read';
  return [unread, held > 0 ? `${counted(held, 'byte')} not published yet` : ''].filter(Boolean).join(', ');
}
