'use strict';
// A run as files: JSON (everything), CSV (one line a mechanism), Markdown (the table).
const { accessSync, constants, realpathSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { dirname, resolve } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { byteCount, crossingCount, significant } = require('./numbers.js');
const { fastestFirst } = require('./table.js');

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

/** A field as RFC 4180 wants it. @param {string | number | null} value */
function csvField(value) {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {Run} run */
function toCsv(run) {
  const lines = run.results.map((result) => COLUMNS.map(([, read]) => read(result)));
  return [COLUMNS.map(([name]) => name), ...lines].map((line) => `${line.map(csvField).join(',')}\r\n`).join('');
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
    'system calls a trip',
    'a message',
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
    `${byteCount(parameters.sizeBytes)} a message, median of ${parameters.samples} samples; ${environment.cpu}, ` +
      `${environment.kernel}, virtualization: ${environment.virtualization}; crossings ${run.tool.version}, ${run.startedAt}.`,
    '',
  ].join('\n');
}

/** @param {Run} run */
const toJson = (run) => `${JSON.stringify(run, null, 2)}\n`;

/** "ENOSPC: no space left on device, write" -> "no space left on device". @param {unknown} error */
const reasonOf = (error) => /** @type {Error} */ (error).message.replace(/^E\w+: /, '').replace(/, \w+( '.*')?$/, '');

/**
 * Refuse a file that could not be written, before anything is measured for it. Creates nothing.
 * @param {string} option such as '--json'
 * @param {string} path
 */
function checkWritable(option, path) {
  const refuse = (/** @type {string} */ why) => {
    throw new CrossingsError(
      'ERR_USAGE',
      `${option} cannot write ${path || 'an empty name'}: ${why}. Name a file in a folder that you may write to.`,
    );
  };
  if (path === '') refuse('no file is called so');
  let existing;
  try {
    existing = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    refuse(reasonOf(error));
  }
  if (existing?.isDirectory()) refuse('it is a folder');
  const target = existing ? path : dirname(resolve(path));
  if (!existing && !statSync(target, { throwIfNoEntry: false })?.isDirectory()) refuse(`there is no folder ${target}`);
  try {
    accessSync(target, constants.W_OK);
  } catch {
    refuse('permission is denied');
  }
}

/**
 * Write a whole file or none: a reader never sees half of one. A device or a pipe is written directly.
 * @param {string} path
 * @param {string} text
 */
function writeWhole(path, text) {
  let temporary = null;
  try {
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing && !existing.isFile()) return writeFileSync(path, text);
    const target = existing ? realpathSync(path) : path; // what a link points to, not the link
    temporary = `${target}.${process.pid}.tmp`;
    writeFileSync(temporary, text);
    renameSync(temporary, target);
  } catch (error) {
    if (temporary) rmSync(temporary, { force: true });
    throw new CrossingsError('ERR_WRITE', `${path} could not be written: ${reasonOf(error)}`);
  }
}

module.exports = { toJson, toCsv, toMarkdown, checkWritable, writeWhole };
