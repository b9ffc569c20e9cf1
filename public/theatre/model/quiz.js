// The quiz: which event comes next? It asks only about messages: what a process calls to set itself up teaches nothing here.
import { isSetup } from './replay.js';
import { roleOf } from './text.js';

/** @typedef {import('./types.js').Replay} Replay */

const CHOICES = 4;

/** @param {Replay} replay @param {number} event */
const label = ({ trace }, event) => `${roleOf(trace, trace.events[event].pid)}: ${trace.events[event].name}`;

/**
 * The possible answers, the correct one among them; null if the next moment does not begin an event of a message.
 * @param {Replay} replay
 * @param {number} count of moments that have passed
 * @param {boolean} folded are moments of the setup passed over?
 */
export function questionAt(replay, count, folded) {
  const next = replay.moments.findIndex((_, i) => i >= count && !(folded && isSetup(replay, i)));
  const { event, edge } = replay.moments[next] ?? { event: -1, edge: 'leave' };
  const { trace } = replay;
  if (edge === 'leave' || trace.events[event].phase !== 'message') return null;
  const answer = label(replay, event);
  const asked = trace.events.flatMap(({ phase }, i) => (phase === 'message' ? [i] : []));
  const real = asked.map((i) => label(replay, i));
  // The same calls in the other process: a mechanism with two calls has two more answers to think about.
  const swapped = asked.flatMap((i) => trace.processes.map(({ role }) => `${role}: ${trace.events[i].name}`));
  const others = [...new Set([...real, ...swapped])].filter((other) => other !== answer);
  return { answer, choices: [answer, ...others.slice(0, CHOICES - 1)].sort() };
}
