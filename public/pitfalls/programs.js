// Both programs beside each other, line by line, with the lines marked in which they differ.
import { h } from '../shared/dom.js';

/** @typedef {{mark: ' ' | '-' | '+', text: string, wrong: number | null, right: number | null}} Line */
/** @typedef {'wrong' | 'right'} Which */
/** @typedef {{number: number | null, text: string, changed: boolean} | null} Cell null: a gap, so that both sides stay level */

const CONTEXT = 4; // lines shown around a difference

/**
 * The lines as pairs: removed and added lines that follow each other stand side by side.
 * @param {Line[]} lines
 */
function pairsOf(lines) {
  /** @type {{wrong: Cell, right: Cell}[]} */
  const pairs = [];
  for (let i = 0; i < lines.length; ) {
    if (lines[i].mark === ' ') {
      const { text, wrong, right } = lines[i++];
      pairs.push({ wrong: { number: wrong, text, changed: false }, right: { number: right, text, changed: false } });
      continue;
    }
    const end = lines.findIndex(({ mark }, at) => at > i && mark === ' ');
    const block = lines.slice(i, end < 0 ? lines.length : end);
    const removed = block.filter(({ mark }) => mark === '-');
    const added = block.filter(({ mark }) => mark === '+');
    for (let k = 0; k < Math.max(removed.length, added.length); k++) {
      const cell = (/** @type {Line | undefined} */ line, /** @type {Which} */ which) =>
        line ? { number: line[which], text: line.text, changed: true } : null;
      pairs.push({ wrong: cell(removed[k], 'wrong'), right: cell(added[k], 'right') });
    }
    i += block.length;
  }
  return pairs;
}

/** @param {Cell} cell @param {Which} which */
function lineOf(cell, which) {
  if (!cell) return h('span', { class: 'line gap' }, '\n');
  const mark = cell.changed ? { wrong: '−', right: '+' }[which] : ' ';
  const label = cell.changed && h('span', { class: 'only-read-aloud' }, 'changed: ');
  return h(
    'span',
    { class: cell.changed ? `line changed ${which}` : 'line' },
    h('span', { class: 'place', 'aria-hidden': 'true' }, `${String(cell.number).padStart(3)} ${mark} `),
    label || null,
    `${cell.text}\n`,
  );
}

/** @param {{wrong: Cell, right: Cell}[]} pairs @param {Which} which @param {string} name @param {boolean} whole */
function program(pairs, which, name, whole) {
  const isChanged = (/** @type {{wrong: Cell, right: Cell}} */ { wrong, right }) =>
    !wrong || !right || wrong.changed || right.changed;
  const shown = pairs.map((_, at) => whole || pairs.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(isChanged));
  /** @type {Node[]} */
  const lines = [];
  pairs.forEach((pair, at) => {
    if (shown[at]) lines.push(lineOf(pair[which], which));
    else if (at === 0 || shown[at - 1]) lines.push(h('span', { class: 'line omitted' }, '    ⋯\n'));
  });
  const figure = h(
    'figure',
    { class: `program ${which}` },
    h('figcaption', {}, h('code', {}, name), which === 'wrong' ? ' goes wrong' : ' does not'),
    h('pre', { tabindex: 0, role: 'region', 'aria-label': name }, ...lines),
  );
  figure.style.setProperty('--lines', String(lines.length)); // rows of the grid that keeps both programs level
  return figure;
}

/** @param {Line[]} lines @param {{wrong: string, right: string}} names @param {boolean} whole not only around the differences */
export function programs(lines, names, whole) {
  const pairs = pairsOf(lines);
  return [program(pairs, 'wrong', names.wrong, whole), program(pairs, 'right', names.right, whole)];
}
