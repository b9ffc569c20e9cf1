'use strict';
// From the tracer's lines to a recording of any program: each call's "enter" joined with its "leave", its arguments with
// the names of the objects, the processes, and who holds which descriptor. One line at a time, so that a long recording
// needs no more memory than its result.
const { signalNames } = require('../constants.js');
const { printable } = require('../values.js');
const { Content } = require('./content.js');
const { applyCall } = require('./effects.js');
const { eventOf } = require('./event.js');
const { Outside } = require('./outside.js');
const { explain } = require('./stuck.js');
const { Causes } = require('./causes.js');
const { Lines, markIn, PRELOAD } = require('../node/marks.js');

/** @typedef {import('./objects.js').RawDescriptor} RawDescriptor */
/** @typedef {import('../../measure/programs.js').ProgramEvent} Line */
/** @typedef {import('./content.js').ProgramCall} ProgramCall */
/** @typedef {import('./content.js').Process} Process */

const CLONES = new Set(['clone', 'clone3', 'fork', 'vfork']);
const CLONE_FILES = 0x400;

const UNREADABLE =
  'A Node process could not read lines.js of this package, and failed before its program began: record it with --no-lines.';

/** @param {number} number */
const signalName = (number) => signalNames.get(number) ?? `signal ${number}`;

class Recorder extends Content {
  /** @param {{withMarks?: boolean}} [options] withMarks: lines.js of ../node was loaded into the program */
  constructor({ withMarks = false } = {}) {
    super();
    this.lines = withMarks ? new Lines() : null;
    this.causes = new Causes(this.objects);
    this.outside = new Outside(this.objects);
    /** What each epoll watches, by descriptor, and the data that it returns for it. @type {Map<number, Map<number, {object: number, data: string}>>} */
    this.watched = new Map();
    /** @type {Map<number, Process>} those that live */
    this.alive = new Map();
    /** @type {Map<number, any>} by thread */
    this.entered = new Map();
    /** @type {Set<number>} threads that have loaded lines.js since their execve() */
    this.preloaded = new Set();
    /** Why nothing happens, as of the last snapshot. @type {import('./stuck.js').Explanation | null} */
    this.explained = null;
    /** What ended the recording. */
    this.ended = { why: 'exited', t: 0, dropped: 0, status: /** @type {number | null} */ (null), signal: 0 };
    this.startNs = 0;
    this.latest = 0;
    this.first = 0;
    this.over = false;
    this.unrecorded = 0; // calls for which there was no room
  }

  /** @param {number} ns */
  at(ns) {
    return Math.max(0, ns - this.startNs);
  }

  /** @param {Line} line */
  take(line) {
    if (this.over && line.type !== 'gone' && line.type !== 'end') return;
    if (this.full && !['gone', 'snapshot', 'end'].includes(line.type)) return;
    if (line.name) line.name = printable(line.name);
    for (const task of line.tasks ?? []) task.name = printable(task.name);
    switch (line.type) {
      case 'program':
        this.first = line.first;
        break;
      case 'born':
        this.born(line);
        break;
      case 'exec':
        this.exec(line);
        break;
      case 'enter':
        this.enter(line);
        break;
      case 'leave':
        this.leave(line);
        break;
      case 'signal':
        this.signal(line);
        break;
      case 'gone':
        this.gone(line);
        break;
      case 'snapshot':
        this.takeSnapshot(line);
        break;
      case 'end':
        Object.assign(this.ended, {
          status: line.signal ? null : line.status,
          signal: line.signal,
          dropped: line.dropped + this.unrecorded,
        });
        if (!this.over) this.ended.t = this.at(line.t);
        break;
    }
    this.full ??= this.excess();
  }

  /** The latest time seen: lines that have none of their own happened then. */
  now() {
    return this.latest;
  }

  /** @param {number} t */
  seen(t) {
    this.latest = Math.max(this.latest, t);
    return t;
  }

  /** @param {Line} line */
  born({ pid, tid, t, parent, name }) {
    if (this.processes.length === 0) this.startNs = t;
    const start = this.seen(this.at(t));
    const thread = { tid, name, start, end: null };
    const known = this.alive.get(pid);
    this.full = this.excess(known && tid !== pid ? 0 : 1, 1, tid === pid ? this.descriptors.table(parent).size : 0);
    if (this.full) return;
    this.threads++;
    if (known && tid !== pid) {
      known.threads.push(thread);
      return;
    }
    const process = { pid, parent: this.alive.has(parent) ? parent : null, name, command: [], start, end: null };
    const whole = { ...process, status: null, signal: null, threads: [thread] };
    this.alive.set(pid, whole);
    this.processes.push(whole);
    this.lines?.born(pid, this.creatorIn(parent)?.tid);
    this.outside.fork(parent, pid);
    if (whole.parent !== null) this.descriptors.fork(parent, pid, this.sharesFiles(parent), start);
  }

  /** The call of a process that is creating another. @param {number} parent */
  creatorIn(parent) {
    return [...this.entered.values()].find(({ pid, name }) => pid === parent && CLONES.has(name));
  }

  /** Whether the process that is being created shares its creator's descriptors. @param {number} parent */
  sharesFiles(parent) {
    const creator = this.creatorIn(parent);
    if (!creator) return false;
    if (creator.name === 'clone3') return creator.in[0] ? (parseInt(creator.in[0].slice(2, 4), 16) & 4) !== 0 : false;
    return creator.name === 'clone' && (Number(BigInt(creator.args[0]) & 0xffffffffn) & CLONE_FILES) !== 0;
  }

