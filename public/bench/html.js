// Making elements and the rows of tables.
import { markOf } from './marks.js';

/** @typedef {Node | string} Child */

/**
 * An element: h('a', {href: '#x', onclick: f}, 'text'). What begins with "on" is a listener; false is left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

/** The element with an id, which must be there. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @param {string} id @param {string} sentence shown, or nothing */
export function say(id, sentence) {
  byId(id).textContent = sentence;
  byId(id).hidden = sentence === '';
}

/** @param {string} id @param {string[]} sentences */
export function sayAll(id, sentences) {
  byId(id).replaceChildren(...sentences.map((sentence) => h('p', {}, sentence)));
  byId(id).hidden = sentences.length === 0;
}

/** A mechanism's mark and name. @param {string} mechanism @param {string} [title] */
export const named = (mechanism, title = mechanism) => h('span', { class: 'named' }, markOf(mechanism), title);

/** Rows whose first cell is their heading. @param {Element} body @param {Child[][]} rows */
export function fill(body, rows) {
  const lines = rows.map(([first, ...rest]) =>
    h('tr', {}, h('th', { scope: 'row' }, first), ...rest.map((cell) => h('td', {}, cell))),
  );
  body.replaceChildren(...lines);
}
