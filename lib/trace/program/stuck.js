'use strict';
// Why nothing happens: what each thread of a program waits for, who could wake it, and whether they all wait for each
// other. A thread is deadlocked if only deadlocked threads could wake it. A thread that waits for a clock, a signal or a
// process outside the program (outside.js) can still be woken, so it is not deadlocked; nor is one that sleeps in a call
// that is not understood here.
const { Holders, listed, MAX_SHOWN } = require('./holders.js');

/** @typedef {InstanceType<typeof import('./recorder.js').Recorder>} Recorder */
/**
 * @typedef {{pid: number, tid: number, name: string, state: string, call: string | null, t?: number, args?: string[], words?: string[],
 *   caught?: string, blocked?: string, sharing?: {path: string, outside?: number}, locks?: {heldBy: Holder[], all: number}}} Task
 */
/** @typedef {import('./holders.js').Holder} Holder */
/**
 * @typedef {object} Wait what one thread waits for
 * @property {Task} task
 * @property {'nothing' | 'time' | 'outside' | 'inside'} by what can end it
 * @property {string} text such as "sleeps in read() on pipe A, which only 13 can write"
 * @property {number | null} object
 * @property {number | null} fd
 * @property {Holder[]} heldBy
 * @property {boolean} [owned] only the thread that has what it waits for can end it: no handler of a signal can
 * @property {number[]} wakers the threads that could wake it, if it is by 'inside'
 */
/** @typedef {{pid: number, tid: number, event: number | null, call: string, object: number | null, fd: number | null, heldBy: Holder[]}} StuckWait */
/** @typedef {{deadlock: boolean, all: boolean, text: string, waits: StuckWait[]}} Explanation `all`: every thread is deadlocked */

const READS = ['read', 'readv', 'pread64', 'recvfrom', 'recvmsg', 'recvmmsg'];
const WRITES = ['write', 'writev', 'pwrite64', 'sendto', 'sendmsg', 'sendmmsg'];
/** @type {Record<string, string>} */
const SIGNAL_WAITS = { pause: 'a signal', rt_sigsuspend: 'a signal', rt_sigtimedwait: 'a signal' };
/** Where the time limit of a call is: [argument, whether it is a number of milliseconds]. @type {Record<string, [number, boolean]>} */
const TIME_LIMITS = {
  poll: [2, true],
  epoll_wait: [3, true],
  epoll_pwait: [3, true],
  ppoll: [2, false],
  epoll_pwait2: [3, false],
  select: [4, false],
  pselect6: [4, false],
  futex: [3, false],
  rt_sigtimedwait: [2, false],
};
const TIMED = ['nanosleep', 'clock_nanosleep', 'restart_syscall'];
const MAX_HOLDERS = 16; // listed with each wait
const MUTEX_CONTENDED = 2; // the value of a libc mutex that somebody waits for

/** The state of the program at one moment. */
class Scene extends Holders {
  /** @param {Recorder} recorder @param {Task[]} tasks */
  constructor(recorder, tasks) {
    super(recorder, tasks);
    this.outside = recorder.outside;
    /** By process. @type {Map<number, {signals: string[], children: boolean}>} */
    this.handled = new Map();
  }

  /** What a thread waits for, unless a handler of a signal runs before. @param {Task} task @returns {Wait} */
  waitOf(task) {
    const wait = this.sleepOf(task);
    if (wait.by !== 'inside' || wait.owned) return wait;
    const { signals, children } = this.handledBy(task.pid);
    if (signals.length)
      return { ...wait, by: 'outside', text: `${wait.text}, or until it handles ${signals.slice(0, 3).join(' or ')}` };
    if (!children) return wait;
    if (this.outside.adopts)
      return { ...wait, by: 'outside', text: `${wait.text}, or until a child that it has adopted ends` };
    return { ...wait, wakers: [...wait.wakers, ...this.threadsOfAll(this.childrenOf(task.pid))] };
  }

  /** The signals that a process handles, and whether it is told of the end of its children. @param {number} pid */
  handledBy(pid) {
    const known = this.handled.get(pid);
    if (known) return known;
    const threads = this.threadsOf(pid);
    const handled = { signals: this.outside.signalsTo(threads), children: this.outside.hearsOfChildren(threads) };
    this.handled.set(pid, handled);
    return handled;
  }

