'use strict';
// A recording of a Node program, reduced to the calls that its own lines made or led to, and to those in which Node waits for the
// next event. Node makes hundreds of others: to start, for its memory, and for its threads.

/** @typedef {import('../trace/program/record.js').ProgramTrace} ProgramTrace */
/** @typedef {ProgramTrace['events'][number]} Call */

const WAITS = new Set(['epoll_wait', 'epoll_pwait', 'epoll_pwait2']);

/** Did the call wait, or get events? @param {Call} call */
const waited = ({ name, sleeps, result }) => WAITS.has(name) && (sleeps > 0 || Number(result) > 0);

/** The events to keep, by their numbers: from the first line of the program to its last. @param {Call[]} events */
function ownEvents(events) {
  const first = events.findIndex(({ source }) => source !== null);
  const last = events.findLastIndex(({ source }) => source !== null);
  const isOwn = (/** @type {Call} */ call) => call.source !== null || (call.pid === call.tid && waited(call));
  return events.flatMap((call, i) => (first >= 0 && i >= first && i <= last && isOwn(call) ? [i] : []));
}

/**
 * The same recording with only the calls of the program's own lines, and a note that says so. Null if there is none.
 * @param {ProgramTrace} trace
 * @returns {ProgramTrace | null}
 */
function ownCalls(trace) {
  const kept = ownEvents(trace.events);
  if (kept.length === 0) return null;
  const places = new Map(kept.map((before, after) => [before, after]));
  const placeOf = (/** @type {number | null} */ event) => (event === null ? null : (places.get(event) ?? null));
  const events = kept.map((i) => ({ ...trace.events[i], wokenBy: placeOf(trace.events[i].wokenBy) }));
  /** @param {ProgramTrace['stuck'] | ProgramTrace['waiting']} explained @returns {any} */
  const renumbered = (explained) =>
    explained && { ...explained, waits: explained.waits.map((wait) => ({ ...wait, event: placeOf(wait.event) })) };
  const threads = new Set(events.map(({ tid }) => tid));
  const objects = new Set(events.flatMap((call) => call.objects));
  const sources = new Set(events.flatMap(({ source }) => (source ? [source.file] : [])));
  const note =
    `Node made ${trace.events.length} system calls. These are the ${events.length} that belong to a line of the program, or in which ` +
    'Node waited for the next event. The others start and end Node, manage its memory, and wake its threads.';
  return {
    ...trace,
    events,
    stuck: renumbered(trace.stuck),
    waiting: renumbered(trace.waiting),
    notes: [...trace.notes, note],
    processes: trace.processes.map((process) => ({
      ...process,
      threads: process.threads.filter(({ tid }) => tid === process.pid || threads.has(tid)),
    })),
    objects: trace.objects.filter(({ id }) => objects.has(id)),
    descriptors: trace.descriptors.filter(({ object }) => objects.has(object)),
    sources: Object.fromEntries(Object.entries(trace.sources).filter(([file]) => sources.has(file))),
  };
}

module.exports = { ownCalls };
