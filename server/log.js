'use strict';
// The lab's log: one line of JSON for each entry, on standard error. Standard error may be closed, on a full disk, or a pipe or a terminal
// that nobody reads. Then lines are lost, but the server continues, and ends when it is told to.
const { once } = require('node:events');
const { constants, openSync } = require('node:fs');
const { setTimeout } = require('node:timers/promises');
const { isatty } = require('node:tty');
const pino = require('pino').default;

const MAX_UNWRITTEN_BYTES = 1 << 20; // later lines are dropped
const FLUSH_MS = 200;

/** Two names of the terminal. After `su`, a user may open only the second; macOS has only the second. */
const TERMINALS = ['/proc/self/fd/2', '/dev/tty'];
const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * Standard error; of a terminal, a descriptor whose writes never block. A terminal can be stopped (Ctrl-S), and Node cannot exit while one
 * of its threads waits for a write. Descriptor 2 itself is shared with other programs, which expect that writes wait.
 */
function openStandardError() {
  if (!isatty(2)) return 2;
  for (const path of TERMINALS) {
    try {
      return openSync(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch {} // try the next
  }
  return 2;
}

/** @returns {{log: import('pino').Logger, flushed: () => Promise<void>}} flushed() waits until everything is written, for a short time */
function logToStandardError() {
  // No retry by a timer, which would keep the process: the next line tries again.
  const target = pino.destination({
    fd: openStandardError(),
    sync: false,
    maxLength: MAX_UNWRITTEN_BYTES,
    retryEAGAIN: () => false,
  });
  let isUnwritten = false;
  const settled = () => {
    isUnwritten = false;
  };
  target.on('drain', settled).on('error', settled);
  target.flushSync = () => {}; // pino calls it when the process exits; it would repeat forever what cannot be written
  const write = (/** @type {string} */ line) => {
    isUnwritten = true;
    target.write(line);
  };
  return {
    log: pino({ base: null }, { write }),
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

module.exports = { logToStandardError };
