'use strict';
// The percentile table as CSV: one line per percentile, nanoseconds per round trip.
const { csvText } = require('../../terminal/csv.js');

const HEADS = ['percentile', 'ns', 'ns_low', 'ns_high', 'paced_from_due_ns', 'paced_from_sending_ns', 'document_ns'];

/** @param {import('./run.js').LatencyFile} file */
const toCsv = ({ ns, intervals, paced, document }) => {
  /** @type {Record<string, number>} */ const said = document.ns;
  return csvText([
    HEADS,
    ...Object.entries(ns).map(([name, value]) => [
      name,
      value,
      intervals[name]?.low ?? null,
      intervals[name]?.high ?? null,
      paced?.ns[name] ?? null,
      paced?.serviceNs[name] ?? null,
      said[name] ?? null,
    ]),
  ]);
};

module.exports = { toCsv };
