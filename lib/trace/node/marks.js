'use strict';
// Reads the marks that lines.js left among a program's calls, and finds the line of JavaScript that each call belongs to.
const { join } = require('node:path');

/** @typedef {import('../../measure/programs.js').ProgramEvent} Line */
/**
 * The line that a call belongs to. Without `why`, the line was on the stack when the call was made. "continued": it had led
 * to the callback that made the call. "queued": it had given the work to the thread pool. "created": it had created the
 * descriptor that libuv used by itself. "spawned": it created the process, in which no program had begun yet.
 * @typedef {{file: string, line: number, why?: 'continued' | 'queued' | 'created' | 'spawned'}} Source
 */

const PREFIX = '/.crossings-lines/';
const PRELOAD = join(__dirname, 'lines.js');
const MARK_CALLS = new Set(['access', 'faccessat', 'faccessat2']);

const LINE = /^[1-9]\d{0,8}$/; // a hostile program can make marks, too

/** "called/12//work/app.js" @param {string[]} words @returns {Source | null} */
function sourceIn([why, line, ...file]) {
  if (!line || !LINE.test(line)) return null;
  return { file: file.join('/'), line: Number(line), ...(why === 'continued' ? { why } : {}) };
}

/** The text of a mark; null: the call is the program's own. @param {Line} enter */
function markIn(enter) {
  if (!MARK_CALLS.has(enter.name)) return null;
  const path = Object.values(enter.in).find((value) => typeof value === 'string' && value.startsWith(PREFIX));
  return path?.slice(PREFIX.length) ?? null;
}

class Lines {
  constructor() {
    /** The lines whose calls each thread is making, the innermost last. @type {Map<number, Source[]>} */
    this.stacks = new Map();
    /** What the thread pool of each process has to do. @type {Map<number, Map<string, Source | null>>} */
    this.requests = new Map();
    /** The lines that created descriptors. @type {Map<number, Source>} by object */
    this.origins = new Map();
    /** Processes without a program of their own yet. @type {Map<number, Source>} */
    this.newborn = new Map();
    /** Processes of Node that have looked for lines.js, but have not opened it. @type {Set<number>} */
    this.seeking = new Set();
  }

  /** @param {Line} enter @param {string} mark */
  take({ pid, tid }, mark) {
    const [verb, ...words] = mark.split('/');
    const stack = this.stacks.get(tid) ?? [];
    this.stacks.set(tid, stack);
    const requests = this.requests.get(pid) ?? new Map();
    this.requests.set(pid, requests);
    if (verb === 'begin') stack.push(/** @type {Source} */ (sourceIn(words)));
    if (verb === 'end') stack.pop();
    if (verb === 'request') requests.set(`${tid}/${words[0]}`, sourceIn(words.slice(1)));
    if (verb === 'done') requests.delete(`${tid}/${words[0]}`);
  }

  /** A thread that is creating a process is in the call of a line. @param {number} pid @param {number | undefined} creator */
  born(pid, creator) {
    const source = creator === undefined ? undefined : this.stacks.get(creator)?.at(-1);
    if (source) this.newborn.set(pid, { ...source, why: 'spawned' });
  }

  /** A call of Node that may be about lines.js. @param {Line} leave with what it was given */
  returned({ pid, name, in: inputs, result }) {
    if (!Object.values(inputs).includes(PRELOAD)) return;
    if (name.startsWith('open') && Number(result) >= 0) this.seeking.delete(pid);
    else this.seeking.add(pid);
  }

  /** A process has ended. Returns whether it failed because it could not read lines.js. @param {number} pid @param {number | null} status */
  ended(pid, status) {
    return this.seeking.delete(pid) && Boolean(status);
  }

  /** @param {number} pid @param {number} tid */
  exec(pid, tid) {
    this.seeking.delete(pid);
    this.newborn.delete(pid);
    this.stacks.delete(tid);
    this.requests.delete(pid);
  }

  /** The line that a call belongs to. @param {Line} enter with the objects that it is about @returns {Source | null} */
  sourceOf({ pid, tid, name, fds, objects, in: inputs }) {
    const stack = this.stacks.get(tid);
    const current = stack?.at(-1) ?? this.newborn.get(pid);
    if (current) return current;
    if (stack) {
      const created = objects.map((/** @type {number} */ id) => this.origins.get(id)).find(Boolean);
      return created ? { ...created, why: 'created' } : null;
    }
    // Of the calls of other threads, those about files are the thread pool's. It does not say for whom it works.
    const hasPath = name !== 'prctl' && Object.values(inputs).some((value) => typeof value === 'string');
    const isEvent = fds.some(({ target = '' }) => target.startsWith('anon_inode:'));
    return (fds.length > 0 && !isEvent) || hasPath ? this.onlyRequest(pid) : null;
  }

  /** The line of all that the thread pool has to do, if it is the same. @param {number} pid @returns {Source | null} */
  onlyRequest(pid) {
    const [first, ...others] = this.requests.get(pid)?.values() ?? [];
    if (!first || others.some((other) => other?.file !== first.file || other.line !== first.line)) return null;
    return { ...first, why: 'queued' };
  }

  /** @param {Source | null} source @param {number[]} objects that the call made */
  made(source, objects) {
    if (!source) return;
    for (const id of objects) if (!this.origins.has(id)) this.origins.set(id, source);
  }
}

/** NODE_OPTIONS that load lines.js, too. @param {string | undefined} options */
function withLines(options) {
  const quoted = `"${PRELOAD.replace(/["\\]/g, '\\$&')}"`;
  return `${options ? `${options} ` : ''}--require ${quoted}`;
}

module.exports = { Lines, markIn, PRELOAD, withLines };
