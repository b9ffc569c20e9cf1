'use strict';
// Finds the lessons and the pitfalls: each is one folder of c-bench/, which is checked when it is read. Adding one is adding a
// folder.
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { reasonOf } = require('../terminal/files.js');
const { firstFault } = require('../terminal/json-schema.js');
const { inOrder } = require('./pitfall-groups.js');

/** @typedef {{figure: string, than?: string, below?: number, atLeast?: number, equals?: number}} Condition */
/**
 * The event of a recording that is shown first: the first one of this call on a line that contains this text; if wanted, the first
 * that slept, that never returned, or that failed.
 * @typedef {{call: string, line?: string, sleeps?: true, hangs?: true, fails?: true}} Moment
 */
/** A short run that is recorded beside the one that is measured. @typedef {{args: string[], moment?: Moment}} Recorded */
/**
 * hangs: only recorded, since it never ends; moment: of this recording.
 * @typedef {{label: string, program?: string, args?: string[], choices?: Record<string, string>, note?: string,
 *   recorded?: Recorded, hangs?: true, moment?: Moment}} Try
 */
/**
 * @typedef {object} Lesson
 * @property {string} name of its folder
 * @property {string} folder its path
 * @property {string} text of lesson.md
 * @property {string[]} programs its files, by name
 * @property {string} title
 * @property {number} minutes
 * @property {{text: string, answers: {text: string, right: Condition}[]}} question
 * @property {{kind: 'measure' | 'record', program: string, args?: string[], recorded?: Recorded} |
 *   {kind: 'experiment', experiment: string, choices?: Record<string, string>}} run
 * @property {any} [see]
 * @property {Record<string, string[]>} [source] texts in the lines that matter, by file
 * @property {Try[]} [try]
 * @property {string[]} [pitfalls]
 * @property {string[]} [terms]
 */
/**
 * @typedef {object} Pitfall
 * @property {string} name of its folder
 * @property {string} folder its path
 * @property {string} text of pitfall.md
 * @property {string[]} programs
 * @property {string} title
 * @property {string} lesson
 * @property {string} group of pitfall-groups.js
 * @property {number} place in the group
 * @property {{program: string, args?: string[], fails: string, limitSeconds?: number, recorded?: Partial<Recorded>,
 *   notRecorded?: string}} wrong recorded: a shorter run, and the event that is shown first; notRecorded: why there is nothing to show
 * @property {{program: string, args?: string[], limitSeconds?: number}} right
 * @property {string[]} [terms]
 */

const root = join(__dirname, '..', '..');
const KINDS = /** @type {const} */ ({
  lesson: { folder: join(root, 'c-bench', 'lessons'), name: /^\d\d-[a-z0-9-]+$/ },
  pitfall: { folder: join(root, 'c-bench', 'pitfalls'), name: /^[a-z0-9-]+$/ },
});

/** @param {string} path relative to the package @param {string} why @returns {never} */
function reject(path, why) {
  throw new CrossingsError('ERR_LESSON', `${path} ${why}`);
}

/** @param {string} path relative to the package */
function readText(path) {
  if (!existsSync(join(root, path))) reject(path, 'does not exist.');
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch (error) {
    return reject(path, `cannot be read: ${reasonOf(error)}.`);
  }
}

/** @param {string} path relative to the package */
function readJson(path) {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    return reject(path, `is not valid JSON: ${/** @type {Error} */ (error).message}.`);
  }
}

/** @param {string} path @param {Pick<Lesson, 'run' | 'try'>} lesson whose run is an experiment */
function checkExperiment(path, { run, try: tries = [] }) {
  // Loaded here, because most lessons need no experiment.
  const { findExperiment } = require('./experiment.js');
  if (run.kind !== 'experiment') return;
  const { choices: known } = findExperiment(run.experiment);
  for (const [name, value] of [run, ...tries].flatMap(({ choices = {} }) => Object.entries(choices))) {
    if (!known[name])
      reject(path, `has an unknown choice "${name}". Choices of ${run.experiment}: ${Object.keys(known).join(', ')}.`);
    if (!known[name].includes(value))
      reject(path, `has ${name} "${value}"; it must be one of ${known[name].join(', ')}.`);
  }
}

/** @param {keyof typeof KINDS} kind @param {string} name @param {string} [base] the folder that holds it */
function read(kind, name, base = KINDS[kind].folder) {
  const path = relative(root, join(base, name));
  const json = readJson(`${path}/${kind}.json`);
  const fault = firstFault(require(`./${kind}.schema.json`), json);
  if (fault) reject(`${path}/${kind}.json`, `is invalid: ${fault.path.join('.') || 'the file'}: ${fault.message}.`);
  if (json.run?.kind === 'experiment') checkExperiment(`${path}/${kind}.json`, json);
  const files = readdirSync(join(root, path)).filter((file) => /\.(c|js)$/.test(file));
  const used = [json.run, ...(json.try ?? []), json.wrong, json.right].flatMap((part) => part?.program ?? []);
  const missing = used.find((program) => !files.includes(program));
  if (missing) reject(`${path}/${kind}.json`, `names the program ${missing}, which is not in its folder.`);
  const programs = [...new Set([...used, ...files])]; // the one that runs first comes first
  return { ...json, name, folder: join(root, path), text: readText(`${path}/${kind}.md`), programs };
}

/** The names of all folders, in their order. @param {keyof typeof KINDS} kind @param {string} [folder] @returns {string[]} */
function names(kind, folder = KINDS[kind].folder) {
  const { name } = KINDS[kind];
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter(
      (entry) => entry.isDirectory() && name.test(entry.name) && existsSync(join(folder, entry.name, `${kind}.json`)),
    )
    .map((entry) => entry.name)
    .sort();
}

/**
 * Every folder of a kind. One that is invalid is left out, and the sentence that says why is returned beside the others.
 * @param {keyof typeof KINDS} kind
 * @param {string} [folder] that holds them
 */
function readAll(kind, folder) {
  /** @type {any[]} */ const valid = [];
  /** @type {string[]} */ const problems = [];
  for (const name of names(kind, folder)) {
    try {
      valid.push(read(kind, name, folder));
    } catch (error) {
      if (!(error instanceof CrossingsError)) throw error;
      problems.push(error.message);
    }
  }
  return { valid, problems };
}

/** @returns {Lesson[]} */
const listLessons = () => readAll('lesson').valid;

/** The simplest first. @returns {Pitfall[]} */
const listPitfalls = () => inOrder(readAll('pitfall').valid);

/** A sentence for each folder that is invalid. @param {keyof typeof KINDS} kind */
const problemsOf = (kind) => readAll(kind).problems;

/**
 * A lesson by its folder's name or by its number, such as "2" or "02".
 * @param {string} wanted
 * @returns {Lesson}
 */
function findLesson(wanted) {
  const all = names('lesson');
  const number = /^\d{1,2}$/.test(wanted) ? `${wanted.padStart(2, '0')}-` : null;
  const found = all.find((name) => (number ? name.startsWith(number) : name === wanted));
  if (found) return read('lesson', found);
  throw new CrossingsError('ERR_USAGE', `The lesson must be one of ${all.join(', ')}; got "${wanted}".`);
}

/** @param {string} wanted @returns {Pitfall} */
function findPitfall(wanted) {
  const all = names('pitfall');
  if (all.includes(wanted)) return read('pitfall', wanted);
  throw new CrossingsError('ERR_USAGE', `The pitfall must be one of ${all.join(', ')}; got "${wanted}".`);
}

module.exports = { findLesson, findPitfall, listLessons, listPitfalls, problemsOf, readAll };
