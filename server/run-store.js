'use strict';
// The finished runs of all kinds: one file each, in one folder. The folder is read again for each list, since a second lab may
// share it.
const { existsSync, mkdirSync, opendirSync, rmSync, statSync } = require('node:fs');
const { homedir } = require('node:os');
const { dirname, join } = require('node:path');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { CrossingsError } = require('../lib/channel/errors.js');
const { checkExtent, readSmall, reasonOf, writeWhole } = require('../lib/terminal/files.js');
const { CostlyWork } = require('./costly-work.js');
const { HttpError } = require('./http-error.js');
const { faultOf, lineOf, textOf } = require('./run-kinds.js');

/** @typedef {import('./run-kinds.js').RunFile} RunFile */
/** @typedef {ReturnType<typeof lineOf>} Line what the list shows of a run */

const MAX_FILE_BYTES = 4 << 20; // the largest run files that we write have about 1 MB
const MAX_RUNS = 500;
const MAX_NAMES = 5000; // of a folder, of any files; the rest is not looked at
const PASSING = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EAGAIN', 'EINTR']; // such as: clients hold all descriptors
const FILES_A_TURN = 100; // asked for their size and time; other requests are answered between two turns
const FILE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/;

/** The state folder of the XDG base directory specification. */
function defaultFolder() {
  const base = process.env.XDG_STATE_HOME;
  return join(base?.startsWith('/') ? base : join(homeFolder(), '.local', 'state'), 'crossings', 'runs');
}

/** A container may run as a user that has none. */
function homeFolder() {
  try {
    return homedir();
  } catch {
    throw new CrossingsError(
      'ERR_NO_HOME',
      'Finished runs are saved in your home folder, but HOME is not set, and the system knows no home folder of this user. ' +
        'Choose a folder with --data.',
    );
  }
}

