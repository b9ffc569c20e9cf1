// Making and changing elements.

/** @typedef {Node | string | null} Child */

/**
 * An element: h('a', {href: '#x', onclick: f}, 'text'). A function is a listener; false and undefined are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children null is left out
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The element with this id, which must exist. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Skips the write if nothing changes, which spares a layout. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {HTMLElement} element @param {string} text hides the element if empty */
export function showText(element, text) {
  setText(element, text);
  element.hidden = text === '';
}

/** The commands that a sentence names in backticks, as code. @param {string} sentence */
const withCode = (sentence) => sentence.split('`').map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));

/** @param {HTMLElement} element @param {string[]} sentences hides the element if there are none */
export function showParagraphs(element, sentences) {
  element.replaceChildren(...sentences.map((sentence) => h('p', {}, ...withCode(sentence))));
  element.hidden = sentences.length === 0;
}

/** @param {Element} control */
const labelOf = (control) => control.ariaLabel ?? control.textContent;

/** Focus the control with this label, if there is one. @param {Element} within @param {string} label */
export function focusLabeled(within, label) {
  const controls = /** @type {NodeListOf<HTMLElement>} */ (within.querySelectorAll('a, button, input'));
  [...controls].find((control) => labelOf(control) === label)?.focus({ preventScroll: true });
}

/**
 * Fill a table; the first cell of each row is its heading. A control that has the focus keeps it if the new rows have one with the same label.
 * @param {Element} body @param {Child[][]} rows
 */
export function fillRows(body, rows) {
  const { activeElement } = document;
  const focused = activeElement && body.contains(activeElement) ? labelOf(activeElement) : null;
  const lines = rows.map(([first, ...rest]) =>
    h('tr', {}, h('th', { scope: 'row' }, first), ...rest.map((cell) => h('td', {}, cell))),
  );
  body.replaceChildren(...lines);
  if (focused !== null) focusLabeled(body, focused);
}

/** Does the user ask for less motion? */
export const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
