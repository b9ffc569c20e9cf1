// A recording in words: the sentence at the top, names of processes, lines of the log. All composed of the recording's own fields.
import { counted, duration } from '../../shared/format.js';
import { ASLEEP, NEVER_RETURNED, STEP } from './flags.js';

/** @typedef {import('./types.js').Recording} Recording */

/** @param {{status: number | null, signal: string | null}} end */
function exitText({ status, signal }) {
  if (signal) return `was killed by ${/^\d+$/.test(signal) ? `signal ${signal}` : signal}`;
  return status === null ? 'ended' : `exited with status ${status}`;
}

/** How the recording ended. @param {Recording} recording */
function endText({ about, stuck }) {
  switch (about.ended) {
    case 'exited':
      return ` It ${exitText(about)}.`;
    case 'deadlock':
      return ' It ended in a deadlock: no process could continue.';
    case 'timeout':
      return stuck
        ? ' At the time limit, processes were still waiting.'
        : ' It was still running when the time limit was reached.';
    case 'limit':
      return ' The recording stopped at its limit of events; the program had not ended.';
    default:
      return about.ended ? ` It ended: ${about.ended}.` : '';
  }
}

/** What the recording is, in one or two plain sentences. @param {Recording} recording */
export function summaryOf(recording) {
  const { about, processes, lanes, calls, count, durationNs } = recording;
  const threads = lanes.length > processes.length ? ` and ${counted(lanes.length, 'thread')}` : '';
  const steps = count > calls ? ` and ${counted(count - calls, 'step')} in user space` : '';
  const who = about.command ? `“${shortened(about.command, 120)}”` : `The demo “${about.title}”`;
  const made = `${who} made ${counted(calls, 'system call')}${steps} in ${counted(processes.length, 'process').replace('processs', 'processes')}${threads} within ${duration(durationNs)}.`;
  const dropped =
    about.dropped > 0 ? ` ${counted(about.dropped, 'event')} ${about.dropped === 1 ? 'was' : 'were'} dropped.` : '';
  const payloads = about.payloads ? '' : ' Payloads were left out.';
  return `${made}${endText(recording)}${dropped}${payloads}`;
}

/** @param {string} text @param {number} most */
export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** "node 12", or "node 12, thread 15" for a thread that is not the first. @param {Recording} recording @param {number} lane */
export function laneName({ lanes, processes }, lane) {
  const { pid, tid, main, name, process } = lanes[lane];
  const program = shortened(processes[process].name, 40);
  if (main) return `${program} ${pid}`.trim();
  return `${program} ${pid}, thread ${tid}${name && name !== processes[process].name ? ` ${shortened(name, 40)}` : ''}`.trim();
}

/** The same in short: "node 12", "libuv-worker 15". @param {Recording} recording @param {number} lane */
export function laneLabel({ lanes, processes }, lane) {
  const { tid, main, name, process } = lanes[lane];
  return `${shortened((main ? processes[process].name : name) || 'thread', 40)} ${main ? lanes[lane].pid : tid}`;
}

/** For a narrow column, in which the end may be cut: "12 node". @param {Recording} recording @param {number} lane */
export const idFirst = (recording, lane) => laneLabel(recording, lane).replace(/^(.*) (\d+)$/s, '$2 $1');

/** @param {Recording} recording @param {number} pid */
export const processName = ({ processes }, pid) =>
  `${shortened(processes.find((process) => process.pid === pid)?.name ?? '', 40)} ${pid}`.trim();

/** As strace prints it: "read(3<pipe A>, 64)". @param {Recording} recording @param {number} event */
export function callText({ flags, names, name, args }, event) {
  const title = names[name[event]];
  return flags[event] & STEP ? `· ${title}` : `${title}(${args[event].join(', ')})`;
}

/** @param {Recording} recording @param {number} event */
export const resultText = ({ flags, result }, event) =>
  flags[event] & STEP ? '' : flags[event] & NEVER_RETURNED ? 'never returned' : result[event];

/** @param {Recording} recording @param {number} event */
export const took = ({ t, end }, event) => (Number.isNaN(end[event]) ? '' : duration(end[event] - t[event]));

/** An event for a screen reader. @param {Recording} recording @param {number} event */
export function spokenText(recording, event) {
  const { flags, t, names, name, lane } = recording;
  const result = resultText(recording, event);
  const sleep = flags[event] & ASLEEP ? ', asleep' : '';
  return `${laneName(recording, lane[event])}: ${names[name[event]]}${result ? `, ${shortened(result, 80)}` : ''}${sleep}, at ${duration(t[event])}`;
}
