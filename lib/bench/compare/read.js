'use strict';
// Reading run files to compare. A file comes from anywhere: it is refused in one sentence unless it is a run file that a
// comparison can use.
const { tripsOf } = require('../../measure/statistics.js');
const { refuse } = require('../../terminal/arguments.js');
const { checkExtent, readSmall, reasonOf } = require('../../terminal/files.js');
const { firstFault } = require('../../terminal/json-schema.js');

/** @typedef {import('../runner.js').Run} Run */

const MAX_FILE_BYTES = 16 << 20; // a run file has about 100 kB
const MAX_FILES = 100; // on one side
const MAX_SAMPLES = 50_000; // on one side: comparing draws from all of them, thousands of times

/** A file's text, which the terminal would obey if it had control characters. @param {string} text */
const withoutControl = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD');

/** @param {string} path @param {string} role such as 'The baseline' */
function readText(path, role) {
  try {
    return readSmall(path, MAX_FILE_BYTES);
  } catch (error) {
    return refuse(`${role} must be a run file written by bench --json; cannot read "${path}": ${reasonOf(error)}.`);
  }
}

/** Where in a file something is wrong: ["results", 0, "title"] -> "results[0].title". @param {(string | number)[]} path */
function placeOf(path) {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return withoutControl(place.replace(/^\./, '').slice(0, 100)); // a file may have any names
}

/**
 * @param {string} path
 * @param {string} role in the comparison, for the sentence that refuses it: 'The baseline'
 * @returns {Run}
 */
function readRun(path, role) {
  const text = readText(path, role);
  const expected = `${role} must be a run file written by bench --json; "${path}"`;
  /** @type {any} */
  let run;
  try {
    run = JSON.parse(text, (_key, value) => (typeof value === 'string' ? withoutControl(value) : value));
  } catch {
    return refuse(`${expected} is not valid JSON.`);
  }
  if (run?.schema !== 'crossings/run/1') {
    const has = typeof run?.schema === 'string' ? `has the schema "${run.schema.slice(0, 60)}"` : 'has no schema';
    return refuse(`${expected} ${has}; expected "crossings/run/1".`);
  }
  try {
    checkExtent(run);
  } catch (error) {
    return refuse(`${expected} is not a run file: ${reasonOf(error)}.`);
  }
  const fault = firstFault(require('../run.schema.json'), run);
  if (fault)
    return refuse(`${expected} does not follow its schema: ${placeOf(fault.path)}: ${fault.message.slice(0, 100)}.`);
  return run;
}

/** How many samples a run has, of all mechanisms. @param {Run} run */
const samplesOf = ({ results }) =>
  results.reduce((sum, result) => sum + result.throughput.messagesPerSecond.samples.length + tripsOf(result).length, 0);

/**
 * @param {string} text comma-separated paths
 * @param {string} role
 * @returns {Run[]}
 */
function readRuns(text, role) {
  const paths = text.split(',');
  if (paths.length > MAX_FILES) refuse(`${role} must be at most ${MAX_FILES} run files; got ${paths.length}.`);
  const runs = paths.map((path) => readRun(path, role));
  const samples = runs.reduce((sum, run) => sum + samplesOf(run), 0);
  if (samples > MAX_SAMPLES) {
    const [most, own] = [MAX_SAMPLES, samples].map((count) => count.toLocaleString('en-US'));
    refuse(`${role} must have at most ${most} samples in all; it has ${own}.`);
  }
  // A run that is given twice is one observation: taken for two, it would make any difference look certain.
  /** @type {Map<string, string>} */
  const seen = new Map();
  for (const [index, run] of runs.entries()) {
    const key = JSON.stringify([run.id, run.startedAt, run.results]);
    const other = seen.get(key);
    if (other !== undefined)
      refuse(`${role} must be different runs; "${other}" and "${paths[index]}" are the same run.`);
    seen.set(key, paths[index]);
  }
  return runs;
}

module.exports = { readRuns };
