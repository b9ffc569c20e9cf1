'use strict';
// Which event of one process caused which event of the other: the write whose bytes a read returned, the wake-up that
// ended a sleep, the release that the other side saw.
//
// The tracer sees the return of a call slightly late, so the returns of two processes may appear in the wrong order.
// But bytes cannot be read before they are written, so a cause is made to end before its effect, no matter what the tracer
// saw.

/** @typedef {import('./objects.js').Effect} Effect */
/** @typedef {import('./raw.js').RawEvent} RawEvent */
/**
 * @typedef {object} CausalEvent an event with what causality needs
 * @property {RawEvent} event
 * @property {Effect[]} effects
 * @property {string} about the object of its first descriptor, its futex or its step; '' if none
 * @property {number} offset of the futex or the step within that object
 * @property {CausalEvent | null} cause the event of the other process that ended its wait or wrote its bytes
 */

/** Its end, or its start if it never ended. @param {CausalEvent} entry */
const endOf = ({ event: { raw } }) => raw.end ?? raw.t;

/** The kind of futex operation. @param {CausalEvent} entry */
function futexOf({ event }) {
  if (event.kind !== 'syscall' || event.raw.name !== 'futex') return null;
  const operation = Number(event.raw.args[1]) & 0x7f;
  if (operation === 0 || operation === 9) return 'wait';
  return (operation === 1 || operation === 10) && Number(event.raw.result) > 0 ? 'wake' : null;
}

/** Matches each copy out of a kernel buffer with the copies into it that supplied its bytes. @param {CausalEvent[]} entries */
function matchCopies(entries) {
  /** @type {Map<string, {entry: CausalEvent, upTo: number}[]>} */
  const written = new Map();
  /** @type {Map<string, number>} */
  const taken = new Map();
  for (const entry of entries) {
    const copy = entry.effects.find((effect) => effect.do === 'copy' && effect.from === 'process');
    if (!copy?.to) continue;
    const list = written.get(copy.to) ?? [];
    list.push({ entry, upTo: (list.at(-1)?.upTo ?? 0) + (copy.bytes ?? 0) });
    written.set(copy.to, list);
  }
  /** @type {[CausalEvent, CausalEvent][]} [writer, reader] */
  const pairs = [];
  for (const entry of [...entries].sort((a, b) => endOf(a) - endOf(b))) {
    const copy = entry.effects.find((effect) => effect.do === 'copy' && effect.to === 'process');
    if (!copy?.from) continue;
    const from = taken.get(copy.from) ?? 0;
    const to = from + (copy.bytes ?? 0);
    taken.set(copy.from, to);
    const list = written.get(copy.from) ?? [];
    const sources = list.filter((source, i) => source.upTo > from && (list[i - 1]?.upTo ?? 0) < to);
    entry.cause = sources[0]?.entry ?? null;
    pairs.push(...sources.map((source) => /** @type {[CausalEvent, CausalEvent]} */ ([source.entry, entry])));
  }
  return pairs;
}

/** What a sleeping system call waits for; '' if its cause is not looked for here. @param {CausalEvent} entry */
function awaited({ event, about, offset }) {
  if (event.kind !== 'syscall') return '';
  const { raw } = event;
  switch (raw.name) {
    case 'futex':
      return `futex ${offset} ${about}`;
    case 'accept':
    case 'accept4':
      return `connection ${about}`;
    case 'wait4':
      return `exit ${raw.result}`;
    case 'poll':
    case 'ppoll':
      return `bytes ${about}`;
    default:
      return '';
  }
}

/** What a system call or a step makes happen, in the words of awaited(). @param {CausalEvent} entry @returns {string[]} */
function provided(entry) {
  const { event, about, offset, effects } = entry;
  if (event.kind === 'step') return event.raw.step === 'release' ? [`release ${offset} ${about}`] : [];
  if (event.kind !== 'syscall') return [];
  const provides = effects.filter((effect) => effect.do === 'copy' && effect.to).map(({ to }) => `bytes ${to}`);
  if (futexOf(entry) === 'wake') provides.push(`futex ${offset} ${about}`);
  if (event.raw.name === 'connect') provides.push(`connection ${about}`);
  if (event.raw.name === 'exit_group') provides.push(`exit ${event.raw.pid}`);
  return provides;
}

