'use strict';
// A run as a file: JSON (everything), CSV (one line per mechanism), Markdown (the table).
const { csvText } = require('../terminal/csv.js');
const { byteCount, crossingCount, significant } = require('../terminal/numbers.js');
const { fastestFirst, placed } = require('./table.js');

/** @typedef {import('./runner.js').Run} Run */
/** @typedef {import('./runner.js').Result} Result */

/** @type {[string, (result: Result) => string | number | null][]} */
const COLUMNS = [
  ['mechanism', (result) => result.mechanism],
  ['messages_per_second_median', (result) => result.throughput.messagesPerSecond.median],
  ['messages_per_second_q1', (result) => result.throughput.messagesPerSecond.q1],
  ['messages_per_second_q3', (result) => result.throughput.messagesPerSecond.q3],
  ['bytes_per_second_median', (result) => result.throughput.bytesPerSecond.median],
  ['round_trips', (result) => result.roundTrip.count],
  ['round_trip_floor_ns', (result) => result.roundTrip.floorNs],
  ['round_trip_min_ns', (result) => result.roundTrip.ns.min],
  ['round_trip_p50_ns', (result) => result.roundTrip.ns.p50],
  ['round_trip_p90_ns', (result) => result.roundTrip.ns.p90],
  ['round_trip_p99_ns', (result) => result.roundTrip.ns.p99],
  ['round_trip_p99.9_ns', (result) => result.roundTrip.ns['p99.9']],
  ['round_trip_p99.99_ns', (result) => result.roundTrip.ns['p99.99']],
  ['round_trip_max_ns', (result) => result.roundTrip.ns.max],
  ['round_trip_mean_ns', (result) => result.roundTrip.ns.mean],
  ['crossings_per_round_trip', (result) => result.crossings.perRoundTrip],
  ['crossings_per_message', (result) => result.crossings.perMessage],
  ['crossings_method', (result) => result.crossings.method],
];

/** @param {Run} run */
function toCsv(run) {
  const lines = run.results.map((result) => COLUMNS.map(([, read]) => read(result)));
  return csvText([COLUMNS.map(([name]) => name), ...lines]);
}

/** @param {Run} run */
function toMarkdown(run) {
  const { environment, parameters } = run;
  const heads = [
    'mechanism',
    'messages/s',
    'round trip p50, ns',
    'p99, ns',
    'p99.9, ns',
    '× floor',
    'system calls per round trip',
    'system calls per message',
  ];
  const rows = fastestFirst(run).map(({ title, throughput, roundTrip, crossings }) => [
    title,
    significant(throughput.messagesPerSecond.median),
    significant(roundTrip.ns.p50),
    significant(roundTrip.ns.p99),
    significant(roundTrip.ns['p99.9']),
    roundTrip.overFloor ? significant(roundTrip.overFloor.median) : '–',
    crossingCount(crossings.perRoundTrip),
    crossingCount(crossings.perMessage),
  ]);
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [
    line(heads),
    line(heads.map((_, column) => (column === 0 ? ':---' : '---:'))),
    ...rows.map(line),
    '',
    `${byteCount(parameters.sizeBytes)} per message, median of ${parameters.samples} samples, ${placed(run)}; ${environment.cpu}, ` +
      `${environment.kernel}, virtualization: ${environment.virtualization}; crossings ${run.tool.version}, ${run.startedAt}.`,
    '',
  ].join('\n');
}

/** @param {object} run */
const toJson = (run) => `${JSON.stringify(run, null, 2)}\n`;

module.exports = { toJson, toCsv, toMarkdown };
