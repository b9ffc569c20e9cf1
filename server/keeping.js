'use strict';
// The finished runs, kept as one file each until they are removed. The folder is read anew each time: a second lab may
// keep its runs in it, too.
const { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } = require('node:fs');
const { homedir } = require('node:os');
const { dirname, join } = require('node:path');
const { z } = require('zod');
const { toJson } = require('../lib/bench/export.js');
const { writeWhole } = require('../lib/terminal/files.js');

/** @typedef {import('../lib/bench/runner.js').Run} Run */

const MOST_BYTES = 8 << 20; // of a run file; the largest that we write have some 100 kB
const FILE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;
const runFile = z.fromJSONSchema(/** @type {any} */ (require('../lib/bench/run.schema.json')));

/** Where runs are kept when nothing else is said: the XDG base directory specification's place for state. */
function defaultFolder() {
  const base = process.env.XDG_STATE_HOME;
  return join(base?.startsWith('/') ? base : join(homedir(), '.local', 'state'), 'crossings', 'runs');
}

/** Each part by itself: mkdirSync's own `recursive` never ends where the kernel makes the folders, as in /proc. @param {string} path */
function makeFolder(path) {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** A folder of run files. */
class KeptRuns {
  #folder;
  #log;
  /** Those read before, and what could not be read: null. @type {Map<string, {stamp: string, run: Run | null}>} */
  #known = new Map();

  /** @param {string} folder @param {import('pino').Logger} log */
  constructor(folder, log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** @param {string} id */
  #path = (id) => join(this.#folder, `${id}.json`);

  /** Every run that can be read. @returns {Run[]} */
  list() {
    let names;
    try {
      names = readdirSync(this.#folder);
    } catch {
      return []; // nothing was kept yet
    }
    for (const id of this.#known.keys()) if (!names.includes(`${id}.json`)) this.#known.delete(id);
    return names.flatMap((name) => {
      const run = FILE.test(name) ? this.read(name.replace('.json', '')) : null;
      return run ? [run] : [];
    });
  }

  /** @param {string} id a UUID @returns {Run | null} */
  read(id) {
    if (!existsSync(this.#path(id))) return null;
    const found = statSync(this.#path(id));
    if (!found.isFile() || found.size > MOST_BYTES) return null;
    const stamp = `${found.mtimeMs} ${found.size}`;
    const known = this.#known.get(id);
    if (known?.stamp === stamp) return known.run;
    const run = this.#parse(id);
    this.#known.set(id, { stamp, run });
    return run;
  }

  /** @param {string} id @returns {Run | null} */
  #parse(id) {
    try {
      const run = JSON.parse(readFileSync(this.#path(id), 'utf8'));
      const { success, error } = runFile.safeParse(run);
      if (success && run.id === id && !Number.isNaN(Date.parse(run.startedAt))) return run;
      const [issue] = error?.issues ?? [];
      const where = issue
        ? `${issue.path.join('.')}: ${issue.message}`
        : 'its id is not its name, or it began at no time that there is';
      this.#log.warn({ file: this.#path(id) }, `a kept run is skipped: ${where}`);
    } catch (error) {
      this.#log.warn({ file: this.#path(id) }, `a kept run is skipped: ${/** @type {Error} */ (error).message}`);
    }
    return null;
  }

  /** @param {Run} run @returns {boolean} false: it could not be kept */
  keep(run) {
    try {
      makeFolder(this.#folder);
      writeWhole(this.#path(run.id), toJson(run));
      return true;
    } catch (error) {
      this.#log.warn({ folder: this.#folder }, `a run could not be kept: ${/** @type {Error} */ (error).message}`);
      return false;
    }
  }

  /** @param {string} id */
  remove(id) {
    if (existsSync(this.#path(id))) rmSync(this.#path(id));
    this.#known.delete(id);
  }
}

module.exports = { KeptRuns, defaultFolder };