/** Not mkdirSync's `recursive`: it never returns where the kernel makes the folders, as in /proc. @param {string} path */
function makeFolder(path) {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** @param {RunFile} run @param {string} id */
const mismatch = (run, id) =>
  run.id === id && !Number.isNaN(Date.parse(run.startedAt))
    ? null
    : 'id must match the file name, and startedAt must be a date';

/** Will the system perhaps read it the next time? @param {unknown} error */
const isPassing = (error) => PASSING.includes(String(/** @type {any} */ (error)?.code));

/** @param {string} what @param {unknown} error */
const unreadable = (what, error) =>
  new HttpError(503, 'ERR_READ', `${what} cannot be read now: ${reasonOf(error)}. Try again later.`);

/** A folder of run files. */
class RunStore {
  #folder;
  #log;
  /** What the list shows of each file; null if it is invalid. @type {Map<string, {stamp: string, line: Line | null}>} */
  #lines = new Map();
  /** The list that is being made. @type {Promise<Line[]> | null} */ #listing = null;
  #isChanged = false; // by this lab, since it was begun
  /** The one after it. @type {Promise<Line[]> | null} */ #nextListing = null;
  #work = new CostlyWork();
  #isClosed = false;

  /** @param {string} folder @param {import('pino').Logger} log */
  constructor(folder, log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** @param {string} id */
  #path = (id) => join(this.#folder, `${id}.json`);

  /**
   * The ids of the files that may hold a run.
   * @param {number} [most] stop there
   * @returns {{ids: string[], isCut: boolean}} isCut: the folder has more than MAX_NAMES names
   */
  #ids(most = MAX_NAMES) {
    /** @type {string[]} */
    const ids = [];
    let names = 0;
    try {
      const folder = opendirSync(this.#folder, { bufferSize: 256 });
      try {
        while (names <= MAX_NAMES && ids.length < most) {
          const entry = folder.readSync();
          if (!entry) break;
          names++;
          ids.push(...(FILE.exec(entry.name)?.slice(1) ?? []));
        }
      } finally {
        folder.closeSync();
      }
    } catch (error) {
      if (isPassing(error)) throw unreadable('The folder of the runs', error);
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      // The folder is made when the first run is saved.
      if (code !== 'ENOENT') this.#log.warn({ folder: this.#folder }, `could not list the runs: ${message}`);
    }
    return { ids, isCut: names > MAX_NAMES };
  }

  /** Why no further run may be saved; null if it may. */
  whyFull() {
    const { ids, isCut } = this.#ids(MAX_RUNS);
    if (ids.length >= MAX_RUNS) return `The lab keeps at most ${MAX_RUNS} finished runs. Delete some of them first.`;
    if (!isCut) return null;
    const most = MAX_NAMES.toLocaleString('en-US');
    return `The folder of the runs has more than ${most} files. Delete some of them first, or start the lab with another folder.`;
  }

  /**
   * A line for each valid run; of more than MAX_RUNS files, the newest (among the first MAX_NAMES of the folder). Calls share one reading of the folder: many clients would
   * otherwise make the lab read the same files at the same time.
   * @returns {Promise<Line[]>}
   */
  list() {
    if (this.#listing === null) return this.#startListing();
    if (!this.#isChanged) return this.#listing;
    // Not beside it: a client that removes runs and asks for the list could make the lab read all files many times at once.
    this.#nextListing ??= this.#listing
      .catch(() => {})
      .then(() => {
        this.#nextListing = null;
        return this.list();
      });
    return this.#nextListing;
  }

  /** @returns {Promise<Line[]>} */
  #startListing() {
    this.#isChanged = false;
    const listing = this.#list().finally(() => {
      this.#listing = null;
    });
    this.#listing = listing;
    return listing;
  }

  /** @returns {Promise<Line[]>} */
  async #list() {
    const found = [];
    for (const [i, id] of this.#ids().ids.entries()) {
      if (i % FILES_A_TURN === FILES_A_TURN - 1) await nextTurn();
      found.push(this.#find(id) ?? []);
    }
    const files = found
      .flat()
      .sort((a, b) => b.mtimeMs - a.mtimeMs)
      .slice(0, MAX_RUNS);
    /** @type {Line[]} */
    const lines = [];
    for (const { id, stamp } of files) {
      if (this.#lines.get(id)?.stamp !== stamp) {
        await this.#work.run(() => this.#learn(id)); // other requests are answered between two files
        if (this.#isClosed) return lines;
      }
      const line = this.#lines.get(id)?.line;
      if (line) lines.push(line);
    }
    const listed = new Set(files.map(({ id }) => id));
    for (const id of this.#lines.keys()) if (!listed.has(id)) this.#lines.delete(id);
    return lines;
  }

  /** The lab ends: a list that is being made is not finished. */
  close() {
    this.#isClosed = true;
  }

  /** The file of a run, unless it is too large to be one. @param {string} id */
  #find(id) {
    const found = this.#status(id);
    if (!found?.isFile() || found.size > MAX_FILE_BYTES) return null;
    const { mtimeMs, ctimeMs, ino, size } = found; // programs that copy files may set the first one
    return { id, mtimeMs, stamp: `${mtimeMs} ${ctimeMs} ${ino} ${size}` };
  }

  /** @param {string} id */
  #status(id) {
    try {
      return statSync(this.#path(id), { throwIfNoEntry: false });
    } catch {
      return null; // such as a link to itself
    }
  }

  /** Changes with the file of a run; null if there is none, or it is known to be invalid. @param {string} id a UUID */
  stamp(id) {
    const file = this.#find(id);
    const known = this.#lines.get(id);
    if (!file || (known?.stamp === file.stamp && !known.line)) return null;
    return file.stamp;
  }

  /** What the list shows of a run; its file is read only if it has changed. @param {string} id a UUID @returns {Line | null} */
  line(id) {
    const stamp = this.stamp(id);
    if (stamp === null) return null;
    if (this.#lines.get(id)?.stamp !== stamp) this.read(id);
    return this.#lines.get(id)?.line ?? null;
  }

  /** Read it for the list, which leaves it out if it cannot be read now. @param {string} id */
  #learn(id) {
    try {
      this.read(id);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      this.#lines.delete(id); // what was there before
    }
  }

  /** Throws a 503 if the system cannot read it now. @param {string} id a UUID @returns {RunFile | null} null: there is none, or it is invalid */
  read(id) {
    const stamp = this.stamp(id);
    if (stamp === null) return null;
    const run = this.#parse(id);
    this.#lines.set(id, { stamp, line: run && lineOf(run) });
    return run;
  }

  /** @param {string} id @returns {RunFile | null} */
  #parse(id) {
    try {
      const run = JSON.parse(readSmall(this.#path(id), MAX_FILE_BYTES));
      checkExtent(run);
      const fault = faultOf(run) ?? mismatch(run, id);
      if (!fault) return run;
      this.#log.warn({ file: this.#path(id) }, `skipped an invalid run file: ${fault}`);
    } catch (error) {
      if (isPassing(error)) throw unreadable(`Run ${id}`, error);
      this.#log.warn({ file: this.#path(id) }, `skipped an invalid run file: ${/** @type {Error} */ (error).message}`);
    }
    return null;
  }

  /** @param {RunFile} run @returns {boolean} false if it could not be written */
  save(run) {
    this.#isChanged = true;
    const text = textOf(run);
    try {
      if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
      makeFolder(this.#folder);
      if (this.#status(run.id)?.isFile() === false) throw new Error('something else is in its place'); // a pipe would block
      writeWhole(this.#path(run.id), text);
      return true;
    } catch (error) {
      this.#log.warn({ folder: this.#folder }, `could not save a run: ${/** @type {Error} */ (error).message}`);
      return false;
    }
  }

  /** Another lab may have removed it already. @param {string} id */
  remove(id) {
    this.#isChanged = true;
    try {
      rmSync(this.#path(id), { force: true });
    } catch (error) {
      throw new HttpError(503, 'ERR_WRITE', `Run ${id} cannot be removed: ${reasonOf(error)}.`);
    }
    this.#lines.delete(id);
  }
}

module.exports = { RunStore, defaultFolder, MAX_FILE_BYTES, MAX_NAMES, MAX_RUNS };
