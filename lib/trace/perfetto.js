'use strict';
// A recording as Trace Event JSON, for ui.perfetto.dev and chrome://tracing. Times are in microseconds, as specified in
// "Trace Event Format", Google, 2016.

/** @typedef {import('./record.js').Trace} Trace */
/** @typedef {import('./record.js').TraceEvent} TraceEvent */

const PHASES = { setup: 'set-up', message: 'messages', teardown: 'tear-down' };
const PHASE_TRACK = 1; // beside each process's own thread
const CALL_TRACK = 2;

/** @param {number} ns */
const micros = (ns) => ns / 1000;

/** The names of the processes and their tracks. @param {Trace} trace */
function names({ processes, title }) {
  return processes.flatMap(({ pid, role }, index) => {
    const meta = (/** @type {string} */ name, /** @type {number} */ tid, /** @type {object} */ args) => ({
      ph: 'M',
      ts: 0,
      pid,
      tid,
      name,
      args,
    });
    return [
      meta('process_name', 0, { name: `${title}: ${role}` }),
      meta('process_sort_index', 0, { sort_index: index }),
      meta('thread_name', PHASE_TRACK, { name: 'phases' }),
      meta('thread_name', CALL_TRACK, { name: 'system calls and steps' }),
    ];
  });
}

/** The details shown when a slice is selected. @param {TraceEvent} event */
function details({ args, result, source, call, message, sleeps, memory }) {
  return {
    ...(args.length ? { call: args.join(', ') } : {}),
    ...(result ? { result } : {}),
    ...(call ? { for: call } : {}),
    ...(source ? { source: `${source.file}:${source.line}` } : {}),
    ...(message === null ? {} : { message }),
    ...(sleeps ? { sleeps } : {}),
    ...memory,
  };
}

/** The end of an event; a call that never returned has no length. @param {TraceEvent} event */
const endOf = ({ t, end }) => end ?? t;

/** Each process's phases, from its first event to its last. @param {Trace} trace */
function phases({ processes, events }) {
  return processes.flatMap(({ pid }) =>
    Object.entries(PHASES).flatMap(([phase, name]) => {
      const inside = events.filter((event) => event.pid === pid && event.phase === phase);
      if (inside.length === 0) return [];
      const from = inside[0].t;
      const to = Math.max(...inside.map(endOf));
      return [
        { ph: 'X', cat: 'phase', name, pid, tid: PHASE_TRACK, ts: micros(from), dur: micros(to - from), args: {} },
      ];
    }),
  );
}

/** An arrow from what woke a process to the end of its sleep. @param {Trace} trace */
function wakeUps({ events }) {
  return events.flatMap((sleeper, id) => {
    if (sleeper.wokenBy === null) return [];
    const waker = events[sleeper.wokenBy];
    const arrow = { cat: 'wake-up', name: 'wakes', id, tid: CALL_TRACK, args: {} };
    return [
      { ...arrow, ph: 's', pid: waker.pid, ts: micros(waker.t) },
      { ...arrow, ph: 'f', bp: 'e', pid: sleeper.pid, ts: micros(endOf(sleeper)) },
    ];
  });
}

/** @param {Trace} trace */
function toTraceEvents(trace) {
  const slices = trace.events.map((event) => ({
    ph: 'X',
    cat: event.kind,
    name: event.name,
    pid: event.pid,
    tid: CALL_TRACK,
    ts: micros(event.t),
    dur: micros(endOf(event) - event.t),
    args: details(event),
  }));
  return {
    traceEvents: [...names(trace), ...phases(trace), ...slices, ...wakeUps(trace)],
    displayTimeUnit: 'ns',
    otherData: {
      mechanism: trace.mechanism,
      recordedAt: trace.recordedAt,
      ...trace.environment,
      note: 'Tracing slows the processes down: do not use these times as a benchmark.',
    },
  };
}

module.exports = { toTraceEvents };
