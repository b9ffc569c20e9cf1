'use strict';
// Which event of another thread ended a sleep, as far as the calls tell: the write whose bytes a read returned, the
// wake-up of a futex, the end of a child. A sleep that the kernel ended for its own reasons has no cause.
const { addressKey } = require('../values.js');

/** @typedef {import('./recorder.js').ProgramCall} ProgramCall */
/** @typedef {InstanceType<typeof import('./objects.js').Objects>} Objects */

const READS = ['read', 'readv', 'pread64', 'recvfrom', 'recvmsg', 'splice', 'sendfile'];
const WRITES = ['write', 'writev', 'pwrite64', 'sendto', 'sendmsg'];
const INTERRUPTED = [-4, -512, -513, -514, -516]; // by a signal: EINTR, and its forms within the kernel
const LOOK_BACK = 16; // events that began before a sleep and may have ended during it

/** A list of events by a key. @template K @extends {Map<K, ProgramCall[]>} */
class Lists extends Map {
  /** @param {K} key @param {ProgramCall} event */
  put(key, event) {
    const list = this.get(key);
    if (list) list.push(event);
    else this.set(key, [event]);
  }
}

/** The descriptors that an epoll_wait() returned: the first four bytes of each event's data, as libuv uses them. @param {string} hex */
function readyDescriptors(hex) {
  const bytes = Buffer.from(hex, 'hex');
  const size = process.arch === 'x64' ? 12 : 16; // packed on x86-64
  const fds = [];
  for (let at = 0; at + size <= bytes.length; at += size) fds.push(bytes.readInt32LE(at + size - 8));
  return fds;
}

/** The descriptors of a struct pollfd array with events. @param {string} hex */
function polledDescriptors(hex) {
  const bytes = Buffer.from(hex, 'hex');
  const fds = [];
  for (let at = 0; at + 8 <= bytes.length; at += 8) if (bytes.readInt16LE(at + 6)) fds.push(bytes.readInt32LE(at));
  return fds;
}

class Causes {
  /** @param {Objects} objects */
  constructor(objects) {
    this.objects = objects;
    this.reads = /** @type {Lists<number>} */ (new Lists());
    this.writes = /** @type {Lists<number>} */ (new Lists());
    this.closes = /** @type {Lists<number>} */ (new Lists());
    this.connects = /** @type {Lists<number>} */ (new Lists());
    this.wakes = /** @type {Lists<string>} */ (new Lists());
    /** @type {Map<number, ProgramCall>} by process */
    this.exits = new Map();
    /** @type {Map<ProgramCall, number>} when the process of an exit_group() had ended: the call itself never returns */
    this.ends = new Map();
    /** @type {{event: ProgramCall, find: () => ProgramCall | null}[]} */
    this.sleepers = [];
    this.fdObjects = new Map();
  }

  /** @param {ProgramCall} event @param {any} raw */
  add(event, raw) {
    const [object] = event.objects;
    if (object !== undefined) {
      if (READS.includes(event.name)) this.reads.put(object, event);
      if (WRITES.includes(event.name)) this.writes.put(object, event);
    }
    if (raw.closed) this.closes.put(raw.closed.object, event);
    if (event.name === 'shutdown' && object !== undefined) this.closes.put(object, event);
    if (event.name === 'connect' && raw.in[1]) {
      const listener = this.objects.listenerAt(addressKey(Buffer.from(raw.in[1], 'hex')));
      if (listener !== undefined) this.connects.put(listener, event);
    }
    if (event.name === 'exit_group') this.exits.set(event.pid, event);
    const operation = event.name === 'futex' ? Number(raw.args[1]) & 0x7f : -1;
    if ((operation === 1 || operation === 10) && Number(raw.result) > 0) {
      this.wakes.put(`${event.pid} ${raw.args[0]}`, event);
      if (!isPrivate(raw)) for (const key of [`shared ${raw.args[0]}`, 'shared']) this.wakes.put(key, event);
    }
    const isInterrupted = INTERRUPTED.includes(Number(raw.result));
    if (event.sleeps > 0 && event.end !== null && !isInterrupted)
      this.sleepers.push({ event, find: this.finder(event, raw) });
  }

  /** The process has ended, and with it what it held. @param {number} pid @param {import('./descriptors.js').Holding[]} held @param {number} t */
  ended(pid, held, t) {
    const exit = this.exits.get(pid);
    if (!exit) return;
    this.ends.set(exit, t);
    for (const { object } of held) this.closes.put(object, exit);
  }

