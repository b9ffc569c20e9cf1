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

/** Can `candidate` have ended the wait of `sleeper`? @param {CausalEvent} sleeper @param {CausalEvent} candidate */
function couldWake(sleeper, candidate) {
  const { event: waits } = sleeper;
  const { event: other, about, offset, effects } = candidate;
  if (waits.kind !== 'syscall' || other.kind !== 'syscall' || other.raw.pid === waits.raw.pid) return false;
  switch (waits.raw.name) {
    case 'futex':
      return futexOf(candidate) === 'wake' && about === sleeper.about && offset === sleeper.offset;
    case 'accept':
    case 'accept4':
      return other.raw.name === 'connect' && candidate.about === sleeper.about;
    case 'wait4':
      return other.raw.name === 'exit_group' && String(other.raw.pid) === waits.raw.result;
    case 'poll':
    case 'ppoll':
      return effects.some(({ do: what, to }) => what === 'copy' && to === sleeper.about);
    default:
      return false;
  }
}

/** Matches each wait, in the kernel or on a word, with the event that ended it. @param {CausalEvent[]} entries */
function matchWaits(entries) {
  /** @type {[CausalEvent, CausalEvent][]} */
  const pairs = [];
  for (const entry of entries) {
    const { kind, raw } = entry.event;
    const end = endOf(entry);
    const during = (/** @type {CausalEvent} */ { event: { raw: other } }) =>
      (other.end === null || other.end > raw.t) && other.t < end;
    if (kind === 'syscall' && raw.sleeps > 0 && !entry.cause) {
      entry.cause = entries.find((other) => during(other) && couldWake(entry, other)) ?? null;
      if (entry.cause) pairs.push([entry.cause, entry]);
    }
    if (kind === 'step' && raw.step === 'see') {
      const release = entries.findLast(
        ({ event, about, offset }) =>
          event.kind === 'step' &&
          event.raw.step === 'release' &&
          event.raw.pid !== raw.pid &&
          event.raw.t < end &&
          about === entry.about &&
          offset === entry.offset,
      );
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
