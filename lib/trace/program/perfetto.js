'use strict';
// A recording of any program as Trace Event JSON, for ui.perfetto.dev. Times are in microseconds.

/** @typedef {import('./record.js').ProgramTrace} ProgramTrace */

/** @param {number} ns */
const micros = (ns) => ns / 1000;

/** The names of the processes and their threads. @param {ProgramTrace} trace */
function names({ processes }) {
  return processes.flatMap(({ pid, name, threads }, index) => {
    const meta = { ph: 'M', ts: 0, pid };
    return [
      { ...meta, tid: pid, name: 'process_name', args: { name } },
      { ...meta, tid: pid, name: 'process_sort_index', args: { sort_index: index } },
      ...threads.map((thread) => ({ ...meta, tid: thread.tid, name: 'thread_name', args: { name: thread.name } })),
    ];
  });
}

/** Arrows from what woke a thread to the end of its sleep. @param {ProgramTrace} trace */
function wakeUps({ events }) {
  return events.flatMap((sleeper, id) => {
    if (sleeper.wokenBy === null) return [];
    const waker = events[sleeper.wokenBy];
    const arrow = { cat: 'wake-up', name: 'wakes', id, args: {} };
    return [
      { ...arrow, ph: 's', pid: waker.pid, tid: waker.tid, ts: micros(waker.t) },
      { ...arrow, ph: 'f', bp: 'e', pid: sleeper.pid, tid: sleeper.tid, ts: micros(sleeper.end ?? sleeper.t) },
    ];
  });
}

/** @param {ProgramTrace} trace */
function toTraceEvents(trace) {
  /** A call that never returned ends with its thread. @type {Map<number, number>} */
  const ends = new Map();
  for (const { end, threads } of trace.processes) for (const thread of threads) ends.set(thread.tid, thread.end ?? end);
  const slices = trace.events.map(({ t, end, pid, tid, kind, name, args, result, sleeps, source }) => ({
    ph: 'X',
    cat: kind,
    name,
    pid,
    tid,
    ts: micros(t),
    dur: micros((end ?? ends.get(tid) ?? trace.durationNs) - t),
    args: {
      ...(args.length ? { call: args.join(', ') } : {}),
      ...(result ? { result } : {}),
      ...(sleeps ? { sleeps } : {}),
      ...(source ? { source: `${source.file}:${source.line}` } : {}),
    },
  }));
  return {
    traceEvents: [...names(trace), ...slices, ...wakeUps(trace)],
    displayTimeUnit: 'ns',
    otherData: {
      command: trace.command.join(' '),
      recordedAt: trace.recordedAt,
      ...trace.environment,
      note: 'Tracing slows the processes down: do not use these times as a benchmark.',
    },
  };
}

module.exports = { toTraceEvents };
