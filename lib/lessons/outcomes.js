'use strict';
// What the figures of a run decide: which answer is right, and which sentences of a text are shown.
const { CrossingsError } = require('../channel/errors.js');
const { figureText } = require('./figures.js');

/** @typedef {import('./figures.js').Figures} Figures */
/** @typedef {import('./folders.js').Condition} Condition */

/** @param {Figures} figures @param {string} name */
function figureOf(figures, name) {
  const figure = figures[name];
  if (figure) return figure;
  const known = Object.keys(figures).join(', ') || 'none';
  throw new CrossingsError('ERR_LESSON', `The text uses an unknown figure "${name}". Figures of this run: ${known}.`);
}

/** The value that a condition is about. @param {Condition} condition @param {Figures} figures */
function measured({ figure, than }, figures) {
  const { value } = figureOf(figures, figure);
  return than ? value / figureOf(figures, than).value : value;
}

/** Whether the value is within the condition's limits. @param {Condition} condition @param {number} value */
function accepts({ below = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY, equals }, value) {
  return value < below && value >= atLeast && (equals === undefined || value === equals);
}

/** @param {Condition} condition @param {Figures} figures */
const holds = (condition, figures) => accepts(condition, measured(condition, figures));

/** The number of the right answer; null: the figures are missing. @param {{right: Condition}[]} answers @param {Figures} figures */
function rightAnswer(answers, figures) {
  const right = answers.findIndex(({ right: condition }) => condition.figure in figures && holds(condition, figures));
  return right < 0 ? null : right;
}

const IF = /\{\{#if ([^}]*)\}\}([\s\S]*?)\{\{\/if\}\}/g;
const FIGURE = /\{\{([a-z][A-Za-z0-9]*)(?:\|(\d))?\}\}/g;
const LIMITS = ['than', 'below', 'atLeast', 'equals'];

/** "ratio below 1.2" -> {figure: 'ratio', below: 1.2}. @param {string} text @returns {Condition} */
function readCondition(text) {
  const [figure, ...words] = text.trim().split(/\s+/);
  /** @type {any} */
  const condition = { figure };
  for (let i = 0; i < words.length; i += 2) {
    const [limit, value] = words.slice(i, i + 2);
    const isRight =
      LIMITS.includes(limit) && value !== undefined && (limit === 'than' || Number.isFinite(Number(value)));
    if (!isRight) {
      throw new CrossingsError(
        'ERR_LESSON',
        `{{#if …}} must be a figure and limits, as in {{#if ratio below 1.2}} or {{#if a than b atLeast 2}}; got "${text}".`,
      );
    }
    condition[limit] = limit === 'than' ? value : Number(value);
  }
  return condition;
}

/** Every condition in a text. @param {string} text */
const conditionsIn = (text) => [...text.matchAll(IF)].map(([, condition]) => readCondition(condition));

/** The names of all figures that a text uses. @param {string} text */
const figuresUsed = (text) => [
  ...new Set([
    ...[...text.matchAll(FIGURE)].map(([, name]) => name),
    ...conditionsIn(text).flatMap(({ figure, than }) => (than ? [figure, than] : [figure])),
  ]),
];

/**
 * A text with this run's figures: `{{ratio}}`, `{{ratio|2}}` with two significant digits, and only those sentences whose
 * `{{#if …}}` holds.
 * @param {string} text
 * @param {Figures} figures
 */
function fill(text, figures) {
  return text
    .replace(IF, (_, condition, inner) => (holds(readCondition(condition), figures) ? inner : ''))
    .replace(FIGURE, (_, name, digits) =>
      figureText(figureOf(figures, name).value, digits ? Number(digits) : undefined),
    );
}

module.exports = { accepts, conditionsIn, figuresUsed, fill, holds, rightAnswer };
