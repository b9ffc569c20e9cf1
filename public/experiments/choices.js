// The form's choices, generated from what the server says of the experiment, and the command that makes the same run.
import { byId, h } from '../shared/dom.js';
import { hasMark, named } from '../shared/mechanisms.js';

/** 'totalBytes' -> 'total-bytes', as options are written in a terminal. @param {string} name */
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** @param {string} value as in the option */
const nameOf = (value) => (hasMark(value) ? named(value) : value);

/** The values that are selected, with the effort. @returns {Record<string, string>} */
export const chosen = () =>
  Object.fromEntries(/** @type {Iterable<[string, string]>} */ (new FormData(byId('form')).entries()));

/**
 * @param {AboutExperiment} experiment
 * @param {Record<string, string>} options
 */
function commandOf({ command, choices, argument }, { effort, ...options }) {
  // Every choice is written out: the command's own defaults may be others.
  const words = Object.keys(choices).flatMap((name) => {
    const value = options[name];
    if (name === argument) return [value];
    if (value === 'yes') return [`--${dashed(name)}`];
    return value === 'no' ? [] : [`--${dashed(name)}`, value];
  });
  return [command, ...words, ...(effort === 'standard' ? [] : [`--${effort}`])].join(' ');
}

/** @param {AboutExperiment} experiment @param {View | undefined} view */
export function setUpChoices(experiment, view) {
  for (const [name, values] of Object.entries(experiment.choices)) {
    const { legend = dashed(name).replaceAll('-', ' '), values: names = {} } = view?.choices?.[name] ?? {};
    const radios = values.map((value, i) =>
      h(
        'label',
        { class: 'choice' },
        h('input', { type: 'radio', name, value, checked: i === 0 }),
        h('span', {}, names[value] ?? nameOf(value)),
      ),
    );
    byId('choices').append(h('fieldset', {}, h('legend', {}, legend), ...radios));
  }
  byId('choices').hidden = Object.keys(experiment.choices).length === 0;
  const showCommand = () => {
    byId('command').textContent = commandOf(experiment, chosen());
  };
  byId('form').addEventListener('change', showCommand);
  showCommand();
}

/**
 * What the list shows of a run's choices.
 * @param {AboutExperiment} experiment
 * @param {View | undefined} view
 * @param {Record<string, any>} parameters a choice may be a list of what it selected, or a truth value
 */
export function describeChoices({ choices }, view, parameters) {
  const words = Object.keys(choices).flatMap((name) => {
    const { legend = name, values = {} } = view?.choices?.[name] ?? {};
    const value = parameters[name];
    if (value === undefined || value === false || value === 'no') return [];
    if (value === true || value === 'yes') return [legend];
    return [value]
      .flat()
      .map((one) => values[one] ?? one)
      .join(' + ');
  });
  return words.join(', ');
}
