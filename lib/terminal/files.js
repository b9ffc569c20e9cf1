'use strict';
// Output files: checked before the work begins, and written completely or not at all.
const { accessSync, constants, realpathSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { dirname, resolve } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');

/** "ENOSPC: no space left on device, write" -> "no space left on device". @param {unknown} error */
const reasonOf = (error) => /** @type {Error} */ (error).message.replace(/^E\w+: /, '').replace(/, \w+( '.*')?$/, '');

/**
 * Rejects a path that cannot be written, before anything is measured. Creates no file.
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
  const target = existing ? path : dirname(resolve(path));
  if (!existing && !statSync(target, { throwIfNoEntry: false })?.isDirectory())
    refuse(`the folder ${target} does not exist`);
  try {
    accessSync(target, constants.W_OK);
  } catch {
    refuse('permission denied');
  }
}

/**
 * Writes a file atomically: a reader never sees half of it. A device or a pipe is written directly.
 * @param {string} path
 * @param {string} text
 */
function writeWhole(path, text) {
  let temporary = null;
  try {
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing && !existing.isFile()) return writeFileSync(path, text);
    const target = existing ? realpathSync(path) : path; // the target of a link, not the link
    temporary = `${target}.${process.pid}.tmp`;
    writeFileSync(temporary, text);
    renameSync(temporary, target);
  } catch (error) {
    if (temporary) rmSync(temporary, { force: true });
    throw new CrossingsError('ERR_WRITE', `Cannot write ${path}: ${reasonOf(error)}`);
  }
}

module.exports = { checkWritable, writeWhole };
