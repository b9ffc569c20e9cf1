'use strict';
// The bill as CSV: one line per part of each mechanism, nanoseconds per round trip.
const { csvText } = require('../../terminal/csv.js');

const HEADS = ['mechanism', 'part', 'ns_median', 'ns_low', 'ns_high', 'share_median'];

/** @param {import('./run.js').BillFile} file */
const toCsv = (file) =>
  csvText([
    HEADS,
    ...[file, ...file.others].flatMap(({ mechanism, roundTripNs, parts }) =>
      [{ name: 'round-trip', ns: roundTripNs, share: { median: 1 } }, ...parts].map(({ name, ns, share }) => [
        mechanism,
        name,
        ns?.median ?? null,
        ns?.low ?? null,
        ns?.high ?? null,
        share?.median ?? null,
      ]),
    ),
  ]);

module.exports = { toCsv };
