'use strict';
// The files that commands write: checked before the work begins, and written whole or not at all.
const { accessSync, constants, realpathSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { dirname, resolve } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');

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

module.exports = { checkWritable, writeWhole };
