// What the theatre says in words: written from the recording's own fields, for the caption, the log and screen readers.

/**
 * @typedef {import('./types.js').Trace} Trace
 * @typedef {import('./types.js').TraceEvent} TraceEvent
 * @typedef {import('./types.js').Play} Play
 */

/** 1234 -> "1.23 µs". @param {number} ns */
export function duration(ns) {
  const units = [
    ['s', 1e9],
    ['ms', 1e6],
    ['µs', 1e3],
  ];
  const [unit, size] = units.find(([, least]) => ns >= Number(least)) ?? ['ns', 1];
  return `${significant(ns / Number(size))} ${unit}`;
}

/** Three digits, thousands set apart. @param {number} value @param {number} [digits] */
export function significant(value, digits = 3) {
  if (value === 0) return '0';
  return value.toLocaleString('en-US', { maximumSignificantDigits: digits });
}

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/** @param {Trace} trace @param {number} pid */
export const roleOf = (trace, pid) => trace.processes.find((process) => process.pid === pid)?.role ?? `process ${pid}`;

/** @param {Trace} trace @param {string} [id] */
export const nameOf = (trace, id) => trace.objects.find((object) => object.id === id)?.name ?? id ?? 'it';

/** The arguments as they were when the call began: what it filled in was not there yet. @param {TraceEvent} event */
export function argumentsBefore({ args, before = [] }) {
  const were = new Map(before);
  return args.map((arg, i) => were.get(i) ?? arg);
}

/** A call as strace prints it when it has begun. @param {TraceEvent} event */
export const begunText = (event) =>
  event.kind === 'step' ? `· ${event.name} …` : `${event.name}(${argumentsBefore(event).join(', ')}) …`;

/** A call as strace prints it, without its result. @param {TraceEvent} event */
const callText = (event) => (event.kind === 'step' ? event.name : `${event.name}(${event.args.join(', ')})`);

/** The whole line of the log. @param {TraceEvent} event */
export const lineText = (event) => (event.kind === 'step' ? `· ${event.name}` : `${callText(event)} = ${event.result}`);

/** @param {TraceEvent} event */
export const failed = (event) => event.result.startsWith('-1');

/** What an effect did. @param {Trace} trace @param {import('./types.js').Effect} effect */
function effectText(trace, { do: what, fd, object, as, pid, from, to, bytes = 0 }) {
  const size = counted(bytes, 'byte');
  switch (what) {
    case 'open':
      return `descriptor ${fd} is now ${as ? `the ${as} of ` : ''}${nameOf(trace, object)}`;
    case 'close':
      return `descriptor ${fd} is closed`;
    case 'map':
      return `${nameOf(trace, object)} is mapped into its memory${as ? `, ${as}` : ''}`;
    case 'unmap':
      return `${nameOf(trace, object)} is no longer mapped`;
    case 'fork':
      return `process ${pid}, the ${roleOf(trace, pid ?? 0)}, begins with the same descriptors and mappings`;
    case 'exit':
      return 'the process ends, and the kernel closes what it still had';
    case 'copy':
      return from === 'process'
        ? `${size} copied into ${nameOf(trace, to)}`
        : `${size} copied out of ${nameOf(trace, from)}`;
    case 'store':
      return `${size} stored in ${nameOf(trace, object)}, with no help from the kernel`;
    case 'load':
      return `${size} read from ${nameOf(trace, object)}, with no help from the kernel`;
    case 'publish':
      return `the other process may now read what was stored in ${nameOf(trace, object)}`;
    case 'pass':
      return `descriptor ${fd} handed over: ${nameOf(trace, object)}`;
  }
}

/** What an event changed, each as a clause. @param {Trace} trace @param {TraceEvent} event */
export const effectTexts = (trace, event) => event.effects.map((effect) => effectText(trace, effect));

/** The C call that made it, when that has another name: "sem_wait". @param {TraceEvent} event */
const madeBy = (event) => (event.call && event.call !== event.name ? `, for ${event.call}()` : '');

/**
 * One sentence or two that say what happens at a moment.
 * @param {Play} play
 * @param {number} index of the moment; -1: before the first
 */
export function caption({ trace, moments, worlds }, index) {
  if (index < 0) return 'Nothing has happened yet. Play, or step with the arrow keys.';
  const { event: which, edge } = moments[index];
  const event = trace.events[which];
  const role = roleOf(trace, event.pid);
  const clauses = effectTexts(trace, event);
  const changes = clauses.length > 0 ? `: ${clauses.join('; ')}` : '';
  const memory = Object.entries(event.memory ?? {}).map(([word, value]) => `${word} ${value}`);
  if (event.kind === 'step') {
    if (edge === 'enter') return `The ${role}, in its own code: ${event.name} …`;
    const seen = memory.length > 0 ? ` Now ${memory.join(', ')}.` : '';
    return `The ${role}, in its own code: ${event.name}${changes}. No crossing.${seen}`;
  }
  const crossings = worlds[index + 1].total.crossings;
  if (edge === 'whole')
    return `The ${role} calls ${event.name} and does not come back${changes}. Crossing ${crossings}.`;
  if (edge === 'enter') {
    const woken = event.wokenBy !== null && event.wokenBy !== undefined;
    const why = woken ? 'until the other process does something' : 'for a reason of the kernel’s own';
    const sleep = event.sleeps ? ` It will sleep there, ${why}.` : '';
    return `The ${role} crosses into the kernel: ${event.name}${madeBy(event)}. Crossing ${crossings}.${sleep}`;
  }
  const waker = event.wokenBy === null || event.wokenBy === undefined ? null : trace.events[event.wokenBy];
  const woken = waker
    ? ` It slept; the ${roleOf(trace, waker.pid)}’s ${waker.name} woke it.`
    : event.sleeps
      ? ' It slept.'
      : '';
  const outcome = failed(event) ? `fails with ${event.result.slice(3)}` : `returns ${event.result}`;
  return `${event.name} ${outcome} to the ${role}${changes}.${woken}`;
}
