'use strict';
// The kernel objects of a recording: pipes, sockets, shared memory. Everything here is derived from the calls alone:
// which object a descriptor refers to, and which sockets are connected.
const { addressKey } = require('./values.js');

/** @typedef {import('./decode.js').RawCall} RawCall */
/** @typedef {import('./decode.js').RawDescriptor} RawDescriptor */
/** @typedef {import('./raw.js').RawEvent} RawEvent */
/** @typedef {import('./raw.js').RawStep} RawStep */
/** @typedef {{id: string, kind: string, name: string, peer?: string, words?: string[]}} TracedObject */
/** @typedef {{do: string, fd?: number, object?: string, as?: string, pid?: number, from?: string, to?: string, bytes?: number}} Effect */
/** @typedef {{start: number, end: number, object: string}} Mapping */

/** @param {string} target of the descriptor's link in /proc */
function kindOf(target) {
  if (target.startsWith('pipe:')) return 'pipe';
  if (target.startsWith('socket:')) return 'socket';
  if (target.startsWith('/memfd:')) return 'memfd';
  if (target.startsWith('/dev/shm/sem.')) return 'semaphore';
  return target.startsWith('/dev/shm/') ? 'shm' : 'file';
}

/** @param {RawDescriptor} descriptor */
function idOf({ target, device, inode }) {
  const kind = kindOf(target);
  if (kind === 'pipe' || kind === 'socket') return target; // "pipe:[4711]" is unique
  return `${kind}:[${device}:${inode}]`;
}

/** @param {RawCall} call */
const succeeded = ({ result, error, end }) => end !== null && !error && !result.startsWith('-');

/** The objects of a recording and the connections between them. */
class Objects {
  /** @param {Map<number, string>} roles */
  constructor(roles) {
    this.roles = roles;
    /** @type {Map<string, TracedObject & {owner: number, target: string, used: boolean, family?: string}>} */
    this.known = new Map();
    /** @type {Map<string, string>} by "connect SOCKET": the listening socket it connected to */
    this.listeners = new Map();
  }

  /** @param {string} id @param {string[]} words */
  nameWords(id, words) {
    const object = this.known.get(id);
    if (object) object.words = words;
  }

  /** The id of a descriptor's object, which is added if it is new. @param {RawDescriptor} descriptor @param {number} pid */
  add(descriptor, pid) {
    const id = idOf(descriptor);
    if (!this.known.has(id)) {
      const { target } = descriptor;
      this.known.set(id, { id, kind: kindOf(target), name: target, owner: pid, target, used: false });
    }
    return id;
  }

  /** @param {string} a @param {string} b */
  connect(a, b) {
    for (const [one, other] of [
      [a, b],
      [b, a],
    ]) {
      const object = this.known.get(one);
      if (object) object.peer = other;
    }
  }

  /** All objects, with readable names. @returns {TracedObject[]} */
  list() {
    return [...this.known.values()].map(({ id, kind, target, owner, peer, words, family }) => {
      const role = this.roles.get(owner) ?? 'process';
      const object = { id, kind, name: nameOf({ kind, target, role, family }) };
      return { ...object, ...(peer ? { peer } : {}), ...(words ? { words } : {}) };
    });
  }
}

/** @param {{kind: string, target: string, role: string, family?: string}} object */
function nameOf({ kind, target, role, family }) {
  const path = target.replace(' (deleted)', '');
  switch (kind) {
    case 'pipe':
      return 'pipe';
    case 'listener':
      return 'listening socket';
    case 'socket':
      return `${family ?? 'socket'}${family ? ' socket' : ''} of the ${role}`;
    case 'memfd':
      return `memfd ${path.replace('/memfd:', '')} of the ${role}`;
    case 'shm':
      return `shared page ${path.replace('/dev/shm', '')}`;
    case 'semaphore':
      return `semaphore ${path.replace('/dev/shm/sem.', '/')}`;
    default:
      return path;
  }
}

const FAMILY_NAMES = /** @type {Record<number, string>} */ ({ 1: 'Unix', 2: 'TCP' });

/**
 * Finds all objects, the listening sockets, and the connections.
 * @param {RawCall[]} calls in the order of their ends
 * @param {Map<number, string>} roles
 */
function findObjects(calls, roles) {
  const objects = new Objects(roles);
  /** @type {Map<string, string>} the listening socket at an address */
  const bound = new Map();
  /** @type {Map<string, {arrived: string[], accepted: string[]}>} of each listening socket */
  const queues = new Map();
  /** @param {string} listener */
  const queueOf = (listener) => {
    const queue = queues.get(listener) ?? { arrived: [], accepted: [] };
    queues.set(listener, queue);
    return queue;
  };
  for (const call of calls) {
    const about = call.fds.map((descriptor) => objects.add(descriptor, call.pid));
    const made = call.made.map((descriptor) => objects.add(descriptor, call.pid));
    const object = objects.known.get(about[0] ?? '');
    // A descriptor that is only inherited and closed does not make its process the owner.
    for (const id of call.name === 'close' ? [] : about) {
      const used = objects.known.get(id);
      if (used && !used.used && used.kind !== 'semaphore') Object.assign(used, { used: true, owner: call.pid });
    }
    if (!succeeded(call)) continue;
    const address = call.in[1] ?? call.out[1];
    switch (call.name) {
      case 'socket':
      case 'socketpair':
        for (const id of made) {
          const socket = objects.known.get(id);
          if (socket) socket.family = FAMILY_NAMES[Number(call.args[0])];
        }
        if (made.length === 2) objects.connect(made[0], made[1]);
        break;
      case 'listen':
        if (object) object.kind = 'listener';
        break;
      case 'bind':
      case 'getsockname': // port 0 has been replaced by a real one
        bound.set(addressKey(Buffer.from(address, 'hex')), about[0]);
        break;
      case 'connect': {
        const listener = bound.get(addressKey(Buffer.from(address, 'hex')));
        if (!listener) break;
        queueOf(listener).arrived.push(about[0]);
        objects.listeners.set(`connect ${about[0]}`, listener);
        break;
      }
      case 'accept':
      case 'accept4': {
        const accepted = objects.known.get(made[0]);
        if (accepted) accepted.family = object?.family;
        queueOf(about[0]).accepted.push(made[0]);
        break;
      }
      case 'link': // sem_open() creates the file under a temporary name
      case 'linkat': {
        const [from, to] = call.name === 'link' ? [call.in[0], call.in[1]] : [call.in[1], call.in[3]];
        for (const known of objects.known.values()) if (known.target === from) known.target = to;
        break;
      }
    }
  }
  for (const { arrived, accepted } of queues.values()) {
    for (const [i, id] of accepted.entries()) if (arrived[i]) objects.connect(arrived[i], id);
  }
  return objects;
}

module.exports = { findObjects, idOf, succeeded };
