// A recording in words: captions, log lines and details, all composed of the recording's own fields.
import { counted } from '../../shared/format.js';
import { isSetup } from './replay.js';

/**
 * @typedef {import('./types.js').Trace} Trace
 * @typedef {import('./types.js').TraceEvent} TraceEvent
 * @typedef {import('./types.js').Replay} Replay
 */

/** @param {Trace} trace @param {number} pid */
export const roleOf = (trace, pid) => trace.processes.find((process) => process.pid === pid)?.role ?? `process ${pid}`;

/** @param {Trace} trace @param {string} [id] */
const nameOf = (trace, id) => `the ${trace.objects.find((object) => object.id === id)?.name ?? `object ${id}`}`;

/** The arguments at the start of the call, before the kernel filled any in. @param {TraceEvent} event */
export function argumentsBefore({ args, before = [] }) {
  const earlier = new Map(before);
  return args.map((arg, i) => earlier.get(i) ?? arg);
}

/** The log line of an event in progress. @param {TraceEvent} event */
export const startText = (event) =>
  event.kind === 'step' ? `· ${event.name} …` : `${event.name}(${argumentsBefore(event).join(', ')}) …`;

/** The log line of a finished event, as strace prints it. @param {TraceEvent} event */
export const lineText = (event) =>
  event.kind === 'step' ? `· ${event.name}` : `${event.name}(${event.args.join(', ')}) = ${event.result}`;

/** @param {TraceEvent} event */
export const failed = (event) => event.result.startsWith('-1');

/** Values of shared memory: "free 1, full 0". @param {TraceEvent} event */
export const memoryText = ({ memory = {} }) =>
  Object.entries(memory)
    .map(([word, value]) => `${word} ${value}`)
    .join(', ');

/** The event that ended the sleep, if the recording names one. @param {Trace} trace @param {TraceEvent} event */
export const wakerOf = (trace, { wokenBy }) =>
  wokenBy === null || wokenBy === undefined ? null : trace.events[wokenBy];

/** @param {Trace} trace @param {import('./types.js').Effect} effect */
function effectText(trace, { do: kind, fd, object, as, pid, from, to, bytes = 0 }) {
  const size = counted(bytes, 'byte');
  switch (kind) {
    case 'open':
      return `file descriptor ${fd} refers to ${as ? `the ${as} of ` : ''}${nameOf(trace, object)}`;
    case 'close':
      return `file descriptor ${fd} is closed`;
    case 'map':
      return `${nameOf(trace, object)} is mapped into its memory${as ? `, ${as}` : ''}`;
    case 'unmap':
      return `${nameOf(trace, object)} is no longer mapped`;
    case 'fork':
      return `process ${pid}, the ${roleOf(trace, pid ?? 0)}, starts with the same file descriptors and mappings`;
    case 'exit':
      return 'the process exits, and the kernel closes its remaining file descriptors';
    case 'copy':
      return from === 'process'
        ? `${size} copied into ${nameOf(trace, to)}`
        : `${size} copied out of ${nameOf(trace, from)}`;
    case 'store':
      return `${size} stored in ${nameOf(trace, object)}, without the kernel`;
    case 'load':
      return `${size} loaded from ${nameOf(trace, object)}, without the kernel`;
    case 'publish':
      return `the other process can now read what was stored in ${nameOf(trace, object)}`;
    case 'pass':
      return `file descriptor ${fd}, ${nameOf(trace, object)}, is passed to the other process`;
  }
}

/** What an event changed, one clause per effect. @param {Trace} trace @param {TraceEvent} event */
export const effectTexts = (trace, event) => event.effects.map((effect) => effectText(trace, effect));

/** The C function, where its name differs from the system call's: " for sem_wait()". @param {TraceEvent} event */
const callerText = ({ call, name }) => (call && call !== name ? ` for ${call}()` : '');

/**
 * One or two sentences about a moment.
 * @param {Replay} replay
 * @param {number} index of the moment; -1 is before the first
 * @param {boolean} [folded] is the setup one stop?
 * @param {boolean} [withMemory] with the values of shared memory?
 */
export function caption(replay, index, folded = false, withMemory = true) {
  const { trace, moments, snapshots } = replay;
  if (index < 0) return 'Nothing has happened yet. Press Play, or step with the arrow keys.';
  if (folded && isSetup(replay, index))
    return 'The setup is done. Message 1 comes next. Press Play, or step with the arrow keys.';
  const { event: which, edge } = moments[index];
  const event = trace.events[which];
  const role = roleOf(trace, event.pid);
  const clauses = effectTexts(trace, event);
  const changes = clauses.length > 0 ? `: ${clauses.join('; ')}` : '';
  if (event.kind === 'step') {
    if (edge === 'enter') return `The ${role}, in user space: ${event.name} …`;
    const memory = withMemory ? memoryText(event) : '';
    return `The ${role}, in user space: ${event.name}${changes}. No crossing.${memory ? ` Memory: ${memory}.` : ''}`;
  }
  const crossing =
    event.phase === 'message'
      ? `Crossing ${snapshots[index + 1].messages.crossings}.`
      : `A crossing for the ${event.phase}.`;
  const waker = wakerOf(trace, event);
  if (edge === 'whole') return `The ${role} calls ${event.name}(), which does not return${changes}. ${crossing}`;
  if (edge === 'enter') {
    const end = waker ? 'until the other process acts' : 'for a reason inside the kernel';
    const sleep = event.sleeps ? ` It will sleep there ${end}.` : '';
    return `The ${role} enters the kernel: ${event.name}()${callerText(event)}. ${crossing}${sleep}`;
  }
  const woken = waker
    ? ` It slept until the ${roleOf(trace, waker.pid)}’s ${waker.name}${waker.kind === 'syscall' ? '()' : ''} woke it.`
    : event.sleeps
      ? ' It slept.'
      : '';
  const outcome = failed(event)
    ? `fails in the ${role}: ${event.result.slice(3)}`
    : `returns ${event.result} to the ${role}`;
  return `${event.name}() ${outcome}${changes}.${woken}`;
}