  /** @param {Task} task @returns {Wait} */
  sleepOf(task) {
    const { call, args = [], pid } = task;
    const signed = (/** @type {number} */ i) => Number(BigInt.asIntN(32, BigInt(args[i] ?? '0x0')));
    const wait = (/** @type {Wait['by']} */ by, /** @type {string} */ text, /** @type {Partial<Wait>} */ more = {}) => {
      const nothing = { object: null, fd: null, heldBy: [], wakers: [] };
      return { task, by, text: `sleeps in ${call}() ${text}`.trimEnd(), ...nothing, ...more };
    };
    if (!call || !'SD'.includes(task.state)) return wait('nothing', '');
    if (TIMED.includes(call)) return wait('time', 'for a time');
    const limit = TIME_LIMITS[call];
    const limited = limit && (limit[1] ? signed(limit[0]) >= 0 : args[limit[0]] !== '0x0');
    const first = this.firstOf(task, signed(0));
    if (call.startsWith('epoll_')) {
      const about = { object: first ?? null, fd: signed(0) };
      return limited
        ? wait('time', `${this.eventsOf(first)}, or until a timer expires`, about)
        : wait('outside', this.eventsOf(first), about);
    }
    if (limited) return wait('time', 'with a time limit');
    if (this.outside.hasTimer(pid)) return wait('time', 'until its timer sends a signal, at the latest');
    if (SIGNAL_WAITS[call]) return wait('outside', `until ${SIGNAL_WAITS[call]} arrives`);
    if (call === 'futex') return { ...wait('inside', ''), ...this.futex(task, signed) };
    if (call === 'wait4' || call === 'waitid') {
      const wanted = call === 'wait4' ? signed(0) : signed(0) === 1 ? signed(1) : -1;
      if (wanted <= 0 && this.outside.adopts) return wait('outside', 'for a child process, perhaps an adopted one');
      const heldBy = this.childrenOf(pid).filter((child) => wanted <= 0 || child.pid === wanted);
      const wakers = this.threadsOfAll(heldBy);
      const text = `until ${heldBy.length > 1 ? 'one of its children' : 'its child'} ${this.namesOf(heldBy, pid)} ends`;
      return heldBy.length ? wait('inside', text, { heldBy, wakers }) : wait('outside', 'for a child process');
    }
    const fd = signed(0);
    const object = call === 'poll' || call === 'ppoll' ? undefined : first;
    if (call === 'poll' || call === 'ppoll') return { ...wait('outside', ''), ...this.polled(task) };
    if (object === undefined) return wait('outside', '');
    const about = { object, fd };
    const { name, kind, peer, local } = this.objects[object];
    const on = `on ${name} (descriptor ${fd})`;
    if (this.hasTimeLimit(task, object) || this.recorder.objects.mayBeGivenUp(object))
      return wait('time', `${on}, with a time limit`, about);
    if (call === 'accept' || call === 'accept4') return wait('outside', `for a connection to ${local ?? name}`, about);
    if (call === 'flock' || call === 'fcntl') {
      const all = task.locks?.heldBy ?? [];
      const others = all.filter((holder) => holder.pid !== pid);
      const heldBy = others.length ? others : all;
      const text = `for a lock on ${name} (descriptor ${fd})`;
      const isRenumbered = this.recorder.descriptors.table(pid).get(fd)?.object !== object; // the tracer saw locks of another file
      if (!heldBy.length || !task.locks?.all || isRenumbered || this.outside.reaches(object))
        return wait('outside', text, about);
      const wakers = this.threadsOfAll(heldBy);
      return wait('inside', `${text}, which ${this.namesOf(heldBy, pid)} holds`, { ...about, heldBy, wakers });
    }
    const reads = READS.includes(call);
    if (!reads && !WRITES.includes(call)) return wait('outside', on, about);
    if (kind === 'socket' && peer === null)
      return wait('outside', `${on}, whose other end is outside the program`, about);
    if (!['pipe', 'socket', 'eventfd'].includes(kind) || this.outside.reaches(object))
      return wait('outside', on, about);
    const end = kind === 'socket' ? /** @type {number} */ (peer) : object;
    if (reads && this.objects[end].underWay)
      return wait('outside', `${on}, to which the kernel is still carrying data`, about);
    const wanted = reads ? 'write' : 'read';
    const heldBy = this.holders(end, kind === 'pipe' ? wanted : 'any', true);
    if (!heldBy.length) return wait('outside', on, about);
    const more = { ...about, heldBy, wakers: this.threadsOfAll([...heldBy, ...this.changers(object, reads)]) };
    return wait('inside', `${on}, ${this.relation(kind, reads, end, heldBy, pid)}`, more);
  }