  /** The end of what can be written to an object: a socket's is its peer. @param {number} object */
  otherEnd(object) {
    return this.objects.list[object]?.peer ?? object;
  }

  /** Was this event of another thread under way during a sleep? Its start is looked at by the caller. @param {ProgramCall} event @param {ProgramCall} sleeper */
  overlaps(event, sleeper) {
    return event.tid !== sleeper.tid && (event.end ?? this.ends.get(event) ?? Infinity) > sleeper.t;
  }

  /**
   * The first event of another thread, in a list by start, that was under way during a sleep.
   * @param {ProgramCall[] | undefined} list
   * @param {ProgramCall} sleeper
   */
  first(list, sleeper) {
    if (!list) return null;
    const end = sleeper.end ?? Infinity;
    for (let i = Math.max(0, indexAt(list, sleeper.t) - LOOK_BACK); i < list.length && list[i].t < end; i++)
      if (this.overlaps(list[i], sleeper)) return list[i];
    return null;
  }

  /** The last one. @param {ProgramCall[] | undefined} list @param {ProgramCall} sleeper */
  last(list, sleeper) {
    if (!list) return null;
    const from = Math.max(0, indexAt(list, sleeper.t) - LOOK_BACK);
    for (let i = indexAt(list, sleeper.end ?? Infinity) - 1; i >= from; i--)
      if (this.overlaps(list[i], sleeper)) return list[i];
    return null;
  }

  /** How to find the cause, when all events are known. @param {ProgramCall} event @param {any} raw @returns {() => ProgramCall | null} */
  finder(event, raw) {
    const [object] = event.objects;
    const { name, pid } = event;
    const written = (/** @type {number} */ about) => this.first(this.writes.get(this.otherEnd(about)), event);
    // Several may hold the other end. The last who closes it ends the sleep.
    const closed = (/** @type {number} */ about) => this.last(this.closes.get(this.otherEnd(about)), event);
    if (READS.includes(name) && object !== undefined) return () => (raw.result > 0 ? written : closed)(object);
    if (WRITES.includes(name) && object !== undefined)
      return () => this.first(this.reads.get(this.otherEnd(object)), event);
    switch (name) {
      case 'accept':
      case 'accept4':
        return () => this.first(this.connects.get(object), event);
      case 'futex': {
        if (Number(raw.result) !== 0) return () => null; // its time was over, or the word had another value
        const own = `${pid} ${raw.args[0]}`;
        if (isPrivate(raw)) return () => this.first(this.wakes.get(own), event);
        // Processes may have the same word at different addresses. Then the one that woke last is the likeliest.
        return () =>
          this.first(this.wakes.get(`shared ${raw.args[0]}`), event) ?? this.last(this.wakes.get('shared'), event);
      }
      case 'wait4':
      case 'waitid':
        return () => this.exits.get(Number(raw.result)) ?? null;
      case 'epoll_wait':
      case 'epoll_pwait':
      case 'epoll_pwait2':
      case 'poll':
      case 'ppoll': {
        const poll = name.endsWith('poll');
        const fds = poll ? polledDescriptors(raw.out[0] ?? '') : readyDescriptors(raw.out[1] ?? '');
        const ready = fds.flatMap((fd) => raw.objectOf?.(fd) ?? []);
        return () => {
          for (const about of ready) {
            const cause = this.first(this.connects.get(about), event) ?? written(about) ?? closed(about);
            if (cause) return cause;
          }
          return null;
        };
      }
      default:
        return () => null;
    }
  }

  /** Finds all causes. @param {(sleeper: ProgramCall, cause: ProgramCall) => void} found */
  resolve(found) {
    for (const lists of [this.reads, this.writes, this.closes, this.connects, this.wakes])
      for (const list of lists.values()) list.sort((a, b) => a.t - b.t);
    for (const { event, find } of this.sleepers) {
      const cause = find();
      if (cause && cause.tid !== event.tid && cause.t < (event.end ?? Infinity)) found(event, cause);
    }
  }
}

const isPrivate = (/** @type {{args: string[]}} */ { args }) => (Number(args[1]) & 128) !== 0;

/** The index of the first event of a list that began at this time or later. @param {ProgramCall[]} list @param {number} t */
function indexAt(list, t) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].t < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

module.exports = { Causes };
