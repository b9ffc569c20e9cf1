'use strict';
// What a recording consists of, and what may still be added to it: its page opens no more.
const { Descriptors } = require('./descriptors.js');
const { excessOf, LIMITS } = require('./limits.js');
const { Objects } = require('./objects.js');

/**
 * @typedef {object} ProgramCall one event of the recording
 * @property {number} t nanoseconds from the start
 * @property {number | null} end null: it never returned
 * @property {number} pid
 * @property {number} tid
 * @property {'syscall' | 'signal'} kind
 * @property {string} name
 * @property {string[]} args as strace -y prints them, with the names of the objects
 * @property {string} result
 * @property {number[]} fds the descriptors that it is about, and then those that it made
 * @property {number[]} objects what each referred to
 * @property {number} sleeps
 * @property {number | null} wokenBy index of the event that ended the sleep
 * @property {import('../node/marks.js').Source | null} source
 * @property {string} [call] the C function called, if its name differs from the system call's
 * @property {number} [bytes] transferred
 * @property {string} [payload] the first of these bytes, as a C string without its quotes
 */
/** @typedef {{tid: number, name: string, start: number, end: number | null}} Thread */
/**
 * @typedef {object} Process
 * @property {number} pid
 * @property {number | null} parent
 * @property {string} name
 * @property {string[]} command empty: forked without exec
 * @property {number} start
 * @property {number | null} end
 * @property {number | null} status
 * @property {string | null} signal
 * @property {Thread[]} threads
 */

class Content {
  constructor() {
    this.objects = new Objects();
    this.descriptors = new Descriptors(this.objects);
    /** @type {ProgramCall[]} */
    this.events = [];
    /** @type {Process[]} */
    this.processes = [];
    /** @type {string[]} what the reader of the recording should know */
    this.notes = [];
    this.threads = 0; // of all processes, ever
    /** Why the recording does not grow any more. @type {string | null} */
    this.full = null;
    this.size = 0; // bytes of the events in the file
    this.isCut = false; // later events are dropped
  }

  /** What is limited, if this much were added. @param {number} [processes] @param {number} [threads] @param {number} [holdings] */
  excess(processes = 0, threads = 0, holdings = 0) {
    return excessOf({
      processes: this.processes.length + processes,
      threads: this.threads + threads,
      holdings: this.descriptors.list.length + holdings + Number(this.descriptors.isFull),
      objects: this.objects.list.length + Number(this.objects.isFull),
    });
  }

  /** Adds an event. Returns whether there was room. @param {ProgramCall} event */
  record(event) {
    const bytes = Buffer.byteLength(JSON.stringify(event)) + 8;
    const isFull = this.size + bytes > LIMITS.eventBytes || this.events.length >= LIMITS.events - LIMITS.threads;
    if (isFull && !this.isCut) {
      this.isCut = true;
      const most = `${LIMITS.eventBytes >> 20} MiB or ${LIMITS.events.toLocaleString('en-US')}`;
      this.note(`The recording was cut at ${most} events, because its page opens no more: later events are not in it.`);
    }
    // The calls that never return are few, at most one per thread, and say why a program hangs.
    if (this.isCut && event.end !== null) return false;
    this.size += bytes;
    this.events.push(event);
    return true;
  }

  /** @param {(event: ProgramCall, i: number) => boolean} isKept */
  keep(isKept) {
    this.events = this.events.filter(isKept);
  }

  /** @param {string} sentence */
  note(sentence) {
    // One is left for what ends the recording.
    if (this.notes.length < LIMITS.notes - 1 && !this.notes.includes(sentence)) this.notes.push(sentence);
  }
}

module.exports = { Content };
