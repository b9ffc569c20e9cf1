'use strict';
// A recording of any program as text: the calls of all processes in the order of their start, and a summary.
const { duration } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');
const { cut } = require('../log.js');

/** @typedef {import('../../terminal/style.js').Style} Style */
/** @typedef {import('./record.js').ProgramTrace} ProgramTrace */
/** @typedef {import('./recorder.js').ProgramCall} ProgramCall */

const FIRST_LINES = 4000; // of a long recording, the begin and the end
const LAST_LINES = 1000;
const MAX_ROWS = 12; // of a table

/** "node 12", or "node 12/15" for a thread other than the first. @param {ProgramTrace} trace */
function labels({ processes }) {
  const names = new Map(processes.map(({ pid, name }) => [pid, name]));
  return (/** @type {{pid: number, tid: number}} */ { pid, tid }) =>
    `${names.get(pid) ?? 'process'} ${pid}${tid === pid ? '' : `/${tid}`}`;
}

/** @param {ProgramCall} event @param {ProgramCall[]} events @param {(event: ProgramCall) => string} labelOf */
function sleepOf({ t, end, sleeps, wokenBy }, events, labelOf) {
  if (!sleeps || end === null) return '';
  const waker = wokenBy === null ? null : events[wokenBy];
  return `slept; the call took ${duration(end - t)}${waker ? `; woken by ${waker.name}() of ${labelOf(waker)}` : ''}`;
}

/**
 * One line per event, at most `width` columns long.
 * @param {ProgramTrace} trace
 * @param {Style} style
 * @param {number} width
 */
function renderLog(trace, style, width) {
  const { events } = trace;
  const labelOf = labels(trace);
  const digits = ((events.at(-1)?.t ?? 0) / 1000).toFixed(1).length;
  const labelWidth = Math.min(24, Math.max(0, ...events.slice(0, FIRST_LINES).map((event) => labelOf(event).length)));
  const omitted = events.length - FIRST_LINES - LAST_LINES;
  const lines = [];
  for (const [i, event] of events.entries()) {
    if (omitted > 0 && i >= FIRST_LINES && i < events.length - LAST_LINES) {
      if (i === FIRST_LINES) lines.push(style.dim(`... ${omitted} calls, which --json writes ...`));
      continue;
    }
    const front = `${(event.t / 1000).toFixed(1).padStart(digits)}  ${labelOf(event).padEnd(labelWidth)}  `;
    const outcome = event.kind === 'signal' ? '' : ` = ${event.result}`;
    const what = event.kind === 'signal' ? `--- ${event.name} ---` : `${event.name}(${event.args.join(', ')})`;
    const shown = outcome.slice(0, Math.max(12, width - front.length - 24));
    const line = event.source ? `${event.source.file.split('/').pop()}:${event.source.line}` : '';
    const source = line && `  ${event.source?.why ? `(${line}, ${event.source.why})` : line}`;
    const text = cut(what, Math.max(16, width - front.length - shown.length - source.length));
    lines.push(style.dim(front) + text + (shown.startsWith(' = -1') ? style.bad(shown) : shown) + style.dim(source));
    const sleep = sleepOf(event, events, labelOf);
    if (sleep) lines.push(style.dim(`${' '.repeat(front.length + 2)}${sleep}`).slice(0, Math.max(width, 40) + 20));
  }
  return lines.join('\n');
}

/** @param {ProgramCall[]} calls */
function figuresOf(calls) {
  const asleep = calls.filter(({ sleeps, end }) => sleeps > 0 && end !== null);
  return {
    count: calls.length,
    failed: calls.filter(({ result }) => result.startsWith('-1 ')).length,
    asleepNs: asleep.reduce((sum, { t, end }) => sum + (end ?? t) - t, 0),
  };
}

/** @param {Map<string, ProgramCall[]>} groups @param {string} head @param {Style} style */
function tableOf(groups, head, style) {
  const all = [...groups].map(([name, calls]) => ({ name, ...figuresOf(calls) })).sort((a, b) => b.count - a.count);
  const rows = all.slice(0, MAX_ROWS);
  const rest = all.length - rows.length;
  const cells = rows.map(({ name, count, failed, asleepNs }) => [
    name,
    String(count),
    failed ? String(failed) : '',
    asleepNs ? duration(asleepNs) : '',
  ]);
  if (rest > 0)
    cells.push([`${rest} others`, String(all.slice(MAX_ROWS).reduce((sum, { count }) => sum + count, 0)), '', '']);
  return plainTable(null, [head, 'calls', 'failed', 'in calls that slept'], cells, style);
}

/** Calls by process and by name. @param {ProgramTrace} trace @param {Style} style */
function renderSummary(trace, style) {
  const calls = trace.events.filter(({ kind }) => kind === 'syscall');
  const labelOf = labels(trace);
  /** @param {(event: ProgramCall) => string} key */
  const by = (key) => {
    /** @type {Map<string, ProgramCall[]>} */
    const groups = new Map();
    for (const call of calls) {
      const list = groups.get(key(call));
      if (list) list.push(call);
      else groups.set(key(call), [call]);
    }
    return groups;
  };
  return [
    tableOf(by(labelOf), 'process', style),
    tableOf(
      by(({ name }) => name),
      'call',
      style,
    ),
  ].join('\n\n');
}

/** @param {number} count @param {string} one @param {string} [many] */
const counted = (count, one, many = `${one}s`) => `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/** How the program ended, as sentences. @param {ProgramTrace} trace */
function renderEnd(trace) {
  const { ended, status, signal, durationNs, processes, events, dropped, stuck, waiting, notes, payloads } = trace;
  const threads = processes.reduce((sum, process) => sum + process.threads.length, 0);
  const program = signal ? `was ended by ${signal}` : `exited with status ${status}`;
  const after = `after ${duration(durationNs)}`;
  /** @type {Record<string, string>} */
  const ends = {
    exited: `The program ${program}.`,
    timeout: `The time limit ended the program ${after}.`,
    deadlock: `The program was ended ${after}, because it is deadlocked.`,
    interrupted: `The program was interrupted ${after}.`,
    limit: `The program was ended ${after}, because it reached a limit of processes, threads or descriptors.`,
  };
  const what = `${counted(processes.length, 'process', 'processes')}, ${counted(threads, 'thread')}, ${counted(
    events.filter(({ kind }) => kind === 'syscall').length,
    'call',
  )}.`;
  return [
    `${ends[ended] ?? ends.exited} ${what}`,
    ...(stuck ? [stuck.text] : []),
    ...(waiting ? [waiting.text] : []),
    ...(dropped
      ? [`The recording reached its limit: ${counted(dropped, 'more call was', 'more calls were')} not recorded.`]
      : []),
    ...notes,
    ...(payloads ? [] : ['The recording contains no payloads.']),
  ];
}

module.exports = { renderEnd, renderLog, renderSummary };
