// "What comes next?": a quiet question before a step. The answers are events of this recording; nobody keeps a score.
import { h } from './dom.js';
import { roleOf } from './words.js';

/** @typedef {import('./types.js').Play} Play */

const CHOICES = 4;

/** @param {Play} play @param {number} event */
const label = ({ trace }, event) => `${roleOf(trace, trace.events[event].pid)}: ${trace.events[event].name}`;

/**
 * The possible answers to what begins next, the right one among them; null when nothing begins.
 * @param {Play} play
 * @param {number} count of moments that are past
 */
export function questionAt(play, count) {
  const next = play.moments[count];
  if (!next || next.edge === 'leave') return null;
  const answer = label(play, next.event);
  const others = [...new Set(play.trace.events.map((_, i) => label(play, i)))].filter((other) => other !== answer);
  // Those that happen near by are the likely ones: begin after the present, and go round.
  const from = count % Math.max(1, others.length);
  const likely = [...others.slice(from), ...others.slice(0, from)].slice(0, CHOICES - 1);
  return { answer, choices: [answer, ...likely].sort() };
}

/**
 * Ask, and go on once it is answered.
 * @param {HTMLElement} place
 * @param {{answer: string, choices: string[]}} question
 * @param {(said: string) => void} answered
 */
export function ask(place, { answer, choices }, answered) {
  const choose = (/** @type {string | null} */ choice) => {
    place.replaceChildren();
    place.hidden = true;
    answered(choice === null ? '' : choice === answer ? 'Yes. ' : `Not “${choice}” this time. `);
  };
  const buttons = choices.map((choice) => h('button', { type: 'button', onclick: () => choose(choice) }, choice));
  place.hidden = false;
  place.replaceChildren(
    h('span', {}, 'What comes next?'),
    ...buttons,
    h('button', { type: 'button', class: 'plain', onclick: () => choose(null) }, 'Show me'),
  );
  buttons[0].focus();
}
