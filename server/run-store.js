'use strict';
// The finished runs: one file each, in one folder. The folder is read again for each request, since a second lab may share it.
const { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } = require('node:fs');
const { homedir } = require('node:os');
const { dirname, join } = require('node:path');
const { z } = require('zod');
const { toJson } = require('../lib/bench/export.js');
const { writeWhole } = require('../lib/terminal/files.js');

/** @typedef {import('../lib/bench/runner.js').Run} Run */

const MAX_FILE_BYTES = 8 << 20; // the largest run files that we write have about 100 kB
const FILE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;
const runFile = z.fromJSONSchema(/** @type {any} */ (require('../lib/bench/run.schema.json')));

/** The state folder of the XDG base directory specification. */
function defaultFolder() {
  const base = process.env.XDG_STATE_HOME;
  return join(base?.startsWith('/') ? base : join(homedir(), '.local', 'state'), 'crossings', 'runs');
}

/** Not mkdirSync's `recursive`: it never returns where the kernel makes the folders, as in /proc. @param {string} path */
function makeFolder(path) {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** A folder of run files. */
class RunStore {
  #folder;
  #log;
  /** Parsed files by id; null if invalid. @type {Map<string, {stamp: string, run: Run | null}>} */
  #cache = new Map();

  /** @param {string} folder @param {import('pino').Logger} log */
  constructor(folder, log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** @param {string} id */
  #path = (id) => join(this.#folder, `${id}.json`);

  /** Every valid run. @returns {Run[]} */
  list() {
    let names;
    try {
      names = readdirSync(this.#folder);
    } catch {
      return []; // the folder is made when the first run is saved
    }
    for (const id of this.#cache.keys()) if (!names.includes(`${id}.json`)) this.#cache.delete(id);
    return names.flatMap((name) => {
      const run = FILE.test(name) ? this.read(name.replace('.json', '')) : null;
      return run ? [run] : [];
    });
  }

  /** @param {string} id a UUID @returns {Run | null} */
  read(id) {
    if (!existsSync(this.#path(id))) return null;
    const found = statSync(this.#path(id));
    if (!found.isFile() || found.size > MAX_FILE_BYTES) return null;
    const stamp = `${found.mtimeMs} ${found.size}`;
    const cached = this.#cache.get(id);
    if (cached?.stamp === stamp) return cached.run;
    const run = this.#parse(id);
    this.#cache.set(id, { stamp, run });
    return run;
  }

  /** @param {string} id @returns {Run | null} */
  #parse(id) {
    try {
      const run = JSON.parse(readFileSync(this.#path(id), 'utf8'));
      const { success, error } = runFile.safeParse(run);
      if (success && run.id === id && !Number.isNaN(Date.parse(run.startedAt))) return run;
      const [issue] = error?.issues ?? [];
      const fault = issue
        ? `${issue.path.join('.')}: ${issue.message}`
        : 'id must be the file’s name, and startedAt a date';
      this.#log.warn({ file: this.#path(id) }, `skipped an invalid run file: ${fault}`);
    } catch (error) {
      this.#log.warn({ file: this.#path(id) }, `skipped an invalid run file: ${/** @type {Error} */ (error).message}`);
    }
    return null;
  }

  /** @param {Run} run @returns {boolean} false if it could not be written */
  save(run) {
    try {
      makeFolder(this.#folder);
      writeWhole(this.#path(run.id), toJson(run));
      return true;
    } catch (error) {
      this.#log.warn({ folder: this.#folder }, `could not save a run: ${/** @type {Error} */ (error).message}`);
      return false;
    }
  }

  /** @param {string} id */
  remove(id) {
    if (existsSync(this.#path(id))) rmSync(this.#path(id));
    this.#cache.delete(id);
  }
}

module.exports = { RunStore, defaultFolder };
