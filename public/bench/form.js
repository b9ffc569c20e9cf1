// The form: which mechanisms, how many messages of what size, how much effort; and its sentences when a value cannot be
// used. The limits are those of the inputs themselves.
import { byId, h, named } from './html.js';

/** What the command line takes for each effort. @type {Record<string, number>} */
const MESSAGES = { quick: 20_000, standard: 100_000, thorough: 100_000 };

const chosenEffort = () => /** @type {HTMLInputElement} */ (document.querySelector('[name=effort]:checked')).value;
const boxes = () => /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll('[name=mechanism]')]);

/** Say what is wrong with a control, or nothing. @param {HTMLElement} control @param {string} sentence */
function complain(control, sentence) {
  byId(`${control.id}-bad`).textContent = sentence;
  if (control instanceof HTMLInputElement) control.setAttribute('aria-invalid', String(sentence !== ''));
  return sentence === '';
}

/** @param {HTMLInputElement} input @param {string} what */
function check(input, what) {
  const [least, most] = [input.min, input.max].map((limit) => Number(limit).toLocaleString('en-US'));
  return complain(input, input.validity.valid ? '' : `${what}: a whole number from ${least} to ${most}.`);
}

/**
 * @param {{name: string, title: string}[]} mechanisms
 * @param {(options: object) => void} onStart told the options of a run when all can be used
 */
export function setUpForm(mechanisms, onStart) {
  const [choices, messages, size] = ['choices', 'messages', 'size'].map(byId);
  for (const { name, title } of mechanisms) {
    const box = h('input', { type: 'checkbox', name: 'mechanism', value: name, checked: true });
    choices.append(h('label', { class: 'choice' }, box, named(name, title), h('code', {}, name)));
  }
  let chosenByHand = false;
  messages.addEventListener('input', () => {
    chosenByHand = true;
  });
  byId('effort').addEventListener('change', () => {
    if (!chosenByHand) messages.value = String(MESSAGES[chosenEffort()]);
    check(messages, 'Messages');
  });

  /** Say what cannot be used, and give back the first such control. */
  const firstBad = () => {
    const some = boxes().some(({ checked }) => checked);
    const fine = [
      complain(byId('mechanisms'), some ? '' : 'Choose at least one mechanism.'),
      check(messages, 'Messages'),
      check(size, 'Bytes'),
    ];
    return [boxes()[0], messages, size][fine.indexOf(false)];
  };
  byId('form').addEventListener('change', () => document.querySelector('.bad:not(:empty)') && firstBad());
  byId('form').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const bad = firstBad();
    if (bad) return bad.focus();
    onStart({
      mechanisms: boxes().flatMap(({ checked, value }) => (checked ? [value] : [])),
      messages: Number(messages.value),
      sizeBytes: Number(size.value),
      effort: chosenEffort(),
    });
  });
}
