'use strict';
// Who could wake a thread: the processes that hold the other end of what it waits for, and their names in a sentence.

/** @typedef {import('./stuck.js').Recorder} Recorder */
/** @typedef {import('./stuck.js').Task} Task */
/** @typedef {{pid: number, fd: number | null, tid?: number, fds?: number[]}} Holder `fds`: all its descriptors of the object */

const MAX_SHOWN = 8; // threads in the sentence, and names in each part of it

/** @param {string[]} words */
const listed = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

/** The same, without all of a long list. @param {string[]} words */
const someOf = (words) =>
  words.length > MAX_SHOWN ? listed([...words.slice(0, MAX_SHOWN), `${words.length - MAX_SHOWN} more`]) : listed(words);

/** The threads and processes of the program at one moment. */
class Holders {
  /** @param {Recorder} recorder @param {Task[]} tasks */
  constructor(recorder, tasks) {
    this.recorder = recorder;
    this.tasks = tasks;
    this.objects = recorder.objects.list;
    /** Who holds which end of an object: many threads can wait for the same. @type {Map<string, Holder[]>} */
    this.held = new Map();
  }

  /** Who holds an end of an object. @param {number} object @param {'read' | 'write' | 'any'} end @param {boolean} [both] or both ends in one */
  holders(object, end, both = false) {
    const key = `${object} ${end} ${both}`;
    const known = this.held.get(key);
    if (known) return known;
    const which = (/** @type {string | null} */ held) => end === 'any' || held === end || (both && held === 'both');
    const holders = this.recorder.descriptors.holders(object, which);
    this.held.set(key, holders);
    return holders;
  }

  /** @param {number} pid */
  threadsOf(pid) {
    return this.tasks.filter((task) => task.pid === pid);
  }

  /** @param {number} pid */
  processName(pid) {
    return `${this.recorder.alive.get(pid)?.name ?? 'process'} ${pid}`;
  }

  /** @param {Task} task */
  nameOf({ pid, tid, name }) {
    if (this.threadsOf(pid).length > 1) return `thread ${tid} of ${this.processName(pid)}`;
    return tid === pid ? this.processName(pid) : `${name} ${tid}`;
  }

  /** Their names, each once. @param {Holder[]} holders @param {number} own the process that waits */
  namesOf(holders, own) {
    const pids = [...new Set(holders.map(({ pid }) => pid))];
    const fds = holders.flatMap(({ pid, fd, fds: all }) => (pid === own && fd !== null ? (all ?? [fd]) : []));
    const itself = `the process itself (${fds.length > 1 ? 'descriptors' : 'descriptor'} ${someOf(fds.map(String))})`;
    return someOf(pids.map((pid) => (pid === own && fds.length ? itself : this.processName(pid))));
  }

  /** @param {number} pid @returns {Holder[]} */
  childrenOf(pid) {
    return this.recorder.processes
      .filter((process) => process.parent === pid && process.end === null)
      .map((child) => ({ pid: child.pid, fd: null }));
  }

  /** Who holds the other end, in words. @param {string} kind @param {boolean} reads @param {number} end @param {Holder[]} heldBy @param {number} pid */
  relation(kind, reads, end, heldBy, pid) {
    const names = this.namesOf(heldBy, pid);
    if (kind === 'socket') {
      const other = `whose other end, ${this.objects[end].name}, only ${names} holds`;
      return reads ? other : `which is full and ${other}`;
    }
    if (!reads) return `which is full and which only ${names} can read`;
    const never = kind === 'pipe' && heldBy.every((holder) => holder.pid === pid);
    return `which only ${names} can write${never ? ', so it never sees the end of file' : ''}`;
  }

  /** @param {Holder[]} holders */
  threadsOfAll(holders) {
    const pids = new Set(holders.map(({ pid }) => pid));
    return this.tasks.filter(({ pid }) => pids.has(pid)).map(({ tid }) => tid);
  }
}

module.exports = { Holders, listed, MAX_SHOWN };
