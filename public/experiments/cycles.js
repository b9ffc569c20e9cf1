// The table in cycles: one row for each mechanism with this machine's figure and, where it has one, the document's.
import { drawMark, logAxis, stroke } from '../shared/drawing.js';
import { crossingCount, duration, significant } from '../shared/format.js';
import { hasMark, named } from '../shared/mechanisms.js';
import { Figure } from './figure.js';
import { headRow, hiddenRows } from './rows.js';

const ROW_REM = 2.9;

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {'call' | 'floor' | 'mechanism'} kind
 * @property {string} title
 * @property {number | null} cycles
 * @property {number} ns
 * @property {{median: number, low: number | null, high: number | null} | null} interval in cycles
 * @property {{median: number} | null} overCall
 * @property {number | null} crossings
 * @property {{cycles: number, name: string} | null} document
 */
/** @typedef {ExperimentFile & {rows: Row[], document: {number: string, machine: string}, cycle: {source: string | null, GHz: number | null}}} CyclesFile */

/** The document's mark: a cross, since it is no mechanism of this machine. @param {Canvas} ctx @param {number} x @param {number} y */
function drawCross(ctx, x, y) {
  stroke(ctx, 'paper', 6, [x - 5, y - 5, x + 5, y + 5], [x - 5, y + 5, x + 5, y - 5]);
  stroke(ctx, 'ink', 2, [x - 5, y - 5, x + 5, y + 5], [x - 5, y + 5, x + 5, y - 5]);
}

/** @param {Row} row @param {boolean} [wide] whether there is room for the document's figure */
const figureText = ({ cycles, document }, wide = true) =>
  `${significant(cycles)} cycles${document && wide ? ` (document: ${significant(document.cycles)})` : ''}`;

/** @param {CyclesFile} file @returns {PlotSpec} */
function plotOf({ rows, document }) {
  const shown = rows.filter(({ cycles }) => cycles !== null);
  const values = shown.flatMap(({ cycles, interval, document: theirs }) =>
    [cycles, interval?.low, interval?.high, theirs?.cycles].flatMap((value) => value ?? []),
  );
  const label = (/** @type {number} */ value) => significant(value, 1);
  const floor = shown.find(({ name }) => name === 'cache-line')?.cycles ?? null;
  const each = shown.map((row) => `${row.title} ${figureText(row)}`);
  return {
    right: 8,
    scales: { x: logAxis('cycles per round trip', values, label), y: hiddenRows(shown.length) },
    datasets: [],
    text: `Dot plot of cycles per round trip on a logarithmic scale, with the figures of document ${document.number}: ${each.join('; ')}.`,
    paint(chart, ctx) {
      const { scales, chartArea } = chart;
      const at = (/** @type {number} */ cycles) => scales.x.getPixelForValue(cycles);
      if (floor !== null) {
        ctx.setLineDash([2, 3]);
        stroke(ctx, 'soft', 1, [at(floor), chartArea.top, at(floor), chartArea.bottom]);
        ctx.setLineDash([]);
      }
      for (const [i, row] of shown.entries()) {
        const { middle } = headRow(chart, ctx, i, row.title, figureText(row, chart.width > 500));
        const own = Number(row.cycles);
        stroke(ctx, 'line', 1, [chartArea.left, middle, chartArea.right, middle]);
        if (row.document) {
          stroke(ctx, 'edge', 1, [at(row.document.cycles), middle, at(own), middle]);
          drawCross(ctx, at(row.document.cycles), middle);
        }
        const { low, high } = row.interval ?? { low: null, high: null };
        if (low !== null && high !== null)
          stroke(
            ctx,
            'ink',
            2,
            [at(low), middle, at(high), middle],
            ...[low, high].map((end) => [at(end), middle - 5, at(end), middle + 5]),
          );
        drawMark(ctx, row.name, at(own), middle);
      }
    },
  };
}

/** @param {CyclesFile} file */
const rowsOf = ({ rows }) =>
  rows.map(({ name, title, cycles, interval, ns, overCall, crossings, document }) => [
    hasMark(name) ? named(name, title) : title,
    significant(cycles),
    interval?.low ? `${significant(interval.low)} to ${significant(interval.high)}` : '–',
    duration(ns),
    overCall ? `${significant(overCall.median)} ×` : '–',
    crossingCount(crossings),
    document ? significant(document.cycles) : '–',
    document && cycles ? `${significant(cycles / document.cycles)} ×` : '–',
    document?.name ?? '–',
  ]);

/** @type {View} */
export const cycles = {
  build(area) {
    const figure = new Figure({
      name: 'cycles',
      title: 'Cycles per round trip, here and in the document',
      how: '',
      groups: [
        ['this machine', 5],
        ['the document', 3],
      ],
      columns: [
        '',
        'cycles',
        'interval',
        'time',
        '× a call',
        'system calls',
        'cycles',
        'here ÷ document',
        'name in the document',
      ],
    });
    figure.element.classList.add('words-last');
    area.append(figure.element);
    return (/** @type {CyclesFile} */ file) => {
      const { document, rows, cycle } = file;
      const unit =
        cycle.source === 'tsc'
          ? 'A cycle is a tick of the time-stamp counter.'
          : cycle.source === 'stated'
            ? 'Times are converted at the frequency that the system reports.'
            : 'The length of a cycle is unknown on this machine.';
      figure.setHow(
        `Filled marks: this machine, with the interval of the median. Crosses: document ${document.number}, on its machine (${document.machine}). The dotted line is the round trip of a bare cache line, the lower bound for any round trip between two cores. The axis is logarithmic. ${unit}`,
      );
      figure.show(file, { plot: () => plotOf(file), rows: rowsOf(file), height: `${rows.length * ROW_REM + 3.5}rem` });
    };
  },
};
