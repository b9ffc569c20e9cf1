'use strict';
// Lines on standard output and standard error. These may be closed, on a full disk, or a pipe or a terminal that nobody reads. Then lines
// are lost or late, but the server continues, and ends when it is told to.
const { once } = require('node:events');
const { constants, existsSync, fstatSync, openSync, readFileSync } = require('node:fs');
const { setTimeout } = require('node:timers/promises');
const { isatty } = require('node:tty');
const pino = require('pino').default;
const { endBySignal } = require('../lib/terminal/signals.js');

const MAX_UNWRITTEN_BYTES = 1 << 20; // later lines are dropped
const FLUSH_MS = 200;

const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;

/** May /dev/tty be another terminal than this? @param {number} fd */
function isAnother(fd) {
  try {
    const [, fields] = readFileSync('/proc/self/stat', 'utf8').split(/.*\) /s);
    return Number(fields.split(' ')[4]) !== fstatSync(fd).rdev; // tty_nr in proc(5): this process's controlling terminal
  } catch {
    return existsSync('/proc/self/stat'); // without one, as on macOS, nobody knows
  }
}

/**
 * A descriptor of a terminal whose writes never block. A terminal can be stopped (Ctrl-S), and Node cannot exit while one of its threads
 * waits for a write. The given descriptor itself is shared with other programs, which expect that writes wait.
 * @param {number} fd
 * @returns {number | undefined} undefined if the terminal cannot be opened
 */
function openTerminal(fd) {
  // After `su`, a user may open only the second; macOS has only the second. After `su -c`, there is none.
  for (const path of [`/proc/self/fd/${fd}`, ...(isAnother(fd) ? [] : ['/dev/tty'])]) {
    try {
      return openSync(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch {} // try the next
  }
}

/** Of each output, whether it has something to write. @type {(() => boolean)[]} */
const unwritten = [];

/** Whether something is unwritten: until it is written, the process ends only by process.exit(). */
const hasUnwritten = () => unwritten.some((is) => is());

/**
 * @typedef {object} Output
 * @property {(line: string) => void} write
 * @property {() => Promise<void>} flushed waits until everything is written, for a short time
 */

/**
 * @param {1 | 2} fd standard output or standard error
 * @param {() => boolean} retry whether a line is tried again while there is no room. This keeps the process alive; otherwise, the next
 *   line tries again.
 * @returns {Output}
 */
function openOutput(fd, retry) {
  const terminal = isatty(fd) ? openTerminal(fd) : undefined;
  const target = pino.destination({
    fd: terminal ?? fd,
    sync: false,
    maxLength: MAX_UNWRITTEN_BYTES,
    retryEAGAIN: retry,
  });
  let isUnwritten = false;
  let isClosed = false; // pino then drops all lines, without an event
  const settled = (/** @type {NodeJS.ErrnoException | undefined} */ error) => {
    isUnwritten = false;
    isClosed ||= error?.code === 'EPIPE';
  };
  unwritten.push(() => isUnwritten);
  target.on('drain', settled).on('error', settled);
  target.flushSync = () => {}; // called when the process exits; it would repeat forever what cannot be written
  if (terminal === undefined) {
    // A thread waits for the terminal, or for the reader of a pipe that another program has made blocking.
    process.prependOnceListener('exit', (status) => {
      if (isUnwritten) endBySignal(status);
    });
  }
  return {
    write(line) {
      isUnwritten = !isClosed;
      target.write(line);
    },
    async flushed() {
      if (!isUnwritten) return;
      const isOver = new AbortController();
      const { signal } = isOver;
      await Promise.race([once(target, 'drain', { signal }), setTimeout(FLUSH_MS, undefined, { signal })]).catch(
        () => {},
      );
      isOver.abort();
    },
  };
}

module.exports = { hasUnwritten, openOutput };
