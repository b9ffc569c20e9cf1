// Making elements, and the tables of this page.
import { markOf } from './marks.js';

/**
 * @typedef {Node | string | null | undefined | false} Child
 */

/**
 * An element: h('a', {href: '#x', class: 'soft', onclick: f}, 'text').
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes] those that begin with "on" are listeners; false and null are left out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The element with an id, which must be there. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** A mechanism's mark and name. @param {{mechanism: string, title: string}} result */
export const named = ({ mechanism, title }) => h('span', { class: 'named' }, markOf(mechanism), title);

/**
 * A table that scrolls in its own box when it is too wide. The first cell of each row is its heading.
 * @param {string} label what it holds, for those who hear it
 * @param {(string | HTMLElement)[]} heads
 * @param {Child[][]} rows
 * @param {{groups?: [string, number][]}} [options] headings over several columns
 */
export function tableOf(label, heads, rows, { groups } = {}) {
  const head = h('tr', {}, ...heads.map((text) => h('th', { scope: 'col' }, text)));
  const over =
    groups &&
    h(
      'tr',
      { class: 'groups' },
      ...groups.map(([text, span]) => h(text ? 'th' : 'td', { colspan: span, scope: text && 'colgroup' }, text)),
    );
  const body = rows.map(([first, ...rest]) =>
    h('tr', {}, h('th', { scope: 'row' }, first), ...rest.map((cell) => h('td', {}, cell))),
  );
  return h(
    'div',
    { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': label },
    h(
      'table',
      {},
      h('caption', { class: 'only-read-aloud' }, label),
      h('thead', {}, over, head),
      h('tbody', {}, ...body),
    ),
  );
}
