// The text of a pitfall: Markdown with headings, paragraphs, `code` and **bold**, and nothing else.
import { h } from '../shared/dom.js';

/** @param {string} text @returns {(Node | string)[]} */
function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return h('code', {}, part.slice(1, -1));
    if (part.startsWith('**')) return h('strong', {}, ...inline(part.slice(2, -2)));
    return part;
  });
}

/**
 * The sections of a text, by their headings.
 * @param {string} text
 * @returns {{heading: string, element: HTMLElement}[]}
 */
export function sectionsOf(text) {
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading, ...paragraphs] = section.trim().split(/\n\s*\n/);
      const element = h(
        'section',
        {},
        h('h2', {}, heading),
        ...paragraphs.map((paragraph) => h('p', {}, ...inline(paragraph.replace(/\s+/g, ' ')))),
      );
      return { heading, element };
    });
}
