'use strict';
// A sweep as tables for the terminal, and as CSV.
const { csvText } = require('../../terminal/csv.js');
const { byteCount, significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');
const { curvesOf, pText } = require('./curves.js');

const MIB = 1 << 20;
const PLACES = { process: 'two processes', thread: 'two threads' };

/** @typedef {import('./curves.js').Curve} Curve */
/** @typedef {import('../../terminal/style.js').Style} Style */

/** The heading of a curve: "pipe", or "pipe *" with matched buffers. @param {Curve} curve */
const heading = ({ mechanism, buffers }) =>
  `${mechanism === 'socketpair' ? 'sockets' : mechanism}${buffers === 'matched' ? ' *' : ''}`;
const MATCHED_NOTE = "* the kernel's buffers (for the ring: its capacity) match the buffer size";

/** @param {Curve[]} curves of one mode @param {number[]} sizes @param {Style} style */
function modeTable(curves, sizes, style) {
  const heads = ['buffer', ...curves.map(heading)];
  const rows = sizes.map((size) => [
    byteCount(size),
    ...curves.map(({ points }) => {
      const own = points.find(({ sizeBytes }) => sizeBytes === size);
      const best = Math.max(...points.map(({ bytesPerSecond }) => bytesPerSecond.median));
      if (!own) return '–';
      const text = significant(own.bytesPerSecond.median / MIB);
      return own.bytesPerSecond.median === best ? style.good(text) : text;
    }),
  ]);
  return plainTable(null, heads, rows, style);
}

/** @param {any[]} shapes @param {Style} style */
function peakTable(shapes, style) {
  const heads = ['curve', 'peak', 'indistinguishable', 'smallest', 'largest', 'rise', 'fall'];
  const percent = (/** @type {number} */ share) => `${significant(share * 100, 2)} %`;
  const rows = shapes.map((shape) => [
    `${shape.mechanism}, ${shape.mode}${shape.buffers === 'matched' ? ', matched' : ''}`,
    byteCount(shape.peakBytes),
    shape.peakFromBytes === shape.peakToBytes
      ? '–'
      : `${byteCount(shape.peakFromBytes)} to ${byteCount(shape.peakToBytes)}`,
    percent(shape.firstToPeak),
    percent(shape.lastToPeak),
    pText(shape.riseP),
    pText(shape.fallP),
  ]);
  return plainTable(null, heads, rows, style);
}

/** @param {any[]} comparisons @param {Style} style */
function pipeTable(comparisons, style) {
  const heads = ['pipe against', 'difference', 'ahead at', 'p'];
  const rows = comparisons.map(({ against, mode, buffers, typicalPercent, pipeFasterAt, pairs, p }) => [
    `${against}, ${mode}${buffers === 'matched' ? ', matched' : ''}`,
    `${typicalPercent < 0 ? '−' : '+'}${significant(Math.abs(typicalPercent), 2)} %`,
    `${pipeFasterAt} of ${pairs} sizes`,
    pText(p),
  ]);
  return plainTable(null, heads, rows, style);
}

/** @param {any} file @param {Style} style */
function renderSweep(file, style) {
  const { samples, totalBytes, maxWrites, modes, sizes } = file.parameters;
  const curves = curvesOf(file.points);
  const limit = maxWrites ? ` (at most ${maxWrites.toLocaleString('en-US')} buffers)` : '';
  const moved = `median of ${samples} sample${samples === 1 ? '' : 's'} of ${byteCount(totalBytes)}${limit}`;
  const tables = modes.map((/** @type {keyof typeof PLACES} */ mode) => {
    const caption = style.bold(`MiB per second between ${PLACES[mode]}, ${moved}`);
    const own = curves.filter((curve) => curve.mode === mode);
    return `${caption}\n\n${modeTable(own, sizes, style)}`;
  });
  const note = curves.some(({ buffers }) => buffers === 'matched') ? [style.dim(MATCHED_NOTE)] : [];
  const [shape, pipes] = file.answers;
  if (shape?.curves.length > 0) {
    tables.push(
      `${style.bold('Peak of each curve, and its ends relative to the peak (p adjusted for the number of curves)')}\n\n${peakTable(shape.curves, style)}`,
    );
  }
  if (pipes?.comparisons.length > 0) {
    tables.push(`${style.bold('Pipes against sockets')}\n\n${pipeTable(pipes.comparisons, style)}`);
  }
  return [...tables.slice(0, modes.length), ...note, ...tables.slice(modes.length)].join('\n\n');
}

/** @type {[string, (point: any) => string | number | null][]} */
const COLUMNS = [
  ['mechanism', ({ mechanism }) => mechanism],
  ['mode', ({ mode }) => mode],
  ['buffers', ({ buffers }) => buffers],
  ['size_bytes', ({ sizeBytes }) => sizeBytes],
  ['total_bytes', ({ totalBytes }) => totalBytes],
  ['samples', ({ bytesPerSecond }) => bytesPerSecond.samples.length],
  ['bytes_per_second_median', ({ bytesPerSecond }) => bytesPerSecond.median],
  ['bytes_per_second_q1', ({ bytesPerSecond }) => bytesPerSecond.q1],
  ['bytes_per_second_q3', ({ bytesPerSecond }) => bytesPerSecond.q3],
  ['reads_per_sample', ({ reads }) => reads.count],
  ['usual_read_bytes', ({ reads }) => reads.sizes[0].bytes],
  ['granted_send_bytes', ({ granted }) => granted.sendBytes],
  ['granted_receive_bytes', ({ granted }) => granted.receiveBytes],
];

/** One line per point. @param {any} file */
const toCsv = (file) =>
  csvText([
    COLUMNS.map(([name]) => name),
    ...file.points.map((/** @type {any} */ point) => COLUMNS.map(([, read]) => read(point))),
  ]);

module.exports = { renderSweep, toCsv };
