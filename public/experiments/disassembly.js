// The instructions of the hot path beside their source lines, one function at a time.
import { fillRows, h } from '../shared/dom.js';
import { counted } from '../shared/format.js';

/**
 * @typedef {{file: string | null, line: number | null, source: string, instructions: {address: string, text: string}[]}} Chunk
 * @typedef {{name: string, instructions: number, calls: string[], lines: Chunk[]}} HotFunction
 * @typedef {{reason?: string, tool?: string, functions?: HotFunction[], violations?: string[]}} Disassembly
 */

/** @param {Chunk} chunk */
function rowOf({ file, line, source, instructions }) {
  const place = file === null ? '' : `${file}:${line}`;
  const listing = instructions.map(({ address, text }) => `${address}  ${text}`).join('\n');
  return [h('span', {}, h('code', {}, source), h('br'), h('small', {}, place)), h('pre', {}, listing)];
}

/** @param {HotFunction} hot */
function detailsOf({ name, instructions, calls, lines }) {
  const heads = ['source', 'instructions'].map((text) => h('th', { scope: 'col' }, text));
  const body = h('tbody');
  const table = h('table', { class: 'listing' }, h('thead', {}, h('tr', {}, ...heads)), body);
  const scroller = { class: 'scroller', tabindex: 0, 'aria-label': `${name}: source and instructions` };
  const calling = calls.length > 0 ? `, calls ${calls.join(' and ')}` : '';
  const details = h(
    'details',
    {},
    h('summary', {}, h('code', {}, name), ` ${counted(instructions, 'instruction')}${calling}`),
  );
  details.append(h('section', scroller, table));
  details.addEventListener('toggle', () => fillRows(body, lines.map(rowOf)), { once: true });
  return details;
}

/** @param {Disassembly} disassembly */
function summaryOf({ reason, tool, violations = [] }) {
  if (reason) return [`The instructions were not checked: ${reason}.`];
  if (violations.length > 0) return violations;
  return [`Disassembled with ${tool}. None is a system call, and none calls a function outside this list.`];
}

/** What shows a file's disassembly. It is the same in every file of a run, so it is built once. */
export function makeDisassembly() {
  const element = h('section', { hidden: true });
  let shown = '';
  return {
    element,
    /** @param {Disassembly | undefined} disassembly */
    show(disassembly) {
      const key = JSON.stringify(disassembly ?? null);
      if (key === shown) return;
      shown = key;
      element.hidden = disassembly === undefined;
      if (disassembly === undefined) return;
      element.replaceChildren(
        h('h3', {}, 'The hot path in C'),
        ...summaryOf(disassembly).map((sentence) => h('p', {}, sentence)),
        ...(disassembly.functions ?? []).map(detailsOf),
      );
    },
  };
}
