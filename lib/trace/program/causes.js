'use strict';
// Which event of another thread ended a sleep, as far as the calls tell: the write whose bytes a read returned, the
// wake-up of a futex, the end of a child. A sleep that the kernel ended for its own reasons has no cause.
const { addressKey } = require('../values.js');

/** @typedef {import('./recorder.js').ProgramCall} ProgramCall */
/** @typedef {InstanceType<typeof import('./objects.js').Objects>} Objects */

// Which argument is the descriptor that a call reads from, or writes to: 0, the first descriptor, or 1.
/** @type {Record<string, number>} */
const READS = { read: 0, readv: 0, pread64: 0, recvfrom: 0, recvmsg: 0, recvmmsg: 0, splice: 0, tee: 0, sendfile: 1 };
/** @type {Record<string, number>} */
const WRITES = { write: 0, writev: 0, pwrite64: 0, sendto: 0, sendmsg: 0, sendmmsg: 0, sendfile: 0, splice: 1, tee: 1 };
const INTERRUPTED = [-4, -512, -513, -514, -516]; // by a signal: EINTR, and its forms within the kernel
const MOST_CLOSINGS = 1000; // that are looked at for one sleep
const P_PID = 1;
const LOOK_BACK = 16; // events that began before a sleep and may have ended during it

/** @typedef {{event: ProgramCall | null, tid: number, t: number, until: number}} Closing it was some time from t to until; null: a signal has ended the process */

/** A list of events by a key. @template K @template [V=ProgramCall] @extends {Map<K, V[]>} */
class Lists extends Map {
  /** @param {K} key @param {V} event */
  put(key, event) {
    const list = this.get(key);
    if (list) list.push(event);
    else this.set(key, [event]);
  }
}

/** The data of each struct epoll_event, which the program chooses, in hex. @param {string} hex */
function watchedData(hex) {
  const size = process.arch === 'x64' ? 12 : 16; // packed on x86-64
  const data = [];
  for (let at = 0; at + size <= hex.length / 2; at += size) data.push(hex.slice(2 * (at + size - 8), 2 * (at + size)));
  return data;
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
    /** By object and end. */
    this.closes = /** @type {Lists<string, Closing>} */ (new Lists());
    /** @type {Map<number, number>} when the last call of a process that is known began or ended */
    this.latest = new Map();
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
    const { pid, tid, t, objects } = event;
    this.latest.set(pid, event.end ?? t);
    const [read, written] = [objects[READS[event.name]], objects[WRITES[event.name]]];
    if (read !== undefined) this.reads.put(read, event);
    if (written !== undefined) this.writes.put(written, event);
    const closing = { event, tid, t, until: event.end ?? t };
    for (const holding of raw.closed ?? []) if (holding) this.putClosing(holding, closing);
    if (event.name === 'shutdown') this.putClosing({ object: objects[0], end: null }, closing);
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
    const exit = this.exits.get(pid) ?? null;
    if (exit) this.ends.set(exit, t);
    const from = exit?.t ?? this.latest.get(pid) ?? t;
    for (const holding of held) this.putClosing(holding, { event: exit, tid: exit?.tid ?? -1, t: from, until: t });
  }

  /** @param {{object: number, end: import('./descriptors.js').End}} what @param {Closing} closing */
  putClosing({ object, end }, closing) {
    for (const side of end === 'read' || end === 'write' ? [end] : ['read', 'write'])
      this.closes.put(`${object} ${side}`, closing);
  }

  /**
   * Several may hold an end. The last who closes it ends the sleep at the other one.
   * @param {number} object @param {'read' | 'write'} side @param {ProgramCall} sleeper
   */
  closed(object, side, sleeper) {
    const list = this.closes.get(`${object} ${side}`) ?? [];
    /** @type {Closing | null} */ let last = null;
    const before = indexAt(list, sleeper.end ?? Infinity);
    for (const closing of list.slice(Math.max(0, before - MOST_CLOSINGS), before))
      if (closing.tid !== sleeper.tid && closing.until > sleeper.t && closing.until >= (last?.until ?? 0))
        last = closing;
    return last?.event ?? null;
  }

  /**
   * The end of what can be written to an object: a socket's is its peer. Of a file, nobody waits for what others do, and what can be
   * written to a terminal is not what can be read from it.
   * @param {number} object
   */
  otherEnd(object) {
    const { kind, peer } = this.objects.list[object] ?? {};
    return peer ?? (kind === 'pipe' || kind === 'eventfd' ? object : -1);
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
    const closed = (/** @type {number} */ about) => this.closed(this.otherEnd(about), 'write', event);
    if (WRITES[name] === 0 && object !== undefined) {
      const end = this.otherEnd(object);
      return () => (raw.result >= 0 ? this.first(this.reads.get(end), event) : this.closed(end, 'read', event));
    }
    if (READS[name] === 0 && object !== undefined) return () => (raw.result > 0 ? written : closed)(object);
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
        return () => this.exits.get(Number(raw.result)) ?? null;
      case 'waitid': // it returns 0
        return () => (Number(raw.args[0]) === P_PID ? (this.exits.get(Number(raw.args[1])) ?? null) : null);
      case 'epoll_wait':
      case 'epoll_pwait':
      case 'epoll_pwait2':
      case 'poll':
      case 'ppoll': {
        const poll = name.endsWith('poll');
        const data = watchedData(raw.out[1] ?? '');
        const watched = (raw.watched?.() ?? []).filter((/** @type {{data: string}} */ one) => data.includes(one.data));
        /** @type {number[]} */
        const ready = poll
          ? polledDescriptors(raw.out[0] ?? '').flatMap((fd) => raw.objectOf?.(fd) ?? [])
          : watched.map((/** @type {{object: number}} */ one) => one.object);
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
    for (const lists of [this.reads, this.writes, this.connects, this.wakes])
      for (const list of lists.values()) list.sort((a, b) => a.t - b.t);
    for (const list of this.closes.values()) list.sort((a, b) => a.t - b.t);
    for (const { event, find } of this.sleepers) {
      const cause = find();
      if (cause && cause.tid !== event.tid && cause.t < (event.end ?? Infinity)) found(event, cause);
    }
  }
}

const isPrivate = (/** @type {{args: string[]}} */ { args }) => (Number(args[1]) & 128) !== 0;

/** The index of the first event of a list that began at this time or later. @param {{t: number}[]} list @param {number} t */
function indexAt(list, t) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].t < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

module.exports = { Causes, watchedData };
