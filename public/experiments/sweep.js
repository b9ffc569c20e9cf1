// The sweep: bandwidth against buffer size, one plot between processes and one between threads, the document's questions with
// their answers, and what each read() returned.
import { h } from '../shared/dom.js';
import { byteCount, pValue, significant } from '../shared/format.js';
import { Figure, makeTable } from './figure.js';
import { verdictMark } from './run.js';
import { curvesOf, plotOf } from './sweep-plot.js';

/** @typedef {import('./sweep-plot.js').Curve} Curve */
/** @typedef {{question: string, text: string, p: number | null, test?: string, verdict?: Verdict}} Answer */
/** @typedef {ExperimentFile & {points: import('./sweep-plot.js').Point[], answers: Answer[], cpuCaches?: import('./sweep-plot.js').Caches}} SweepFile */

const MIB = 1 << 20;
const MODES = /** @type {const} */ ({ process: 'two processes', thread: 'two threads' });
const REPLIES = { held: 'Yes.', partly: 'In part.', failed: 'No.', unknown: 'Undecided.' };

/** The table of one mode: a row for each size, a column for each curve. @param {Curve[]} curves @param {(point: import('./sweep-plot.js').Point) => string} cell */
function rowsOf(curves, cell) {
  const sizes = [...new Set(curves.flatMap(({ points }) => points.map(({ sizeBytes }) => sizeBytes)))].sort(
    (a, b) => a - b,
  );
  return sizes.map((size) => [
    byteCount(size),
    ...curves.map(({ points }) => {
      const point = points.find(({ sizeBytes }) => sizeBytes === size);
      return point ? cell(point) : '–';
    }),
  ]);
}

/** What most reads of a point returned, and how many there were. @param {import('./sweep-plot.js').Point} point */
function readsOf({ reads: { count, sizes } }) {
  const [usual] = sizes;
  return usual ? `${significant(count)} × ${byteCount(usual.bytes)}` : '–';
}

/** @param {Answer} answer */
function answerItem({ question, text, p, test, verdict = 'unknown' }) {
  return h(
    'li',
    {},
    h('h4', {}, question),
    h('p', {}, verdictMark(verdict), ` ${REPLIES[verdict]} `, h('span', { class: 'number' }, `(${pValue(p)})`)),
    h('p', {}, text),
    test ? h('p', { class: 'soft' }, `Test: ${test}.`) : null,
  );
}

/** The figure and the table of one mode. @param {'process' | 'thread'} mode */
function modePart(mode) {
  const place = MODES[mode];
  const figure = new Figure({
    name: `sweep-${mode}`,
    title: `Bandwidth between ${place}`,
    how: 'Both axes are logarithmic. The line is the median, the band spans the quartiles. Hollow marks: the kernel’s buffers (for the ring, its capacity) match the buffer size. Dotted lines: this machine’s caches.',
    columns: [],
  });
  figure.element.classList.add('tall');
  const reads = makeTable(`What read() returned between ${place}`, []);
  const how =
    'Reads per sample × the size that most of them returned. A plateau begins where larger buffers no longer lead to larger reads.';
  const below = h(
    'details',
    {},
    h('summary', {}, `What read() returned between ${place}`),
    h('p', { class: 'how' }, how),
    reads.element,
  );
  const area = h('div', { class: 'parts', hidden: true }, figure.element, below);
  return {
    area,
    /** @param {SweepFile} file */
    show(file) {
      const curves = curvesOf(file.points, mode);
      area.hidden = curves.length === 0;
      if (area.hidden) return;
      const columns = ['buffer', ...curves.map(({ name }) => name)];
      figure.show(file, {
        plot: () => plotOf(curves, file.cpuCaches, place),
        columns,
        legend: curves.map(({ mechanism, name, matched }) => ({ mechanism, name, hollow: matched })),
        rows: rowsOf(curves, ({ bytesPerSecond }) => significant(bytesPerSecond.median / MIB)),
        reading: 'The table shows the medians in MiB per second.',
      });
      reads.setColumns(columns);
      reads.show(rowsOf(curves, readsOf));
    },
  };
}

/** @type {View} */
export const sweep = {
  choices: {
    mode: {
      legend: 'Between',
      values: { process: 'two processes', thread: 'two threads', both: 'both' },
    },
    mechanism: { legend: 'Mechanism' },
    buffers: {
      legend: 'Kernel buffers',
      values: { both: 'both', default: 'system default', matched: 'matched to the buffer size' },
    },
  },
  /** The answers are shown with their p-values. @param {SweepFile} file */
  sentences: ({ sentences, answers }) => sentences.slice(answers.length),
  build(area) {
    const list = h('ul', { class: 'answers' });
    const questions = h(
      'section',
      { hidden: true },
      h('h3', {}, 'The document’s hypotheses, tested on this machine'),
      list,
    );
    const parts = [modePart('process'), modePart('thread')];
    area.append(questions, ...parts.map((part) => part.area));
    return (/** @type {SweepFile} */ file) => {
      questions.hidden = file.answers.length === 0;
      list.replaceChildren(...file.answers.map(answerItem));
      for (const part of parts) part.show(file);
    };
  },
};