  /** Had the socket a time limit of this kind when the call began? Only that counts. @param {Task} task @param {number} object */
  hasTimeLimit({ tid, call }, object) {
    const entered = this.recorder.entered.get(tid);
    const limits = entered?.name === call ? entered.limited : (this.recorder.objects.timed.get(object) ?? 0);
    return (limits & (WRITES.includes(call ?? '') || call === 'connect' ? 2 : 1)) !== 0;
  }

  /** What the first argument of a call refers to: what it was then, since the number may have been given to something else. @param {Task} task @param {number} fd */
  firstOf({ pid, tid, call }, fd) {
    const entered = this.recorder.entered.get(tid);
    if (entered?.name === call) return entered.fds[0]?.fd === fd ? entered.objects[0] : undefined; // select() begins with a number
    return this.recorder.descriptors.table(pid).get(fd)?.object;
  }

  /**
   * Those who have the same end as a waiting thread: they can shut a socket down, or enlarge what is full.
   * @param {number} object
   * @param {boolean} reads
   */
  changers(object, reads) {
    return reads && this.objects[object].kind === 'pipe' ? [] : this.holders(object, 'any');
  }

  /** @param {Task} task @param {(i: number) => number} signed @returns {Partial<Wait>} */
  futex(task, signed) {
    const { pid, tid, args = [], words = [] } = task;
    const operation = signed(1) & 0x7f;
    if (![0, 6, 9, 11, 13].includes(operation)) return { by: 'nothing' };
    const others = this.tasks.filter((other) => other.tid !== tid);
    const isPrivate = (signed(1) & 128) !== 0;
    // The kernel wakes those who wait for the end of a thread, and never by a private futex.
    const joined = others.find((other) => !isPrivate && !task.sharing && other.pid === pid && other.tid === signed(2));
    if (joined) {
      const text = `sleeps in futex() until thread ${joined.tid} ends`;
      return { text, owned: true, wakers: [joined.tid], heldBy: [{ pid, fd: null, tid: joined.tid }] };
    }
    // A mutex of glibc is a word, a count, and the thread that holds it.
    const owner = this.tasks.find(
      (other) => (other.pid === pid || task.sharing) && other.tid === Number(words[2]), // one of another process, too
    );
    if (owner && Number(words[0]) === MUTEX_CONTENDED) {
      const text = `sleeps in futex() on the mutex at ${args[0]}, which ${owner.tid === tid ? 'it' : `thread ${owner.tid}`} holds`;
      return { text, owned: true, wakers: [owner.tid], heldBy: [{ pid: owner.pid, fd: null, tid: owner.tid }] };
    }
    if (!isPrivate && this.outside.sharesFutex(task)) {
      const text = `sleeps in futex() on the word at ${args[0]}, in memory that other programs can share`;
      return { by: 'outside', text };
    }
    const able = isPrivate ? others.filter((other) => other.pid === pid) : others;
    const wakers = able.length ? able.map((other) => other.tid) : [tid];
    const which = able.length
      ? isPrivate
        ? ', which only its own process can wake'
        : ''
      : ', which nothing else can wake';
    return { text: `sleeps in futex() on the word at ${args[0]}${which}`, wakers };
  }

  /** @param {number | undefined} epoll */
  eventsOf(epoll) {
    const watched =
      epoll === undefined
        ? []
        : [...new Set([...(this.recorder.watched.get(epoll)?.values() ?? [])].map(({ object }) => object))];
    const listening = watched.map((id) => this.objects[id]).filter(({ listens }) => listens);
    if (!listening.length) return 'and waits for events';
    return `and waits for events, such as a connection to ${listed(listening.map(({ local, name }) => local ?? name))}`;
  }

