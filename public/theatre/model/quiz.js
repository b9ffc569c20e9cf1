// The quiz: which event comes next? All answers are events of the recording.
import { roleOf } from './text.js';

/** @typedef {import('./types.js').Replay} Replay */

const CHOICES = 4;

/** @param {Replay} replay @param {number} event */
const label = ({ trace }, event) => `${roleOf(trace, trace.events[event].pid)}: ${trace.events[event].name}`;

/**
 * The possible answers, the correct one among them; null if the next moment does not begin an event.
 * @param {Replay} replay
 * @param {number} count of moments that have passed
 */
export function questionAt(replay, count) {
  const next = replay.moments[count];
  if (!next || next.edge === 'leave') return null;
  const answer = label(replay, next.event);
  const others = [...new Set(replay.trace.events.map((_, i) => label(replay, i)))].filter((other) => other !== answer);
  // Events near the present are the plausible ones.
  const from = count % Math.max(1, others.length);
  const plausible = [...others.slice(from), ...others.slice(0, from)].slice(0, CHOICES - 1);
  return { answer, choices: [answer, ...plausible].sort() };
}