/** The events that provide one thing, in the order of their starts. Each search goes on where the one before it ended. */
class Providers {
  /** @type {CausalEvent[]} */ #entries = [];
  #first = 0; // those before it ended before any wait that is still to come
  #count = 0; // those that began before the end of the last step

  /** @param {CausalEvent} entry */
  add(entry) {
    this.#entries.push(entry);
  }

  /**
   * The first that took place during the wait of another process. The waits come in the order of their starts.
   * @param {CausalEvent} waits
   */
  during(waits) {
    const { raw } = waits.event;
    const isOver = (/** @type {CausalEvent} */ { event: { raw: other } }) => other.end !== null && other.end <= raw.t;
    while (this.#first < this.#entries.length && isOver(this.#entries[this.#first])) this.#first++;
    for (let i = this.#first; i < this.#entries.length; i++) {
      const { raw: other } = this.#entries[i].event;
      if (other.t >= endOf(waits)) return null;
      if (other.pid !== raw.pid && !isOver(this.#entries[i])) return this.#entries[i];
    }
    return null;
  }

  /** The last of another process that began before the step ended. @param {CausalEvent} step */
  before(step) {
    const end = endOf(step);
    while (this.#count < this.#entries.length && this.#entries[this.#count].event.raw.t < end) this.#count++;
    while (this.#count > 0 && this.#entries[this.#count - 1].event.raw.t >= end) this.#count--;
    for (let i = this.#count - 1; i >= 0; i--)
      if (this.#entries[i].event.raw.pid !== step.event.raw.pid) return this.#entries[i];
    return null;
  }
}

/** Matches each wait, in the kernel or on a word, with the event that ended it. @param {CausalEvent[]} entries */
function matchWaits(entries) {
  /** @type {Map<string, Providers>} */
  const providers = new Map();
  for (const entry of entries) {
    for (const what of provided(entry)) {
      if (!providers.has(what)) providers.set(what, new Providers());
      providers.get(what)?.add(entry);
    }
  }
  /** @type {[CausalEvent, CausalEvent][]} */
  const pairs = [];
  for (const entry of entries) {
    const { kind, raw } = entry.event;
    if (kind === 'syscall' && raw.sleeps > 0 && !entry.cause) {
      entry.cause = providers.get(awaited(entry))?.during(entry) ?? null;
      if (entry.cause) pairs.push([entry.cause, entry]);
    }
    if (kind === 'step' && raw.step === 'see') {
      const release = providers.get(`release ${entry.offset} ${entry.about}`)?.before(entry);
      if (release) pairs.push([release, entry]);
    }
  }
  return pairs;
}

/** A fork() must end before the first event of its child. @param {CausalEvent[]} entries */
function matchForks(entries) {
  /** @type {[CausalEvent, number][]} */
  const pairs = [];
  for (const entry of entries) {
    const fork = entry.effects.find((effect) => effect.do === 'fork');
    const first = fork && entries.find(({ event }) => event.raw.pid === fork.pid);
    if (first) pairs.push([entry, first.event.raw.t]);
  }
  return pairs;
}

/** Finds all causes, and makes each end before its effect. @param {CausalEvent[]} entries in the order of their starts */
function orderByCause(entries) {
  const pairs = [...matchCopies(entries), ...matchWaits(entries)];
  /** @type {[CausalEvent, number][]} */
  const limits = pairs.map(([cause, { event }]) => [cause, event.raw.end ?? event.raw.t]);
  for (const [{ event }, before] of [...limits, ...matchForks(entries)]) {
    if (event.raw.end !== null && event.raw.end >= before) event.raw.end = Math.max(event.raw.t, before - 1);
  }
}

module.exports = { endOf, orderByCause };