  /** A poll() of a few descriptors waits for those who hold their other ends. @param {Task} task @returns {Partial<Wait>} */
  polled({ call, pid, tid, args = [] }) {
    const entered = this.recorder.entered.get(tid);
    const text = `sleeps in ${call}() and waits for events`;
    /** @type {number[]} */
    const objects = entered?.objects ?? [];
    if (!objects.length || objects.length !== Number(args[1])) return { text };
    const heldBy = [];
    const changers = [];
    for (const id of objects) {
      const { kind, peer } = this.objects[id];
      if ((kind !== 'pipe' && kind !== 'socket') || this.outside.reaches(id)) return { text };
      if (this.recorder.objects.mayBeGivenUp(id)) return { text };
      const has = (/** @type {'read' | 'write'} */ side) => this.holders(id, side).some((holder) => holder.pid === pid);
      const reads = kind === 'pipe' && has('read');
      if (reads && has('write')) return { text }; // which of them is polled is not known
      const wanted = kind === 'socket' ? 'any' : reads ? 'write' : 'read';
      const end = kind === 'socket' ? /** @type {number} */ (peer) : id;
      if (this.objects[end].underWay) return { text };
      const holders = this.holders(end, wanted);
      if (!holders.length) return { text };
      heldBy.push(...holders);
      changers.push(...this.changers(id, reads));
    }
    const names = listed(objects.map((id) => this.objects[id].name));
    return {
      by: 'inside',
      text: `sleeps in ${call}() on ${names}, whose other ends only ${this.namesOf(heldBy, pid)} holds`,
      object: objects[0],
      heldBy,
      wakers: this.threadsOfAll([...heldBy, ...changers]),
    };
  }
}

/** The waits that only each other's threads could end. @param {Wait[]} waits */
function deadlocked(waits) {
  let left = waits.filter(({ by }) => by === 'inside');
  for (;;) {
    const stuck = new Set(left.map(({ task }) => task.tid));
    const kept = left.filter(({ wakers }) => wakers.every((tid) => stuck.has(tid)));
    if (kept.length === left.length) return kept;
    left = kept;
  }
}

/**
 * Why nothing happens; null if something does.
 * @param {Recorder} recorder
 * @param {Task[]} tasks
 * @returns {Explanation | null}
 */
function explain(recorder, tasks) {
  const living = tasks.filter((task) => !hasEndedFirst(task, tasks));
  const scene = new Scene(recorder, living);
  const waits = living.map((task) => scene.waitOf(task));
  const stuck = deadlocked(waits);
  const shown = stuck.length ? stuck : oneOfEach(waits.filter(({ by }) => by !== 'nothing'));
  if (!shown.length) return null;
  const all = stuck.length === living.length;
  const parts = shown.slice(0, MAX_SHOWN).map((wait) => `${scene.nameOf(wait.task)} ${wait.text}`);
  if (shown.length > MAX_SHOWN) parts.push(`and ${shown.length - MAX_SHOWN} more`);
  const sentence = parts.join('; ');
  const { isIncomplete } = recorder.outside;
  const found = isIncomplete ? 'Perhaps a deadlock, but not all that the program did is known' : 'Deadlock';
  const text = stuck.length ? `${found}: ${intro(stuck, all)}: ${sentence}.` : `No deadlock: ${sentence}.`;
  return {
    deadlock: stuck.length > 0 && !isIncomplete,
    all,
    text,
    waits: shown.map(({ task, object, fd, heldBy }) => ({
      pid: task.pid,
      tid: task.tid,
      event: null,
      call: String(task.call),
      object,
      fd,
      heldBy: heldBy.slice(0, MAX_HOLDERS).map(({ fds, ...holder }) => holder),
    })),
  };
}

/**
 * The first thread of a process has ended while others go on. The kernel reports that only when they end, too; until then it is a
 * zombie. It wakes nothing any more. A zombie without other threads is a process whose end is about to wake its parent.
 * @param {Task} task
 * @param {Task[]} tasks
 */
function hasEndedFirst({ pid, tid, state }, tasks) {
  return tid === pid && state === 'Z' && tasks.some((other) => other.pid === pid && other.tid !== tid);
}

/** The first thread of each process, or another one if that does not wait: helper threads say little. @param {Wait[]} waits */
function oneOfEach(waits) {
  /** @type {Map<number, Wait>} */
  const chosen = new Map();
  for (const wait of waits)
    if (!chosen.has(wait.task.pid) || wait.task.tid === wait.task.pid) chosen.set(wait.task.pid, wait);
  return [...chosen.values()];
}

/** @param {Wait[]} stuck @param {boolean} all */
function intro(stuck, all) {
  const processes = new Set(stuck.map(({ task }) => task.pid)).size;
  const what = processes === stuck.length ? 'process' : 'thread';
  if (stuck.length === 1) return all ? `the ${what} waits for itself` : `a ${what} waits for itself`;
  const count = stuck.length === 2 && all ? 'both' : all ? `all ${stuck.length}` : String(stuck.length);
  return `${count} ${what}${what === 'process' ? 'es' : 's'} sleep and wait for each other`;
}

module.exports = { explain };
