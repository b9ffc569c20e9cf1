'use strict';
// The terminal tables of `crossings bench node`.
const { byteCount, crossingCount, significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');

/** @typedef {import('./runner.js').NodeRun} NodeRun */

/** @param {NodeRun} run @param {import('../../terminal/style.js').Style} style */
function renderSizes(run, style) {
  return run.parameters.sizes
    .map((size) => {
      const results = run.results.filter(({ sizeBytes }) => sizeBytes === size);
      const rows = [...results]
        .sort((a, b) => Number(a.roundTrip.ns.p50) - Number(b.roundTrip.ns.p50))
        .map(({ title, throughput, roundTrip, crossings }) => [
          title,
          significant(throughput.messagesPerSecond.median),
          significant(throughput.bytesPerSecond.median / 1e6),
          significant(roundTrip.ns.p50),
          significant(roundTrip.ns.p99),
          significant(roundTrip.overFloor?.median),
          crossingCount(crossings.perRoundTrip),
          crossingCount(crossings.perMessage),
        ]);
      const heads = [byteCount(size), 'messages/s', 'MB/s', 'median', 'p99', '× floor', 'per trip', 'per message'];
      const groups = [
        '',
        { content: 'throughput', colSpan: 2 },
        { content: 'round trip, ns', colSpan: 3 },
        { content: 'system calls', colSpan: 2 },
      ];
      return plainTable(groups, heads, rows, style);
    })
    .join('\n\n');
}

/** @param {NodeRun} run @param {import('../../terminal/style.js').Style} style */
function renderRatios(run, style) {
  const show = (/** @type {number} */ value, /** @type {string} */ unit) =>
    unit === '%'
      ? `${significant(value, 2)} %`
      : unit === 'messages/s'
        ? `${significant(value / 1e6)} M/s`
        : significant(value);
  const bounded = (/** @type {string} */ bound, /** @type {number | null} */ value, /** @type {string} */ unit) =>
    value === null ? '' : `${bound === 'most' ? '≤' : '≥'} ${show(value, unit)}`;
  const rows = run.ratios.map(({ what, value, unit, bound, goal, aim, met }) => [
    what,
    show(value.median, unit),
    `${show(value.q1, unit)} to ${show(value.q3, unit)}`,
    bounded(bound, goal, unit),
    bounded(bound, aim, unit),
    met === null ? '' : met ? style.good('met') : style.bad('missed'),
  ]);
  return plainTable(null, ['ratios within this run', 'median', 'quartiles', 'goal', 'aim', ''], rows, style);
}

module.exports = { renderSizes, renderRatios };
