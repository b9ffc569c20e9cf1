'use strict';
// The kernel objects that a program uses, and the two ends of its sockets.
const { LIMITS } = require('./limits.js');
const { printable } = require('../values.js');

/**
 * @typedef {object} RawDescriptor a descriptor as the tracer saw it
 * @property {number} fd
 * @property {string} target of its link in /proc
 * @property {number} device
 * @property {number} inode
 * @property {'r' | 'w' | 'rw'} [access] only where the tracer looked closely, as the following
 * @property {number} [mode]
 * @property {number} [closedByExec]
 * @property {number} [number] of an eventfd
 * @property {{family: number, kind: number, listens?: number, limited?: number, givesUp?: number, underWay?: number, local?: string, remote?: string, peer?: number}} [socket]
 */
/**
 * @typedef {object} ProgramObject
 * @property {number} id its index
 * @property {string} kind
 * @property {string} name such as "pipe A"
 * @property {number | null} peer the other end of a socket
 * @property {boolean} [outside] it existed before the program or has a name, so others may hold it, too
 * @property {boolean} [listens]
 * @property {number} [underWay] bytes that were written to a TCP socket and have not reached the other end yet, as of the last look
 * @property {string} [local] addresses of a socket
 * @property {string} [remote]
 */

/** @type {[RegExp, string][]} */
const KINDS = [
  [/^pipe:/, 'pipe'],
  [/^socket:/, 'socket'],
  [/^anon_inode:\[?eventfd/, 'eventfd'],
  [/^anon_inode:\[?eventpoll/, 'epoll'],
  [/^anon_inode:\[?timerfd/, 'timerfd'],
  [/^anon_inode:\[?signalfd/, 'signalfd'],
  [/^anon_inode:\[?pidfd/, 'pidfd'],
  [/^pidfd:/, 'pidfd'],
  [/^anon_inode:\[?io_uring/, 'io_uring'],
  [/^anon_inode:inotify/, 'inotify'],
  [/^anon_inode:/, 'other'],
  [/^\/memfd:/, 'memfd'],
  [/^\/dev\/(pts\/\d+|tty\d*|console)$/, 'terminal'],
  [/^\/dev\/shm\//, 'shm'],
];
const REMOVED = / \(deleted\)$/;
const SOCK_DGRAM = 2;
/** By the file type in the mode. @type {Record<number, string>} */
const FILE_KINDS = { 4096: 'pipe', 8192: 'device', 16384: 'folder', 24576: 'device' };

/** @param {RawDescriptor} raw */
function kindOf({ target, mode = 0 }) {
  return KINDS.find(([pattern]) => pattern.test(target))?.[1] ?? FILE_KINDS[mode] ?? 'file';
}

/** A key that all descriptors of one object have; null if only its history identifies it. @param {RawDescriptor} raw */
function keyOf({ target, device, inode, number }) {
  if (number !== undefined) return `eventfd:${number}`;
  if (target.startsWith('anon_inode:')) return null;
  if (target.startsWith('pipe:') || target.startsWith('socket:')) return target;
  return `${device}:${inode}:${target.replace(REMOVED, '')}`; // a file is the same after its name is removed
}

/** A, B, ... Z, AA, AB, ... @param {number} n from 0 @returns {string} */
const lettersOf = (n) => (n < 26 ? '' : lettersOf(Math.floor(n / 26) - 1)) + String.fromCharCode(65 + (n % 26));

/** @type {Record<number, string>} */
const FAMILIES = { 1: 'Unix', 2: 'TCP', 10: 'TCP', 16: 'netlink' };
const NAMED_BY_LETTER = [
  'pipe',
  'socket',
  'eventfd',
  'epoll',
  'timerfd',
  'signalfd',
  'pidfd',
  'io_uring',
  'inotify',
  'other',
];

/** @param {RawDescriptor} raw */
function labelOf({ socket }) {
  if (!socket) return 'socket';
  const internet = socket.family === 2 || socket.family === 10;
  const label = internet && socket.kind === 2 ? 'UDP' : FAMILIES[socket.family];
  return label ? `${label} socket` : 'socket';
}

/** A client of IPv4 and its end at a server of IPv6 have the same addresses. @param {string} address */
const withoutMapping = (address) => address.replace(/^\[::ffff:(\d+\.\d+\.\d+\.\d+)\]/, '$1');

class Objects {
  constructor() {
    /** @type {ProgramObject[]} */
    this.list = [];
    /** There were more than the limit: the last one stands for all that are not listed. */
    this.isFull = false;
    /** @type {Map<string, number>} */
    this.byKey = new Map();
    /** @type {Map<string, number>} how many objects have names that begin so */
    this.letters = new Map();
    /** Sockets by their type and addresses, "TYPE LOCAL>REMOTE". @type {Map<string, number>} */
    this.byAddresses = new Map();
    /** Objects whose peer has not been seen yet, by its key. @type {Map<string, number>} */
    this.awaited = new Map();
    /** Listening sockets by their address. @type {Map<string, number>} */
    this.listeners = new Map();
    /** Sockets of datagrams: each may come from anybody, and go to anybody, whose unread ones take its room. @type {Set<number>} */
    this.mailboxes = new Set();
    /** Sockets with time limits: 1 for their reads, 2 for their writes, 3 for both. @type {Map<number, number>} */
    this.timed = new Map();
    /** Sockets with TCP_USER_TIMEOUT: the kernel ends the connection if the other end acknowledges nothing. @type {Set<number>} */
    this.impatient = new Set();
    /** Sockets that the tracer could look at. Of others, neither the other end nor the options are known. @type {Set<number>} */
    this.looked = new Set();
  }

  /** The object of a descriptor, which is added if it is new. @param {RawDescriptor} raw */
  of(raw) {
    const key = keyOf(raw);
    let id = key === null ? undefined : this.byKey.get(key);
    id ??= this.add(raw, key);
    if (raw.socket && !this.isRest(id)) this.connectByAddress(id, raw.socket);
    return id;
  }

  /** @param {RawDescriptor} raw @param {string | null} key */
  add(raw, key) {
    const id = this.list.length;
    if (id >= LIMITS.objects - 1) return this.addRest();
    const kind = kindOf(raw);
    const named = kind === 'pipe' && raw.target.startsWith('/'); // any process can open it
    this.list.push({ id, kind, name: this.nameOf(kind, raw), peer: null, ...(named ? { outside: true } : {}) });
    if (key !== null) this.byKey.set(key, id);
    const waiting = key === null ? undefined : this.awaited.get(key);
    if (waiting !== undefined) this.connect(waiting, id);
    return id;
  }

  /** Returns the object that stands for all beyond the limit. */
  addRest() {
    const id = LIMITS.objects - 1;
    this.isFull = true;
    if (this.list.length === id)
      this.list.push({ id, kind: 'other', name: 'an object that is not listed', peer: null });
    return id;
  }

  /** @param {number} id */
  isRest(id) {
    return id === LIMITS.objects - 1;
  }

  /** @param {string} kind @param {RawDescriptor} raw */
  nameOf(kind, raw) {
    const path = printable(raw.target.replace(REMOVED, ''));
    if (kind === 'memfd') return `memfd ${path.slice('/memfd:'.length)}`;
    if (!NAMED_BY_LETTER.includes(kind) || (kind === 'pipe' && path.startsWith('/'))) return path;
    const label = kind === 'socket' ? labelOf(raw) : kind === 'other' ? path.slice('anon_inode:'.length) : kind;
    const count = this.letters.get(label) ?? 0;
    this.letters.set(label, count + 1);
    return `${label} ${lettersOf(count)}`;
  }

  /** @param {number} a @param {number} b */
  connect(a, b) {
    if (this.isRest(a) || this.isRest(b)) return;
    this.list[a].peer = b;
    this.list[b].peer = a;
  }

  /** @param {number} id @param {NonNullable<RawDescriptor['socket']>} socket */
  connectByAddress(id, { family, kind, listens, limited, givesUp, underWay, local, remote, peer }) {
    const object = this.list[id];
    this.looked.add(id);
    if (underWay || object.underWay) object.underWay = underWay ?? 0;
    if (local) object.local = printable(local);
    if (remote) object.remote = printable(remote);
    this.timed.set(id, limited ?? 0); // a program may take it away again
    this.impatient[givesUp ? 'add' : 'delete'](id);
    if (kind === SOCK_DGRAM) this.mailboxes.add(id);
    if (listens) {
      object.listens = true;
      if (local) this.listeners.set(local, id);
    }
    if (object.peer !== null) return;
    if (peer) {
      const other = this.byKey.get(`socket:[${peer}]`);
      if (other === undefined) this.awaited.set(`socket:[${peer}]`, id);
      else this.connect(id, other);
    } else if (family !== 1 && local && remote) {
      const [near, far] = [local, remote].map(withoutMapping);
      this.byAddresses.set(`${kind} ${near}>${far}`, id);
      const other = this.byAddresses.get(`${kind} ${far}>${near}`);
      if (other !== undefined && other !== id) this.connect(id, other);
    }
  }

  /** May the kernel end this connection? @param {number} id */
  mayBeGivenUp(id) {
    const { peer } = this.list[id];
    return this.impatient.has(id) || (peer !== null && this.impatient.has(peer));
  }

  /** The listening socket that a connect() to an address reaches. @param {string} address */
  listenerAt(address) {
    const port = /:(\d+)$/.exec(address)?.[1];
    const all = [address, `0.0.0.0:${port}`, `[::]:${port}`];
    return all.map((candidate) => this.listeners.get(candidate)).find((id) => id !== undefined);
  }
}

module.exports = { Objects, keyOf, kindOf };
