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
/** Calls that find what another process may have made, if it is new to the recorder. */
const FINDERS = ['open', 'openat', 'openat2', 'pidfd_getfd'];
const CHANNELS = ['pipe', 'socket', 'eventfd'];
/** With these, the kernel reads and writes for a process while all its threads sleep. */
const ASYNCHRONOUS = ['io_uring_setup', 'io_setup'];
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

/** Does this call make a process that is not recorded, as its creator wishes? @param {string} name @param {string[]} args @param {any} input */
function isUntraced(name, args, input) {
  const flags =
    name === 'clone3' ? `0x${(input[0] ?? '').slice(0, 8).match(/../g)?.reverse().join('') ?? '0'}` : args[0];
  return (name === 'clone' || name === 'clone3') && (BigInt(flags) & CLONE_UNTRACED) !== 0n;
}

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
    if (result.startsWith('-')) return;
    if (name === 'alarm' && args[0] === '0x0') this.timers.delete(pid);
    else if (name === 'timer_settime') this.posixTimers.add(pid);
    else if (TIMER_CALLS.includes(name)) this.timers.add(pid);
    if (name === 'rt_sigaction' && input[1]) this.handle(pid, nameOf(Number(args[0])), input[1]);
    if (ASYNCHRONOUS.includes(name)) this.isUnsure = true;
    if (isUntraced(name, args, input)) this.isIncomplete = true;
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
    }
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
    if (this.isUnsure || outside || this.objects.mailboxes.has(id)) return true;
    if (kind === 'socket' && this.isForeign(id)) return true;
    const ends = kind === 'socket' && peer !== null ? [id, peer] : [id];
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
