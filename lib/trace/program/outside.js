'use strict';
// Who else could wake a thread: processes that are not recorded. They can open what has a name, map what others share,
// hold locks of files, and send signals; and a timer needs no process at all. What such a process could end is no
// deadlock, even if it never does: the recorder cannot know.
const { signalNames } = require('../constants.js');

/** @typedef {InstanceType<typeof import('./objects.js').Objects>} Objects */
/** @typedef {import('./stuck.js').Task} Task */
/** @typedef {{address: string, times: number, others: boolean}} Handler how often it was installed, and whether there was another one */

const TIMER_CALLS = ['alarm', 'setitimer'];
const SIGCHLD = 17;
const CLONE_UNTRACED = 0x800000n;
const CLONE_VM = 0x100n;
const CLONE_FILES = 0x400n;
const CLONE_VFORK = 0x4000n;
const CLONE_THREAD = 0x10000n;
const CLONE_NEWPID = 0x20000000n;
const PR_SET_CHILD_SUBREAPER = 36;
const NOTIFYING = [1024, 1026]; // F_SETLEASE, F_NOTIFY
const F_SETFL = 4;
const O_ASYNC = 0o20000;
const FIOASYNC = 0x5452;
const NEW_LISTENER = 8;
const MSG_PEEK = 2;
const CLOSE_RANGE_UNSHARE = 2;
/** Calls that find what another process may have made, if it is new to the recorder. */
const FINDERS = ['open', 'openat', 'openat2'];
const CHANNELS = ['pipe', 'socket', 'eventfd'];
/**
 * After these, what a descriptor refers to, or who can reach it, is not known: the kernel reads and writes for a process while all its
 * threads sleep, a thread has descriptors of its own, or it gets those of others.
 */
const UNUSUAL = (
  'io_uring_setup io_setup unshare setns pidfd_getfd open_by_handle_at userfaultfd ' +
  'ptrace bpf perf_event_open fanotify_init fsmount open_tree'
).split(' ');
const SOL_SOCKET = 1;
/** SO_RCVBUF, SO_RCVLOWAT, SO_RCVBUFFORCE: the kernel tells the other end of a TCP connection later, by a timer of its own. */
const RECEIVING_OPTIONS = [8, 18, 33];
/** Calls that make sockets with another end. */
const PAIRING = ['socketpair', 'accept', 'accept4'];
const CONNECTING = ['-115', '-4']; // EINPROGRESS, EINTR: it goes on
/**
 * Options of sockets, by level, that change nothing about who wakes a thread, or that the tracer looks at, such as time limits. Others can
 * make the kernel hold data back.
 * @type {Record<number, number[]>}
 */
const UNDERSTOOD_OPTIONS = {
  0: [1, 10, 11], // IP_TOS, IP_MTU_DISCOVER, IP_RECVERR
  1: [2, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 21, 32, 33, 66, 67], // SO_REUSEADDR, SO_LINGER, SO_RCVTIMEO ...
  6: [1, 2, 4, 5, 6, 7, 8, 12, 13, 18], // TCP_NODELAY, TCP_MAXSEG, TCP_KEEPIDLE to TCP_LINGER2, TCP_QUICKACK, TCP_CONGESTION, TCP_USER_TIMEOUT
  41: [25, 26, 67], // IPV6_RECVERR, IPV6_V6ONLY, IPV6_TCLASS
};
/**
 * Signals that tell a thread about itself or its children, not about the wish of another process: errors, broken pipes,
 * urgent data, profilers, limits, and the two that libc uses for its threads. Many runtimes catch them.
 */
const KERNEL_SIGNALS = ['ILL', 'TRAP', 'ABRT', 'BUS', 'FPE', 'SEGV', 'SYS', 'STKFLT', 'PIPE', 'CHLD', 'URG', 'PROF']
  .concat(['VTALRM', 'XCPU', 'XFSZ'])
  .map((name) => `SIG${name}`);
