'use strict';
// Which event of one process made what of the other possible: the write that a read's bytes came from, the wake-up that
// ended a sleep, the release that was seen.
//
// The tracer sees a call's return a little late, and those of two processes not always in their true order. But bytes
// cannot be read before they were written: so what caused something ended before it, whatever the tracer saw.

/** @typedef {import('./objects.js').Effect} Effect */
/** @typedef {import('./raw.js').RawEvent} RawEvent */
/**
 * @typedef {object} Happening an event while it is put together
 * @property {RawEvent} event
 * @property {Effect[]} effects
 * @property {string} about the object that its first descriptor, its futex or its step is about; '' for none
 * @property {number} offset of the futex or the step in that object
 * @property {Happening | null} cause the event of the other process that it waited for, or got its bytes from
 */

/** When it ended, or began where it never did. @param {Happening} happening */
const endOf = ({ event: { raw } }) => raw.end ?? raw.t;

/** Futex operations. @param {Happening} happening */
function futexOf({ event }) {
  if (event.kind !== 'syscall' || event.raw.name !== 'futex') return null;
  const operation = Number(event.raw.args[1]) & 0x7f;
  if (operation === 0 || operation === 9) return 'wait';
  return (operation === 1 || operation === 10) && Number(event.raw.result) > 0 ? 'wake' : null;
}

/** For each copy out of a buffer, the copy in that its first byte came from. @param {Happening[]} happenings */
function matchCopies(happenings) {
  /** @type {Map<string, {happening: Happening, upTo: number}[]>} */
  const written = new Map();
  /** @type {Map<string, number>} */
  const taken = new Map();
  for (const happening of happenings) {
    const copy = happening.effects.find((effect) => effect.do === 'copy' && effect.from === 'process');
    if (!copy?.to) continue;
    const list = written.get(copy.to) ?? [];
    list.push({ happening, upTo: (list.at(-1)?.upTo ?? 0) + (copy.bytes ?? 0) });
    written.set(copy.to, list);
  }
  /** @type {[Happening, Happening][]} what wrote, what read */
  const pairs = [];
  for (const happening of [...happenings].sort((a, b) => endOf(a) - endOf(b))) {
    const copy = happening.effects.find((effect) => effect.do === 'copy' && effect.to === 'process');
    if (!copy?.from) continue;
    const from = taken.get(copy.from) ?? 0;
    const to = from + (copy.bytes ?? 0);
    taken.set(copy.from, to);
    const list = written.get(copy.from) ?? [];
    const sources = list.filter((source, i) => source.upTo > from && (list[i - 1]?.upTo ?? 0) < to);
    happening.cause = sources[0]?.happening ?? null;
    pairs.push(...sources.map((source) => /** @type {[Happening, Happening]} */ ([source.happening, happening])));
  }
  return pairs;
}

/** Could `candidate` have ended the wait of `sleeper`? @param {Happening} sleeper @param {Happening} candidate */
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

/** For what waited, and for what saw a word, what ended the wait. @param {Happening[]} happenings */
function matchWaits(happenings) {
  /** @type {[Happening, Happening][]} */
  const pairs = [];
  for (const happening of happenings) {
    const { kind, raw } = happening.event;
    const end = endOf(happening);
    const during = (/** @type {Happening} */ { event: { raw: other } }) =>
      (other.end === null || other.end > raw.t) && other.t < end;
    if (kind === 'syscall' && raw.sleeps > 0 && !happening.cause) {
      happening.cause = happenings.find((other) => during(other) && couldWake(happening, other)) ?? null;
      if (happening.cause) pairs.push([happening.cause, happening]);
    }
    if (kind === 'step' && raw.step === 'see') {
      const release = happenings.findLast(
        ({ event, about, offset }) =>
          event.kind === 'step' &&
          event.raw.step === 'release' &&
          event.raw.pid !== raw.pid &&
          event.raw.t < end &&
          about === happening.about &&
          offset === happening.offset,
      );
      if (release) pairs.push([release, happening]);
    }
  }
  return pairs;
}

/** A child begins when fork() has made it. @param {Happening[]} happenings */
function matchForks(happenings) {
  /** @type {[Happening, number][]} */
  const pairs = [];
  for (const happening of happenings) {
    const fork = happening.effects.find((effect) => effect.do === 'fork');
    const first = fork && happenings.find(({ event }) => event.raw.pid === fork.pid);
    if (first) pairs.push([happening, first.event.raw.t]);
  }
  return pairs;
}

/** Find all causes, and let each end before what it caused. @param {Happening[]} happenings in the order of their begin */
function orderByCause(happenings) {
  const pairs = [...matchCopies(happenings), ...matchWaits(happenings)];
  /** @type {[Happening, number][]} */
  const limits = pairs.map(([cause, { event }]) => [cause, event.raw.end ?? event.raw.t]);
  for (const [{ event }, before] of [...limits, ...matchForks(happenings)]) {
    if (event.raw.end !== null && event.raw.end >= before) event.raw.end = Math.max(event.raw.t, before - 1);
  }
}

module.exports = { endOf, orderByCause };
