// A recording in words: the sentence at the top, names of processes, lines of the log. All composed of the recording's own fields.
import { counted, duration } from '../../shared/format.js';
import { argsOf, resultOf } from './event-texts.js';
import { ASLEEP, NEVER_RETURNED, SIGNAL, STEP } from './flags.js';

/** @typedef {import('./types.js').Recording} Recording */

/** @param {{status: number | null, signal: string | null}} end */
function exitText({ status, signal }) {
  if (signal) return `was killed by ${/^\d+$/.test(signal) ? `signal ${signal}` : signal}`;
  return status === null ? 'ended' : `exited with status ${status}`;
}

/** How the recording ended. @param {Recording} recording */
function endText({ about }) {
  switch (about.ended) {
    case 'exited':
      return ` It ${exitText(about)}.`;
    case 'deadlock':
      return ' It ended in a deadlock: no process could continue.';
    case 'timeout':
      return ' It was stopped at the time limit.';
    case 'interrupted':
      return ' The recording was interrupted.';
    case 'limit':
      return ' It was stopped because it reached a limit of processes, threads or descriptors.';
    default:
      return about.ended ? ` It ended: ${fitted(about.ended, 80)}.` : '';
  }
}

/** What the recording is, in a few plain sentences. @param {Recording} recording */
export function summaryOf(recording) {
  const { about, processes, lanes, calls, count, flags, durationNs } = recording;
  const signals = flags.reduce((sum, bits) => sum + (bits & SIGNAL ? 1 : 0), 0);
  const steps = count - calls - signals;
  const parts = [
    counted(calls, 'system call'),
    ...(steps > 0 ? [`${counted(steps, 'step')} in user space`] : []),
    ...(signals > 0 ? [counted(signals, 'signal')] : []),
  ];
  const made = parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : parts[0];
  const threads = lanes.length > processes.length ? ` and ${counted(lanes.length, 'thread')}` : '';
  const who = about.command ? `“${fitted(about.command, 120)}”` : `The demo “${fitted(about.title, 120)}”`;
  const dropped =
    about.dropped > 0
      ? ` ${counted(about.dropped, 'later call')} ${about.dropped === 1 ? 'is' : 'are'} not in the recording.`
      : '';
  const payloads = about.payloads ? '' : ' Payloads are not included.';
  return `${who} made ${made} in ${manyProcesses(processes.length)}${threads} within ${duration(durationNs)}.${endText(recording)}${dropped}${payloads}`;
}

/** @param {number} count */
export const manyProcesses = (count) => `${count.toLocaleString('en-US')} process${count === 1 ? '' : 'es'}`;

const ODD = 4; // plain characters; to lay out an odd one takes longer than that

/**
 * How much of a text may be shown at once: fonts must be found for odd characters, which takes seconds if there are 100,000 different ones.
 * @param {string} text @param {number} most plain characters; any other character counts as ODD of them
 * @returns {number} the length of the beginning that fits
 */
export function fitting(text, most) {
  let length = 0;
  for (const one of text) {
    most -= one <= '~' ? 1 : ODD * one.length;
    if (most < 0) break;
    length += one.length;
  }
  return length;
}

/** What fits of a text, with "…" if that is not all. @param {string} text @param {number} most as above */
export function fitted(text, most) {
  const length = fitting(text, most);
  return length < text.length ? `${text.slice(0, length)}…` : text;
}

/** "node 12", or "node 12, thread 15" for a thread that is not the first. @param {Recording} recording @param {number} lane */
export function laneName({ lanes, processes }, lane) {
  const { pid, tid, main, name, process } = lanes[lane];
  const program = fitted(processes[process].name, 40);
  if (main) return `${program} ${pid}`.trim();
  return `${program} ${pid}, thread ${tid}${name && name !== processes[process].name ? ` ${fitted(name, 40)}` : ''}`.trim();
}

/** The same in short: "node 12", "libuv-worker 15". @param {Recording} recording @param {number} lane */
export function laneLabel({ lanes, processes }, lane) {
  const { tid, main, name, process } = lanes[lane];
  return `${fitted((main ? processes[process].name : name) || 'thread', 40)} ${main ? lanes[lane].pid : tid}`;
}

/** For a narrow column, in which the end may be cut: "12 node". @param {Recording} recording @param {number} lane */
export const idFirst = (recording, lane) => laneLabel(recording, lane).replace(/^(.*) (\d+)$/s, '$2 $1');

/** @param {Recording} recording @param {number} pid */
export const processName = ({ processes }, pid) =>
  `${fitted(processes.find((process) => process.pid === pid)?.name ?? '', 40)} ${pid}`.trim();

/** As strace prints it: "read(3<pipe A>, 64)". @param {Recording} recording @param {number} event */
export function callText(recording, event) {
  const { flags, names, name } = recording;
  const title = names[name[event]];
  return flags[event] & STEP ? `· ${title}` : `${title}(${argsOf(recording, event).join(', ')})`;
}

/** @param {Recording} recording @param {number} event */
export function resultText(recording, event) {
  if (recording.flags[event] & STEP) return '';
  return recording.flags[event] & NEVER_RETURNED ? 'never returned' : resultOf(recording, event);
}

/** @param {Recording} recording @param {number} event */
export const took = ({ t, end }, event) => (Number.isNaN(end[event]) ? '' : duration(end[event] - t[event]));

/** An event for a screen reader. @param {Recording} recording @param {number} event */
export function spokenText(recording, event) {
  const { flags, t, names, name, lane } = recording;
  const result = resultText(recording, event);
  const sleep = flags[event] & ASLEEP ? ', asleep' : '';
  return `${laneName(recording, lane[event])}: ${names[name[event]]}${result ? `, ${fitted(result, 80)}` : ''}${sleep}, at ${duration(t[event])}`;
}
