// The button that copies a command. It says beside itself what happened, since a page without HTTPS or in a frame may not copy.
import { announce } from './announce.js';
import { h } from './dom.js';

const SHOWN_MS = 3000;

/** @param {HTMLElement} button @param {HTMLElement} command the element that contains it */
export function offerCopy(button, command) {
  const said = h('span', { class: 'soft copied', 'aria-hidden': 'true' }); // the live region reads it aloud
  button.after(said);
  let timer = 0;
  const say = (/** @type {string} */ sentence, /** @type {number} */ ms) => {
    said.textContent = ` ${sentence}`;
    announce(sentence);
    clearTimeout(timer);
    if (ms > 0) timer = setTimeout(() => said.replaceChildren(), ms);
  };
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(command.textContent ?? '');
      say('Command copied.', SHOWN_MS);
    } catch {
      getSelection()?.selectAllChildren(command);
      say('The browser did not let this page copy. The command is selected: press Ctrl+C, or ⌘C on a Mac.', 0);
    }
  });
}
