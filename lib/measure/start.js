'use strict';
// Starts processes, and says why one cannot be started. spawn() and fork() emit only a few errors of the system. They throw all
// others: ETXTBSY while a build writes the program, ENOMEM, E2BIG, or EPERM in a sandbox.
const { getSystemErrorMap } = require('node:util');
const { CrossingsError } = require('../channel/errors.js');

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** "spawn /x/crossings-bench EMFILE" -> "too many open files". @param {NodeJS.ErrnoException} error */
const reasonOf = ({ errno, message }) => (errno && getSystemErrorMap().get(errno)?.[1]) || message;

/** @param {string} name of a program @param {any} error thrown or emitted */
const cannotRun = (name, error) => new CrossingsError('ERR_PROGRAM', `Cannot run ${name}: ${reasonOf(error)}`);

/**
 * Starts a process. The caller still has to listen for 'error'.
 * @template {ChildProcess} Child
 * @param {string} name for error messages
 * @param {() => Child} begin calls spawn() or fork()
 */
function start(name, begin) {
  try {
    return begin();
  } catch (error) {
    throw cannotRun(name, error);
  }
}

/**
 * Starts another Node process, or ends this one with a sentence that says why it cannot.
 * @template {ChildProcess} Child
 * @param {() => Child} begin calls spawn() or fork()
 */
function startNodeOrExit(begin) {
  const fail = (/** @type {any} */ error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  };
  try {
    const child = start('node', begin);
    if (child.pid === undefined) child.once('error', (error) => fail(cannotRun('node', error)));
    return child;
  } catch (error) {
    return fail(error);
  }
}

module.exports = { cannotRun, start, startNodeOrExit };
