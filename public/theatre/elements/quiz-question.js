// The question of the quiz: one button per answer.
import { h } from '../../shared/dom.js';

/**
 * @param {HTMLElement} place
 * @param {{answer: string, choices: string[]}} question
 * @param {(verdict: string) => void} onAnswer receives an empty verdict if the user asks for the answer
 */
export function ask(place, { answer, choices }, onAnswer) {
  const choose = (/** @type {string | null} */ choice) => {
    onAnswer(choice === null ? '' : choice === answer ? `Yes, it is “${answer}”.` : `No, it is “${answer}”.`);
  };
  const buttons = choices.map((choice) => h('button', { type: 'button', onclick: () => choose(choice) }, choice));
  place.hidden = false;
  place.replaceChildren(
    h('span', {}, 'What comes next?'),
    ...buttons,
    h('button', { type: 'button', class: 'plain', onclick: () => choose(null) }, 'Show the answer'),
  );
  buttons[0].focus();
}
