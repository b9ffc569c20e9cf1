'use strict';
// A recording as text: the system calls of both processes as strace prints them, and what one message cost.
const { duration, significant } = require('../terminal/numbers.js');

/** @typedef {import('../terminal/style.js').Style} Style */
/** @typedef {import('./record.js').Trace} Trace */
/** @typedef {import('./record.js').TraceEvent} TraceEvent */

/** @param {number} count @param {string} one @param {string} [many] */
const counted = (count, one, many = `${one}s`) => `${Number(count.toFixed(1))} ${count === 1 ? one : many}`;

/** The section of each event: 0 for setup, n for message n, then teardown. @param {Trace} trace */
function parts({ events, parameters }) {
  const last = events.findLastIndex(({ phase }) => phase === 'message');
  let part = 0;
  return events.map(({ phase, message }, i) => {
    if (i > last) return parameters.messages + 1;
    if (phase === 'message') part = Math.max(part, message ?? 1);
    return part;
  });
}

/** @param {number} part @param {number} messages */
function heading(part, messages) {
  if (part === 0) return 'Setup';
  return part > messages ? 'Teardown' : `Message ${part}`;
}

/** Shortens a call that is too long, its string first. @param {string} text @param {number} width */
function cut(text, width) {
  const shortened = text.replace(/"((?:[^"\\]|\\.)*)"/, (string) => {
    const room = string.length - (text.length - width) - 1;
    if (text.length <= width || room <= 8) return string;
    return `${string.slice(0, room - 1).replace(/\\[0-7]*$/, '')}"…`; // without half an escape
  });
  return shortened.length > width ? `${shortened.slice(0, Math.max(width - 1, 1))}…` : shortened;
}

/** What was done, and its outcome. @param {TraceEvent} event */
function describe({ kind, name, args, call, result, memory = {} }) {
  if (kind === 'step') {
    const words = Object.entries(memory).map(([word, value]) => `${word} = ${value}`);
    return { what: `· ${name}`, outcome: `  ${words.join(', ')}` };
  }
  return { what: `${call ? `${call}: ` : ''}${name}(${args.join(', ')})`, outcome: ` = ${result}` };
}

/** A sleep, and the event that ended it. @param {TraceEvent} event @param {Trace} trace */
function sleepOf({ sleeps, wokenBy, t, end }, { events, processes }) {
  if (!sleeps || end === null) return '';
  const waker = wokenBy === null ? null : events[wokenBy];
  const role = processes.find(({ pid }) => pid === waker?.pid)?.role;
  return `slept; the call took ${duration(end - t)}${waker ? `; woken by the ${role}’s ${waker.call ?? waker.name}` : ''}`;
}

/**
 * The log, one line per event.
 * @param {Trace} trace
 * @param {Style} style
 * @param {number} width the longest line
 */
function renderLog(trace, style, width) {
  const { events, processes, parameters } = trace;
  const roles = new Map(processes.map(({ pid, role }) => [pid, role]));
  const digits = ((events.at(-1)?.t ?? 0) / 1000).toFixed(1).length + 2;
  const lines = [];
  let shown = -1;
  for (const [i, part] of parts(trace).entries()) {
    const event = events[i];
    if (part !== shown) lines.push('', style.bold(heading(part, parameters.messages)));
    shown = part;
    const at = (event.t / 1000).toFixed(1).padStart(digits);
    const source = event.source ? `${event.source.file.split('/').pop()}:${event.source.line}` : '';
    const front = `${at}  ${(roles.get(event.pid) ?? '').padEnd(6)}  `;
    const { what, outcome } = describe(event);
    const room = width - front.length - outcome.length - source.length - 2;
    const text = cut(what, room);
    const space = ' '.repeat(Math.max(2, room - text.length + 2));
    const failed = outcome.startsWith(' = -1');
    const paint = roles.get(event.pid) === 'reader' ? style.good : (/** @type {string} */ plain) => plain;
    lines.push(
      style.dim(`${at}  `) +
        paint(front.slice(at.length + 2)) +
        text +
        (failed ? style.bad(outcome) : outcome) +
        space +
        style.dim(source),
    );
    const sleep = sleepOf(event, trace);
    if (sleep) lines.push(style.dim(`${' '.repeat(front.length + 2)}${sleep}`));
  }
  return lines.join('\n').trimStart();
}

/** The cost of the messages, counted in the recording. @param {Trace} trace */
function billOf({ events, parameters }) {
  const during = events.filter(({ phase }) => phase === 'message');
  const sum = (/** @type {(event: TraceEvent) => number} */ count) =>
    during.reduce((total, event) => total + count(event), 0);
  const copies = during.flatMap(({ effects }) => effects.filter((effect) => effect.do === 'copy'));
  const own = during.flatMap(({ effects }) =>
    effects.filter((effect) => effect.do === 'store' || effect.do === 'load'),
  );
  return {
    messages: parameters.messages,
    calls: sum(({ kind }) => Number(kind === 'syscall')),
    sleeps: sum(({ sleeps }) => sleeps),
    kernelCopies: copies.length,
    ownCopies: own.length,
    bytes: [...copies, ...own].reduce((total, { bytes = 0 }) => total + bytes, 0),
  };
}

/** @param {Trace} trace @returns {string[]} sentences */
function renderBill(trace) {
  const { messages, calls, sleeps, kernelCopies, ownCopies, bytes } = billOf(trace);
  const { syscallNs } = trace.floors;
  const { median } = trace.untraced.messageNs;
  const each = (/** @type {number} */ count) => count / messages;
  const callsNs = each(calls) * syscallNs;
  const price =
    calls === 0
      ? `Untraced, a message took ${duration(median)}, none of it in the kernel.`
      : `Untraced, a message took ${duration(median)}, with ${messages} sent back to back. The cheapest system call takes ` +
        `${duration(syscallNs)} here, so ${counted(each(calls), 'system call')} ${each(calls) === 1 ? 'accounts' : 'account'} ` +
        `for ${duration(callsNs)} of that. The rest is the work of the calls (copying, sleeping, waking) and of the program ` +
        '(writing and checking the message).';
  return [
    `A message cost ${counted(each(calls), 'system call')}, ${counted(each(kernelCopies), 'copy', 'copies')} by the kernel, ` +
      `${counted(each(ownCopies), 'copy', 'copies')} by the processes (${significant(each(bytes))} bytes in total) ` +
      `and ${counted(each(sleeps), 'sleep')}.`,
    price,
    'Tracing slows the processes down, so the times in the log are not a benchmark. Use `npx crossings-lab bench` to measure.',
  ];
}

module.exports = { billOf, cut, renderBill, renderLog };