const LIBC_SIGNALS = [32, 33];
/**
 * Signals that these programs catch no matter what they run: in order to clean up and end, or as a setting. They are
 * not waiting for them. If a script installs a handler of its own, that one counts.
 * @type {[RegExp, string[]][]}
 */
const OWN_HANDLERS = [
  [/^((ba|da)sh|busybox)$/, ['SIGINT']],
  [/^python[\d.]*$/, ['SIGINT']],
  [/^node$/, ['SIGINT', 'SIGTERM', 'SIGUSR1']], // JavaScript learns of a signal only in its event loop
  [/^g?make$/, ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1']],
  [/^xargs$/, ['SIGUSR1', 'SIGUSR2']],
];

/** @param {number} number */
const nameOf = (number) => signalNames.get(number) ?? `signal ${number}`;

/** The numbers in a set of signals, as /proc shows it. @param {string | undefined} mask */
function signalsIn(mask = '0x0') {
  const set = BigInt(mask);
  const numbers = [];
  for (let number = 1; number <= 64; number++) if (set & (1n << BigInt(number - 1))) numbers.push(number);
  return numbers;
}

/** What a new process or thread shares with its creator. @param {string} name @param {string[]} args @param {any} input */
function cloneFlags(name, args, input) {
  if (name === 'clone') return BigInt(args[0]);
  if (name !== 'clone3') return 0n;
  return BigInt(`0x${(input[0] ?? '').slice(0, 8).match(/../g)?.reverse().join('') ?? '0'}`);
}

/** Is it no longer known after this call what descriptors refer to, or who can reach that? @param {string} name @param {string[]} args @param {bigint} flags of a clone */
function isUnusual(name, args, flags) {
  if (UNUSUAL.includes(name)) return true;
  if (name === 'close_range') return (Number(args[2]) & CLOSE_RANGE_UNSHARE) !== 0;
  if (name === 'setsockopt') return !UNDERSTOOD_OPTIONS[Number(args[1])]?.includes(Number(args[2]));
  return (flags & CLONE_THREAD) !== 0n && (flags & CLONE_FILES) === 0n;
}

/** Does a new process share memory or descriptors with its creator, as a thread would? @param {bigint} flags of a clone */
const isHalfThread = (flags) =>
  (flags & (CLONE_VM | CLONE_FILES)) !== 0n && (flags & (CLONE_THREAD | CLONE_VFORK)) === 0n;

/** Does the kernel act for others from now on: tell of what happens to files and queues, or let another process answer calls? @param {string} name @param {string[]} args */
const asksKernel = (name, args) =>
  (name === 'fcntl' && NOTIFYING.includes(Number(args[1]))) ||
  (name === 'fcntl' && Number(args[1]) === F_SETFL && (Number(args[2]) & O_ASYNC) !== 0) ||
  (name === 'ioctl' && Number(args[1]) === FIOASYNC) ||
  name === 'mq_notify' ||
  (name === 'seccomp' && (Number(args[1]) & NEW_LISTENER) !== 0);

/** Does a setsockopt() change when the other end is told of room? @param {string[]} args */
const changesReceiving = ([, level, option]) =>
  Number(level) === SOL_SOCKET && RECEIVING_OPTIONS.includes(Number(option));

class Outside {
  /** @param {Objects} objects */
  constructor(objects) {
    this.objects = objects;
    /** Processes that get a signal from a timer. @type {Set<number>} */
    this.timers = new Set();
    /** Likewise, from those that alarm(0) does not end. @type {Set<number>} */
    this.posixTimers = new Set();
    /** Objects that were sent through a socket. @type {Map<number, Set<number>>} */
    this.sentThrough = new Map();
    /** How many descriptors of an object are on their way through sockets, if any ever were. @type {Map<number, number>} */
    this.inFlight = new Map();
    /** Is there a process that adopts the children of those that end? */
    this.adopts = false;
    /** Sockets that have had another end. @type {Set<number>} */
    this.connectedOnce = new Set();
    /** Anything may be used by others: not all that the program inherited or exchanged is known, or the kernel works for it. */
    this.isUnsure = false;
    /** Not all calls are known, or not all processes: any thread could be woken. */
    this.isIncomplete = false;
    /** The file that each process executes. @type {Map<number, string>} */
    this.programs = new Map();
    /** Of each process, by signal. @type {Map<number, Map<string, Handler>>} */
    this.handlers = new Map();
  }

  /** A new process has its parent's handlers. @param {number} parent @param {number} pid */
  fork(parent, pid) {
    this.programs.set(pid, this.programs.get(parent) ?? '');
    const copies = [...(this.handlers.get(parent) ?? [])].map(([name, handler]) => [name, { ...handler }]);
    this.handlers.set(pid, new Map(/** @type {[string, Handler][]} */ (copies)));
  }

  /** Does a timer send a signal to this process? @param {number} pid */
  hasTimer(pid) {
    return this.timers.has(pid) || this.posixTimers.has(pid);
  }

  /** @param {number} pid @param {string} program */
  exec(pid, program) {
    this.programs.set(pid, program.replace(/^.*\//, ''));
    this.handlers.delete(pid);
  }

  /**
   * Learns from a call that has returned.
   * @param {any} raw with what its descriptors refer to: `objects`, `madeObjects`, and those that it sent or received;
   *     those from `known` on are new
   */
  learn({ pid, name, args, in: input, objects, result, known, madeObjects, received, sent }) {
    if (name === 'connect' && objects[0] !== undefined) this.connected(objects[0], result);
    if (result.startsWith('-')) return;
    if (name === 'alarm' && args[0] === '0x0') this.timers.delete(pid);
    else if (name === 'timer_settime') this.posixTimers.add(pid);
    else if (TIMER_CALLS.includes(name)) this.timers.add(pid);
    if (name === 'rt_sigaction' && input[1]) this.handle(pid, nameOf(Number(args[0])), input[1]);
    if (PAIRING.includes(name)) for (const id of madeObjects) this.connectedOnce.add(id);
    const flags = cloneFlags(name, args, input);
    if (isUnusual(name, args, flags)) this.isUnsure = true;
    if ((flags & CLONE_UNTRACED) !== 0n || isHalfThread(flags) || name.startsWith('compat_')) this.isIncomplete = true;
    if (asksKernel(name, args)) this.isIncomplete = true;
    if ((flags & CLONE_NEWPID) !== 0n || name === 'unshare' || name === 'setns') this.adopts = true;
    if (name === 'prctl' && Number(args[0]) === PR_SET_CHILD_SUBREAPER) this.adopts = true;
    if (name === 'setsockopt' && changesReceiving(args) && this.connectedOnce.has(objects[0]))
      this.objects.list[objects[0]].outside = true;
    // What was exchanged may be anything that this process had, or may get again: a socket through which more is sent, memory, the number of
    // an eventfd that was closed.
    if (received.length + sent.length > 0 && (objects[0] === undefined || this.isForeign(objects[0])))
      this.isUnsure = true;
    const isNew = (/** @type {number} */ id) => id >= known;
    for (const id of received.filter(isNew)) this.objects.list[id].outside = true;
    for (const id of FINDERS.includes(name) ? madeObjects.filter(isNew) : [])
      if (CHANNELS.includes(this.objects.list[id].kind)) this.objects.list[id].outside = true;
    for (const object of sent) {
      const sockets = this.sentThrough.get(object) ?? new Set();
      this.sentThrough.set(object, sockets.add(objects[0]));
      this.inFlight.set(object, (this.inFlight.get(object) ?? 0) + 1);
    }
    const isCopy = name === 'recvmsg' && (Number(args[2]) & MSG_PEEK) !== 0; // what was sent is still on its way
    for (const object of isCopy ? [] : received)
      this.inFlight.set(object, Math.max(0, (this.inFlight.get(object) ?? 0) - 1));
  }

  /**
   * A socket that has another end, or had one, is connected again: TCP sockets can be disconnected, and either end of a pair of datagram
   * sockets can be connected elsewhere. Then nothing is known of its other end.
   * @param {number} id
   * @param {string} result
   */
  connected(id, result) {
    if (result.startsWith('-') && !CONNECTING.includes(result)) return;
    const object = this.objects.list[id];
    if (this.connectedOnce.has(id)) object.outside = true;
    this.connectedOnce.add(id);
  }

  /** A process installs a handler, or none: the addresses 0 and 1. @param {number} pid @param {string} signal @param {string} address */
  handle(pid, signal, address) {
    if (/^0[01]0*$/.test(address)) return;
    const all = this.handlers.get(pid) ?? new Map();
    const { address: former = address, times = 0, others = false } = all.get(signal) ?? {};
    this.handlers.set(pid, all.set(signal, { address, times: times + 1, others: others || former !== address }));
  }

  /**
   * Whether processes that are not recorded can write to, or read from, what a thread waits for.
   * @param {number} id of the object
   * @returns {boolean}
   */
  reaches(id) {
    const { outside, kind, peer } = this.objects.list[id];
    if (kind === 'socket' && !this.objects.looked.has(id)) return true;
    if (this.isUnsure || outside || this.objects.mailboxes.has(id)) return true;
    if (kind === 'socket' && this.isForeign(id)) return true;
    const ends = kind === 'socket' && peer !== null ? [id, peer] : [id];
    if (ends.some((end) => Number(this.inFlight.get(end)) > 0)) return true;
    return ends.some((end) => [...(this.sentThrough.get(end) ?? [])].some((socket) => this.isForeign(socket)));
  }

  /** Whether the other end of a socket may be outside. @param {number} id */
  isForeign(id) {
    const { outside, peer } = this.objects.list[id];
    return Boolean(outside) || peer === null || Boolean(this.objects.list[peer].outside);
  }

  /**
   * The signals for which a process has handlers of its own, and which one of its threads admits. A handler can do
   * anything that wakes a thread: write into a pipe, post a semaphore, interrupt the call.
   * @param {Task[]} threads of the process
   */
  signalsTo(threads) {
    const { pid } = threads[0];
    const program = this.programs.get(pid) ?? '';
    const own = OWN_HANDLERS.find(([pattern]) => pattern.test(program))?.[1] ?? [];
    const admitted = new Set(
      threads.flatMap(({ caught, blocked }) => {
        const refused = new Set(signalsIn(blocked));
        return signalsIn(caught).filter((number) => !refused.has(number) && !LIBC_SIGNALS.includes(number));
      }),
    );
    return [...admitted]
      .map(nameOf)
      .filter((name) => !KERNEL_SIGNALS.includes(name) && !(own.includes(name) && !this.isOfScript(pid, name)));
  }

  /** Whether a script has installed a handler in the program that interprets it. @param {number} pid @param {string} signal */
  isOfScript(pid, signal) {
    const handler = this.handlers.get(pid)?.get(signal);
    if (!handler) return false;
    // Python installs the same function for each handler of a script; bash has another one for its traps.
    // dash makes no call for a trap of SIGINT, but runs it only after the child that it waits for has ended.
    return /^python/.test(this.programs.get(pid) ?? '') ? handler.times > 1 : handler.others;
  }

  /** Whether a process is told of the end of its children. @param {Task[]} threads */
  hearsOfChildren(threads) {
    return threads.some(({ caught }) => signalsIn(caught).includes(SIGCHLD));
  }

  /**
   * Whether a process that is not recorded can wake a futex: in memory that it maps, or can map by its name.
   * @param {Task} task
   */
  sharesFutex({ sharing }) {
    if (!sharing) return false;
    const { path, outside } = sharing;
    return Boolean(outside) || this.isUnsure || path.startsWith('/SYSV') || !path.endsWith(' (deleted)');
  }
}

module.exports = { Outside };
