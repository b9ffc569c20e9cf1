'use strict';
// Who holds which end of what, and when: one table of descriptors per process, kept by the calls that were seen and
// corrected by what the tracer saw in /proc.
const { LIMITS } = require('./limits.js');
const { keyOf, kindOf } = require('./objects.js');

/** @typedef {import('./objects.js').RawDescriptor} RawDescriptor */
/** @typedef {InstanceType<typeof import('./objects.js').Objects>} Objects */
/** @typedef {'read' | 'write' | 'both' | null} End the end of a pipe */
/** @typedef {{pid: number, fd: number, object: number, end: End, from: number, until: number | null}} Holding */

const ENDS = /** @type {const} */ ({ r: 'read', w: 'write', rw: 'both' });

class Descriptors {
  /** @param {Objects} objects */
  constructor(objects) {
    this.objects = objects;
    /** Of each process; two processes can share one. @type {Map<number, Map<number, Holding>>} */
    this.tables = new Map();
    /** @type {Holding[]} */
    this.list = [];
    /** One more than the limit was seen. It is in its table, but not in the list. */
    this.isFull = false;
  }

  /** @param {number} pid */
  table(pid) {
    const table = this.tables.get(pid) ?? new Map();
    this.tables.set(pid, table);
    return table;
  }

  /** A new process has its parent's descriptors. @param {number} parent @param {number} pid @param {boolean} shared @param {number} t */
  fork(parent, pid, shared, t) {
    const inherited = this.tables.get(parent);
    if (!inherited) return;
    if (shared) {
      this.tables.set(pid, inherited);
      return;
    }
    for (const { fd, object, end } of inherited.values()) this.add(pid, { fd, object, end }, t);
  }

  /** @param {number} pid @param {{fd: number, object: number, end: End}} what @param {number} from */
  add(pid, { fd, object, end }, from) {
    const holding = { pid, fd, object, end, from, until: null };
    this.table(pid).set(fd, holding);
    this.isFull ||= this.list.length >= LIMITS.holdings;
    if (!this.isFull) this.list.push(holding);
  }

  /** @param {number} pid @param {number} fd @param {number} t */
  close(pid, fd, t) {
    const holding = this.table(pid).get(fd);
    if (holding) holding.until = t;
    this.table(pid).delete(fd);
    return holding;
  }

  /** @param {(holding: Holding) => boolean} isUnwanted */
  forget(isUnwanted) {
    this.list = this.list.filter((holding) => !isUnwanted(holding));
  }

  /**
   * What the tracer saw behind a descriptor. Returns the object.
   * @param {number} pid
   * @param {RawDescriptor} raw
   * @param {number} t
   * @param {number} [copyOf] the descriptor that this one was duplicated from
   */
  see(pid, raw, t, copyOf) {
    const table = this.table(pid);
    const known = table.get(raw.fd);
    const source = copyOf === undefined ? undefined : table.get(copyOf);
    const same = (/** @type {Holding | undefined} */ holding) =>
      holding &&
      (keyOf(raw) === null
        ? this.objects.list[holding.object].kind === kindOf(raw)
        : this.objects.byKey.get(String(keyOf(raw))) === holding.object);
    if (source && keyOf(raw) === null) {
      this.replace(pid, { fd: raw.fd, object: source.object, end: source.end }, t);
      return source.object;
    }
    if (known && copyOf === undefined && same(known)) {
      if (raw.access && known.end === null && this.hasEnds(known.object)) known.end = ENDS[raw.access];
      return raw.socket ? this.objects.of(raw) : known.object;
    }
    const object = this.objects.of(raw);
    this.replace(pid, { fd: raw.fd, object, end: this.hasEnds(object) && raw.access ? ENDS[raw.access] : null }, t);
    return object;
  }

  /** @param {number} object */
  hasEnds(object) {
    return this.objects.list[object].kind === 'pipe';
  }

  /** @param {number} pid @param {{fd: number, object: number, end: End}} what @param {number} t */
  replace(pid, what, t) {
    this.close(pid, what.fd, t);
    this.add(pid, what, t);
  }

  /**
   * The descriptors of a process, as they are now: all, or those up to a number if there are too many.
   * @param {number} pid
   * @param {RawDescriptor[]} raw
   * @param {number} t
   * @param {number} [listedTo]
   * @returns {(Holding | undefined)[]} what it holds no longer
   */
  seeAll(pid, raw, t, listedTo = Infinity) {
    const open = new Set(raw.map(({ fd }) => fd));
    const gone = [...this.table(pid).keys()].filter((fd) => fd <= listedTo && !open.has(fd));
    const closed = gone.map((fd) => this.close(pid, fd, t));
    for (const descriptor of raw) this.see(pid, descriptor, t);
    return closed;
  }

  /** The process has ended. Returns what it held. @param {number} pid @param {number} t */
  end(pid, t) {
    const table = this.table(pid);
    this.tables.delete(pid);
    if ([...this.tables.values()].includes(table)) return []; // another process shares it
    const held = [...table.values()];
    for (const holding of held) holding.until = t;
    return held;
  }

  /**
   * Who holds an object now: one entry per process, since a process can have many copies of a descriptor.
   * @param {number} object
   * @param {(end: End) => boolean} [which]
   * @returns {{pid: number, fd: number, fds: number[]}[]} with the first of its descriptors, and all
   */
  holders(object, which = () => true) {
    const holders = [];
    for (const [pid, table] of this.tables) {
      const fds = [];
      for (const holding of table.values()) if (holding.object === object && which(holding.end)) fds.push(holding.fd);
      if (fds.length) holders.push({ pid, fd: fds[0], fds });
    }
    return holders;
  }
}

module.exports = { Descriptors };
