'use strict';
// Output files: checked before the work begins, and written completely or not at all.
const { randomUUID } = require('node:crypto');
const {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { basename, dirname, join, resolve } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { flagOf } = require('./arguments.js');
const { holdPipe, writeToPipe } = require('./pipes.js');

/** "ENOSPC: no space left on device, write" -> "no space left on device". @param {unknown} error */
const reasonOf = (error) => /** @type {Error} */ (error).message.replace(/^E\w+: /, '').replace(/, \w+( '.*')?$/, '');

/** @param {string} path @param {unknown} error */
const cannotWrite = (path, error) => new CrossingsError('ERR_WRITE', `Cannot write ${path}: ${reasonOf(error)}`);

/** Can the file be found by its own name? One behind /dev/stdout may have been deleted. @param {string} path */
function hasName(path) {
  try {
    realpathSync(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Rejects a path that cannot be written, before anything is measured. Creates no file. A pipe is open from here until it is written.
 * @param {string} option such as '--json'
 * @param {string} path
 */
function checkWritable(option, path) {
  const refuse = (/** @type {string} */ why) => {
    throw new CrossingsError('ERR_USAGE', `${option} must be a file that can be written; got "${path}": ${why}.`);
  };
  if (path === '') refuse('the name is empty');
  let existing;
  try {
    existing = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    refuse(reasonOf(error));
  }
  if (existing?.isDirectory()) refuse('it is a folder');
  if (existing?.isSocket()) refuse('it is a socket');
  if (existing?.isFile() && !hasName(path)) refuse('the file has been deleted');
  const target = existing ? path : dirname(resolve(path));
  if (!existing && !statSync(target, { throwIfNoEntry: false })?.isDirectory())
    refuse(`the folder ${target} does not exist`);
  try {
    accessSync(target, constants.W_OK);
  } catch {
    refuse('permission denied');
  }
  if (!existing?.isFIFO()) return;
  let hasReader;
  try {
    hasReader = holdPipe(path);
  } catch (error) {
    refuse(reasonOf(error));
  }
  if (!hasReader) refuse('it is a named pipe that no program has open for reading');
}

/**
 * The paths that were given to options, by option: {hdrPaced: 'x'} -> {'--hdr-paced': 'x'}.
 * @param {any} options as commander read them
 * @param {string[]} names of the options that take a file
 * @returns {{[option: string]: string}}
 */
function givenFiles(options, names) {
  const given = names.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [flagOf(name), options[name]]));
}

/**
 * Rejects the paths of several options if one cannot be written or two are the same file.
 * @param {{[option: string]: string}} paths by option, such as '--json'
 */
function checkAllWritable(paths) {
  /** @type {Map<string, string>} */
  const options = new Map();
  for (const [option, path] of Object.entries(paths)) {
    checkWritable(option, path);
    const target = existsSync(path) ? realpathSync(path) : resolve(path);
    const other = options.get(target);
    const isDevice = existsSync(path) && !statSync(path).isFile();
    if (other && !isDevice) {
      throw new CrossingsError('ERR_USAGE', `${other} and ${option} must be different files; both are "${path}".`);
    }
    options.set(target, option);
  }
}

/**
 * Reads a file that anybody may have made. Never waits, and never reads more than allowed: a pipe would wait for its other end, and
 * a file in /proc has the size 0 and may have no end.
 * @param {string} path
 * @param {number} maxBytes
 */
function readSmall(path, maxBytes) {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw new Error(status.isDirectory() ? 'it is a folder' : 'it is not a regular file');
    const bytes = Buffer.allocUnsafe(Math.min(Math.max(status.size, 2 ** 16), maxBytes) + 1);
    let size = 0;
    for (let read = 1; read > 0 && size < bytes.length; size += read) {
      read = readSync(file, bytes, size, bytes.length - size, null);
    }
    if (status.size > maxBytes || size === bytes.length) throw new Error(`it is larger than ${maxBytes >> 20} MiB`);
    return bytes.toString('utf8', 0, size);
  } finally {
    closeSync(file);
  }
}

const MAX_VALUES = 100_000; // the largest files that we write hold a third of it
const MAX_DEPTH = 64;
const MAX_NUMBER = 1e100; // no time, size or count is near it, and sums and ratios of such numbers are finite

/**
 * Rejects JSON that is larger than what we write, so that what is made of it has a limit. What is nested deeply cannot even be
 * written as JSON again. Numbers near the largest become infinite in a calculation, and a chart of them never ends.
 * @param {unknown} json
 */
function checkExtent(json) {
  let left = MAX_VALUES;
  const visit = (/** @type {unknown} */ value, /** @type {number} */ depth) => {
    if (--left < 0) throw new Error(`it holds more than ${MAX_VALUES.toLocaleString('en-US')} values`);
    if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`);
    if (typeof value === 'number' && Math.abs(value) > MAX_NUMBER)
      throw new Error(`it holds the number ${value}; numbers must be from -${MAX_NUMBER} to ${MAX_NUMBER}`);
    if (typeof value !== 'object' || value === null) return;
    for (const member of Array.isArray(value) ? value : Object.values(value)) visit(member, depth + 1);
  };
  visit(json, 1);
}

/**
 * A name beside the target, with only part of its name, which may be as long as the file system allows. Nobody can guess it: in a
 * folder such as /tmp, another user could be there first.
 * @param {string} target
 */
const temporaryBeside = (target) => join(dirname(target), `${basename(target).slice(0, 60)}.${randomUUID()}.tmp`);

const NOT_REPLACEABLE = ['EACCES', 'EPERM', 'EROFS', 'EBUSY'];

/** Ignores failures: the caller reports the error that came before. @param {string} path */
function tryToRemove(path) {
  try {
    rmSync(path, { force: true });
  } catch {
    // Its folder was replaced or locked.
  }
}

/** @param {string} target @param {string} text */
function replaceFile(target, text) {
  const temporary = temporaryBeside(target);
  try {
    writeFileSync(temporary, text, { flag: 'wx' }); // follows no link and opens no pipe that is already there
    renameSync(temporary, target);
  } catch (error) {
    tryToRemove(temporary);
    throw error;
  }
}

/**
 * Writes a file atomically: a reader never sees half of it. A device, a pipe, and a file that cannot be replaced, because its folder
 * cannot be written or it is a mount point, are written directly.
 * @param {string} path
 * @param {string} text
 */
function writeWhole(path, text) {
  try {
    const existing = statSync(path, { throwIfNoEntry: false });
    if (!existing) return replaceFile(path, text);
    if (!existing.isFile()) return writeFileSync(path, text);
    const target = realpathSync(path); // the target of a link, not the link
    try {
      replaceFile(target, text);
    } catch (error) {
      if (!NOT_REPLACEABLE.includes(String(/** @type {NodeJS.ErrnoException} */ (error).code))) throw error;
      writeFileSync(target, text);
    }
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** False also if the status cannot be read: writeWhole() then reports why. @param {string} path */
function isPipe(path) {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}

/**
 * Writes the file of an option, which checkWritable() has accepted.
 * @param {string} path
 * @param {string} text
 * @param {AbortSignal} [signal] an abort ends the writing into a pipe; without it, a pipe whose reader does not read keeps the process
 */
async function writeOutput(path, text, signal) {
  if (!isPipe(path)) return writeWhole(path, text);
  try {
    await writeToPipe(path, text, signal);
  } catch (error) {
    if (error === signal?.reason) throw error;
    const isBroken = /** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE';
    throw cannotWrite(path, isBroken ? new Error('its reader has closed the pipe') : error);
  }
}

module.exports = {
  checkAllWritable,
  checkExtent,
  checkWritable,
  givenFiles,
  readSmall,
  reasonOf,
  writeOutput,
  writeWhole,
};
