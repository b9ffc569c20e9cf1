// The form: mechanisms, workload and effort, and an error beside each invalid control. The limits are the inputs' own.
import { byId, h } from '../shared/dom.js';
import { named } from '../shared/mechanisms.js';

/** The command line's defaults. @type {Record<string, number>} */
const MESSAGES = { quick: 20_000, standard: 100_000, thorough: 100_000 };

const selectedEffort = () => /** @type {HTMLInputElement} */ (document.querySelector('[name=effort]:checked')).value;
const boxes = () => /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll('[name=mechanism]')]);

/** Show an error beside a control. @param {HTMLElement} control @param {string} error empty if its value is valid */
function showError(control, error) {
  byId(`${control.id}-error`).textContent = error;
  if (control instanceof HTMLInputElement) control.setAttribute('aria-invalid', String(error !== ''));
  return error === '';
}

/** @param {HTMLInputElement} input @param {string} name */
function validate(input, name) {
  const [min, max] = [input.min, input.max].map((limit) => Number(limit).toLocaleString('en-US'));
  return showError(input, input.validity.valid ? '' : `${name} must be a whole number from ${min} to ${max}.`);
}

/**
 * @param {{name: string, title: string}[]} mechanisms
 * @param {(options: object) => void} onStart receives the options of a run, all valid
 */
export function setUpForm(mechanisms, onStart) {
  const [choices, messages, size] = ['choices', 'messages', 'size'].map(byId);
  for (const { name, title } of mechanisms) {
    const box = h('input', { type: 'checkbox', name: 'mechanism', value: name, checked: true });
    choices.append(h('label', { class: 'choice' }, box, named(name, title), h('code', {}, name)));
  }
  let edited = false;
  messages.addEventListener('input', () => {
    edited = true;
  });
  byId('effort').addEventListener('change', () => {
    if (!edited) messages.value = String(MESSAGES[selectedEffort()]);
    validate(messages, 'Messages per sample');
  });

  /** Show every error, and return the first invalid control. */
  const firstInvalid = () => {
    const some = boxes().some(({ checked }) => checked);
    const valid = [
      showError(byId('mechanisms'), some ? '' : 'Select at least one mechanism.'),
      validate(messages, 'Messages per sample'),
      validate(size, 'Bytes per message'),
    ];
    return [boxes()[0], messages, size][valid.indexOf(false)];
  };
  byId('form').addEventListener('change', () => document.querySelector('.error:not(:empty)') && firstInvalid());
  byId('form').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const invalid = firstInvalid();
    if (invalid) return invalid.focus();
    onStart({
      mechanisms: boxes().flatMap(({ checked, value }) => (checked ? [value] : [])),
      messages: Number(messages.value),
      sizeBytes: Number(size.value),
      effort: selectedEffort(),
    });
  });
  byId('start').disabled = false; // until here, the browser itself would send the form
}