  /** @param {Line} line */
  exec({ pid, tid, t, name, program, command, owner, user, descriptors, listedTo }) {
    const process = this.alive.get(pid);
    if (!process) return;
    const when = this.seen(this.at(t));
    this.lines?.exec(pid, tid);
    this.preloaded.delete(tid);
    this.outside.exec(pid, program);
    Object.assign(process, { name, command });
    for (const thread of process.threads) if (thread.tid === tid) thread.name = name;
    const closed = this.descriptors.seeAll(pid, descriptors, when, listedTo);
    const enter = this.entered.get(tid);
    if (enter?.name === 'execve') enter.closed = closed;
    // What the command was given may be held by others, too.
    if (pid === this.first && this.events.length === 0) {
      for (const object of this.objects.list) object.outside = true;
      this.outside.isUnsure ||= listedTo !== undefined;
    }
    if (owner !== undefined && owner !== user) {
      this.note(
        `${printable(program).slice(0, 500)} is set-user-ID, which has no effect while it is traced: it ran as user ${user}.`,
      );
    }
  }

  /** @param {Line} line */
  enter(line) {
    const mark = this.lines && markIn(line);
    if (mark) {
      this.lines?.take(line, mark);
      if (mark === 'loaded') this.forgetPreload(line);
      return;
    }
    this.entered.set(line.tid, line);
    line.objects = line.fds.map((/** @type {RawDescriptor} */ raw) => this.descriptors.see(line.pid, raw, this.now()));
    line.limited = this.objects.timed.get(line.objects[0]) ?? 0;
    line.source = line.file ? { file: line.file, line: line.line } : (this.lines?.sourceOf(line) ?? null);
  }

  /** Removes the calls that loaded lines.js. @param {Line} line */
  forgetPreload({ pid, tid }) {
    if (this.preloaded.has(tid)) return; // a program makes this mark itself
    this.preloaded.add(tid);
    const first = this.events.findLastIndex((event) => event.tid === tid && event.name === 'execve') + 1;
    const isIts = (/** @type {ProgramCall} */ { args }) => args.some((arg) => arg.includes(PRELOAD));
    const from = this.events.findIndex((event, i) => i >= first && event.tid === tid && isIts(event));
    if (from < 0) return;
    const { t } = this.events[from];
    this.keep((event, i) => i < from || event.tid !== tid);
    this.descriptors.forget(({ pid: holder, from: opened, until }) => holder === pid && opened >= t && until !== null);
  }

  /** @param {Line} leave */
  leave(leave) {
    const enter = this.entered.get(leave.tid);
    if (!enter) return;
    this.entered.delete(leave.tid);
    const raw = { ...enter, ...leave, t: this.at(leave.t), end: this.seen(this.at(leave.end)) };
    applyCall(this, raw);
    this.lines?.returned(raw);
    this.finish(raw);
  }

  /** Adds the event of a call. `raw.end` is null if it never returned. @param {any} raw */
  finish(raw) {
    const event = eventOf(raw, this.objects);
    if (!this.record(event)) {
      this.unrecorded++;
      return;
    }
    this.lines?.made(event.source, raw.madeObjects);
    const table = this.descriptors.table(raw.pid);
    this.causes.add(event, {
      ...raw,
      objectOf: (/** @type {number} */ fd) => table.get(fd)?.object,
      watched: () => [...(this.watched.get(event.objects[0])?.values() ?? [])],
    });
  }

  /** @param {Line} line */
  signal({ pid, tid, t, signal }) {
    const when = this.seen(this.at(t));
    const nothing = { args: [], result: '', fds: [], objects: [], sleeps: 0, wokenBy: null, source: null };
    this.record({ t: when, end: when, pid, tid, kind: 'signal', name: signalName(signal), ...nothing });
  }

  /** Adds a call that never returned. @param {number} tid @param {number} t */
  unfinished(tid, t) {
    const enter = this.entered.get(tid);
    this.entered.delete(tid);
    if (enter) this.finish({ ...enter, t, end: null, result: '', sleeps: 0, made: [], madeObjects: [], out: {} });
  }

  /** @param {Line} line */
  gone({ pid, tid, t, end, status, signal }) {
    const process = this.alive.get(pid);
    if (!this.over) this.unfinished(tid, this.at(t));
    const when = this.over ? this.ended.t : this.seen(this.at(end));
    const thread = process?.threads.find((candidate) => candidate.tid === tid && candidate.end === null);
    if (thread) thread.end = when;
    if (!process || tid !== pid) return;
    Object.assign(process, { end: when, status: signal ? null : status, signal: signal ? signalName(signal) : null });
    for (const other of process.threads) other.end ??= when;
    if (this.lines?.ended(pid, process.status)) this.note(UNREADABLE);
    const held = this.descriptors.end(pid, when);
    this.causes.ended(pid, held, when);
    this.alive.delete(pid);
  }

  /** @param {Line} line */
  takeSnapshot(line) {
    const t = this.seen(this.at(line.t));
    for (const task of line.tasks) {
      if (task.descriptors && this.alive.has(task.pid))
        this.descriptors.seeAll(task.pid, task.descriptors, t, task.listedTo);
      const thread = this.alive.get(task.pid)?.threads.find(({ tid }) => tid === task.tid);
      if (thread) thread.name = task.name;
    }
    this.outside.isIncomplete ||= line.dropped + this.unrecorded > 0 || Boolean(this.full);
    this.explained = explain(this, line.tasks);
    if (line.why === 'quiet') return;
    Object.assign(this.ended, { why: line.why, t });
    for (const { tid, t: began } of line.tasks) this.unfinished(tid, began === undefined ? t : this.at(began));
    this.over = true;
  }
}

module.exports = { Recorder };
