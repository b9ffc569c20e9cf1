'use strict';
// What each call and step changed, derived from the recording alone: what a descriptor refers to, what is mapped, how
// many bytes were copied where.
const { idOf, succeeded } = require('./objects.js');

/** @typedef {import('./decode.js').RawCall} RawCall */
/** @typedef {import('./objects.js').Effect} Effect */
/** @typedef {import('./objects.js').Mapping} Mapping */
/** @typedef {import('./raw.js').RawEvent} RawEvent */

const PIPE_ENDS = ['read end', 'write end'];

/** The mappings of one traced process. */
class Mappings {
  /** @param {Mapping[]} [list] */
  constructor(list = []) {
    this.list = list;
  }

  /** @param {number} address */
  at(address) {
    return this.list.findLast(({ start, end }) => address >= start && address < end);
  }

  /** @param {number} start @param {number} bytes @param {string} object */
  add(start, bytes, object) {
    this.list.push({ start, end: start + bytes, object });
  }

  /** Removes a range, and returns the objects that are no longer mapped at all. @param {number} start @param {number} bytes */
  remove(start, bytes) {
    const inside = (/** @type {Mapping} */ mapping) => mapping.start < start + bytes && mapping.end > start;
    const gone = this.list.filter(inside);
    this.list = this.list.filter((mapping) => !inside(mapping));
    return [...new Set(gone.map(({ object }) => object))].filter(
      (object) => !this.list.some((mapping) => mapping.object === object),
    );
  }
}

/** @param {number} size of the kernel's pages */
const roundUp = (size) => Math.ceil(size / 4096) * 4096;

/** The state of all traced processes, updated by each call. */
class Effects {
  /** @param {import('./objects.js').TracedObject[]} objects */
  constructor(objects) {
    this.objects = new Map(objects.map((object) => [object.id, object]));
    /** @type {Map<number, Mappings>} */
    this.processes = new Map();
    /** What each process has stored but not yet released. @type {Map<number, Set<string>>} */
    this.unreleased = new Map();
  }

  /** @param {number} pid */
  mappings(pid) {
    const known = this.processes.get(pid) ?? new Mappings();
    this.processes.set(pid, known);
    return known;
  }

  /** @param {RawEvent} event @returns {Effect[]} */
  of({ kind, raw }) {
    if (kind === 'syscall') return this.ofCall(raw);
    if (raw.step === 'release') return this.release(raw.pid);
    const object = this.mappings(raw.pid).at(raw.address)?.object;
    if (!object || (raw.step !== 'store' && raw.step !== 'load')) return [];
    if (raw.step === 'store') this.unreleased.set(raw.pid, (this.unreleased.get(raw.pid) ?? new Set()).add(object));
    return [{ do: raw.step, object, bytes: raw.bytes }];
  }

  /** Releases what the process has stored, so that the other process may read it. @param {number} pid @returns {Effect[]} */
  release(pid) {
    const objects = [...(this.unreleased.get(pid) ?? [])];
    this.unreleased.delete(pid);
    return objects.map((object) => ({ do: 'publish', object }));
  }

  /** The other end of a socket; a pipe is its own other end. @param {string} id */
  otherEnd(id) {
    return this.objects.get(id)?.peer ?? id;
  }

  /** @param {RawCall} call @returns {Effect[]} */
  ofCall(call) {
    if (call.name === 'exit_group') return [{ do: 'exit' }];
    if (!succeeded(call)) return [];
    const value = Number(call.result);
    const about = call.fds[0] ? idOf(call.fds[0]) : '';
    switch (call.name) {
      case 'pipe':
      case 'pipe2':
        return call.made.map((made, i) => ({ do: 'open', fd: made.fd, object: idOf(made), as: PIPE_ENDS[i] }));
      case 'socketpair':
      case 'socket':
      case 'accept':
      case 'accept4':
      case 'open':
      case 'openat':
      case 'memfd_create':
        return call.made.map((made) => ({ do: 'open', fd: made.fd, object: idOf(made) }));
      case 'close':
        return [{ do: 'close', fd: Number(BigInt.asIntN(32, BigInt(call.args[0]))) }];
      case 'mmap': {
        if (!about) return [];
        this.mappings(call.pid).add(value, roundUp(Number(call.args[1])), about);
        const readOnly = (Number(call.args[2]) & 3) === 1; // PROT_READ, and not PROT_WRITE
        return [{ do: 'map', object: about, ...(readOnly ? { as: 'read only' } : {}) }];
      }
      case 'futex': // a sem_post() that made a system call; otherwise it is a step
        return call.call === 'sem_post' ? this.release(call.pid) : [];
      case 'munmap': {
        const gone = this.mappings(call.pid).remove(Number(call.args[0]), roundUp(Number(call.args[1])));
        return gone.map((object) => ({ do: 'unmap', object }));
      }
      case 'clone': {
        this.processes.set(value, new Mappings([...this.mappings(call.pid).list]));
        return [{ do: 'fork', pid: value }];
      }
      case 'write':
      case 'sendto':
      case 'sendmsg': {
        /** @type {any[]} */
        const rights = call.in[1]?.rights ?? [];
        const passed = rights.map((right) => ({ do: 'pass', fd: right.fd, object: idOf(right) }));
        return [{ do: 'copy', from: 'process', to: this.otherEnd(about), bytes: value }, ...passed];
      }
      case 'read':
      case 'recvfrom':
      case 'recvmsg': {
        /** @type {any[]} */
        const rights = call.out[1]?.rights ?? [];
        const arrived = rights.map((right) => ({ do: 'open', fd: right.fd, object: idOf(right) }));
        const copy = { do: 'copy', from: about, to: 'process', bytes: value };
        return value > 0 ? [copy, ...arrived] : arrived;
      }
      default:
        return [];
    }
  }
}

module.exports = { Effects };
