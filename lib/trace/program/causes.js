'use strict';
// Which event of another thread ended a sleep, as far as the calls tell: the write whose bytes a read returned, the
// wake-up of a futex, the end of a child. A sleep that the kernel ended for its own reasons has no cause.
const { addressKey } = require('../values.js');

/** @typedef {import('./recorder.js').ProgramCall} ProgramCall */
/** @typedef {InstanceType<typeof import('./objects.js').Objects>} Objects */

const READS = ['read', 'readv', 'pread64', 'recvfrom', 'recvmsg', 'splice', 'sendfile'];
const WRITES = ['write', 'writev', 'pwrite64', 'sendto', 'sendmsg', 'shutdown'];
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
    if (event.name === 'connect' && raw.in[1]) {
      const listener = this.objects.listenerAt(addressKey(Buffer.from(raw.in[1], 'hex')));
      if (listener !== undefined) this.connects.put(listener, event);
    }
    if (event.name === 'exit_group') this.exits.set(event.pid, event);
    const operation = event.name === 'futex' ? Number(raw.args[1]) & 0x7f : -1;
    if ((operation === 1 || operation === 10) && Number(raw.result) > 0) {
      this.wakes.put(`${event.pid} ${raw.args[0]}`, event);
      this.wakes.put('shared', event);
    }
    if (event.sleeps > 0 && event.end !== null) this.sleepers.push({ event, find: this.finder(event, raw) });
  }

  /** The process has ended, and with it what it held. @param {number} pid @param {import('./descriptors.js').Holding[]} held */
  ended(pid, held) {
    const exit = this.exits.get(pid);
    for (const { object } of exit ? held : []) this.closes.put(object, /** @type {ProgramCall} */ (exit));
  }

  /** The end of what can be written to an object: a socket's is its peer. @param {number} object */
  otherEnd(object) {
    return this.objects.list[object]?.peer ?? object;
  }

  /** How to find the cause, when all events are known. @param {ProgramCall} event @param {any} raw @returns {() => ProgramCall | null} */
  finder(event, raw) {
    const [object] = event.objects;
    const { name, pid } = event;
    const data = (/** @type {number} */ about) => () => {
      const end = this.otherEnd(about);
      return overlapping(this.writes.get(end), event) ?? overlapping(this.closes.get(end), event);
    };
    if (READS.includes(name) && object !== undefined) return data(object);
    if (WRITES.includes(name) && object !== undefined)
      return () => overlapping(this.reads.get(this.otherEnd(object)), event);
    switch (name) {
      case 'accept':
      case 'accept4':
        return () => overlapping(this.connects.get(object), event);
      case 'futex': {
        const isPrivate = (Number(raw.args[1]) & 128) !== 0;
        const key = `${pid} ${raw.args[0]}`;
        return () =>
          overlapping(this.wakes.get(key), event) ?? (isPrivate ? null : overlapping(this.wakes.get('shared'), event));
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
            const cause = overlapping(this.connects.get(about), event) ?? data(about)();
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

/**
 * The first event of another thread, in a list by start, that was under way during a sleep.
 * @param {ProgramCall[] | undefined} list
 * @param {ProgramCall} sleeper
 */
function overlapping(list, sleeper) {
  if (!list) return null;
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].t < sleeper.t) low = middle + 1;
    else high = middle;
  }
  const end = sleeper.end ?? Infinity;
  for (let i = Math.max(0, low - LOOK_BACK); i < list.length && list[i].t < end; i++) {
    const event = list[i];
    if (event.tid !== sleeper.tid && (event.end ?? Infinity) > sleeper.t) return event;
  }
  return null;
}

module.exports = { Causes };
