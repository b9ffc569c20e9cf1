'use strict';
// The bill as a stacked bar and a table for the terminal.
const { byteCount, significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');

/** A pattern for each part, so that the parts differ without color. */
const PATTERNS = ['█', '▒', '▚', '░', '▓', '╱', '·'];
const USUAL_COLUMNS = 80; // where standard output is not a terminal
const MIN_WIDTH = 20; // a narrower terminal breaks the lines
const MAX_WIDTH = 100;
const ROUNDS_FOR_INTERVAL = 6; // with fewer, not even the extremes are a 95 % interval

/** @typedef {import('./bill.js').BillSummary} BillSummary */
/** @typedef {import('../../terminal/style.js').Style} Style */

/**
 * A bar of exactly `width` columns. Each positive amount has at least one column; others have none.
 * @param {{pattern: string, amount: number}[]} segments
 * @param {number} width at least as large as the number of segments
 */
function stackedBar(segments, width) {
  const shown = segments.filter(({ amount }) => amount > 0);
  const total = shown.reduce((sum, { amount }) => sum + amount, 0);
  const spare = width - shown.length;
  let end = 0;
  let drawn = 0;
  return shown
    .map(({ pattern, amount }) => {
      end += amount;
      const columns = 1 + Math.round((end / total) * spare) - drawn;
      drawn += columns - 1;
      return pattern.repeat(columns);
    })
    .join('');
}

/** @param {number | undefined} share */
const percent = (share) => (share === undefined ? '–' : significant(share * 100, 2).replace('-', '−'));

/** @param {number} ns */
const whole = (ns) => significant(ns).replace('-', '−');

/** @param {BillSummary} bill @param {number} rounds @param {Style} style @param {number} width */
function renderBill(bill, rounds, style, width) {
  const segments = bill.parts.map(({ ns }, i) => ({ pattern: PATTERNS[i], amount: ns?.median ?? 0 }));
  /** @param {import('./parts.js').Figure | null} ns */
  const cells = (ns) => (ns ? [whole(ns.median), `${whole(ns.low)} to ${whole(ns.high)}`] : ['–', '–']);
  const rows = bill.parts.map(({ title, ns, share }, i) => [
    `${PATTERNS[i].repeat(2)} ${title}`,
    ...cells(ns),
    percent(share?.median),
  ]);
  const notes = [];
  if (segments.some(({ amount }) => amount < 0)) notes.push('Negative parts are not shown in the bar.');
  if (Math.abs(bill.remainderNs) > bill.roundTripNs.median / 100) {
    notes.push(
      `Each figure is a median, so the parts do not add up exactly: their sum is ${whole(bill.roundTripNs.median - bill.remainderNs)} ns.`,
    );
  }
  return [
    style.bold(bill.title),
    stackedBar(segments, width),
    plainTable(
      null,
      ['part', 'ns', rounds < ROUNDS_FOR_INTERVAL ? 'range' : '95 % interval', '%'],
      [...rows, ['   Round trip', ...cells(bill.roundTripNs), '100']],
      style,
    ),
    style.dim(notes.join(' ')),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/**
 * @param {import('./run.js').BillFile} file
 * @param {Style} style
 */
function renderBills(file, style) {
  const width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, process.stdout.columns || USUAL_COLUMNS));
  const { sizeBytes, rounds } = file.parameters;
  const caption = `The bill of a round trip: ${byteCount(sizeBytes)} per message, ${rounds === 1 ? '1 round' : `${rounds} rounds`}`;
  return [style.bold(caption), ...[file, ...file.others].map((bill) => renderBill(bill, rounds, style, width))].join(
    '\n\n',
  );
}

module.exports = { renderBills, stackedBar };
