'use strict';
// Output files that are named pipes, also /dev/stdout or `>(command)` of a shell. Nothing here waits in open() or write(), where no
// signal would end the process.
const { closeSync, constants, openSync } = require('node:fs');
const { Socket } = require('node:net');

const WITHOUT_WAITING = constants.O_WRONLY | constants.O_NONBLOCK;

/** Opened by holdPipe() and not yet written, by path. @type {Map<string, number[]>} */
const held = new Map();

/**
 * Opens a pipe long before it is written, and keeps it open: its reader would take a close for the end of the file.
 * @param {string} path
 * @returns {boolean} false if nobody has it open for reading
 */
function holdPipe(path) {
  try {
    held.set(path, [...(held.get(path) ?? []), openSync(path, WITHOUT_WAITING)]);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENXIO') return false;
    throw error;
  }
}

/**
 * Writes a text as fast as the reader takes it, and closes the pipe.
 * @param {string} path
 * @param {string} text
 * @param {AbortSignal} [signal] an abort during the writing ends it; an earlier one does not
 * @returns {Promise<void>} rejected with the signal's reason, or if the reader closes the pipe too early
 */
function writeToPipe(path, text, signal) {
  const descriptor = held.get(path)?.shift() ?? openSync(path, WITHOUT_WAITING);
  return new Promise((resolve, reject) => {
    const pipe = socketOf(descriptor);
    const stop = () => end(signal?.reason);
    const end = (/** @type {unknown} */ error) => {
      signal?.removeEventListener('abort', stop);
      pipe.destroy();
      if (error) reject(error);
      else resolve();
    };
    signal?.addEventListener('abort', stop);
    pipe.once('error', end);
    pipe.write(text, (error) => end(error));
  });
}

/** @param {number} descriptor */
function socketOf(descriptor) {
  try {
    return new Socket({ fd: descriptor, readable: false, writable: true });
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

module.exports = { holdPipe, writeToPipe };
