'use strict';
// The signals that end a command, and the end by one of them.
const { closeSync, fstatSync } = require('node:fs');
const { isatty } = require('node:tty');

const SIGNALS = /** @type {const} */ ({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 });

/** The exit status of a command that a signal has ended. @param {string} name */
const statusOf = (name) => 128 + SIGNALS[/** @type {keyof typeof SIGNALS} */ (name)];

function stopListening() {
  for (const name of Object.keys(SIGNALS)) process.removeAllListeners(name);
}

/**
 * Calls what may block this thread for long, such as a write to a stopped terminal (Ctrl-S). Nothing listens meanwhile, so a signal
 * ends the process at once.
 * @template T @param {() => T} call @returns {T}
 */
function withoutListeners(call) {
  const listeners = Object.keys(SIGNALS).flatMap((name) =>
    process.listeners(/** @type {any} */ (name)).map((each) => ({ name, each })),
  );
  stopListening();
  try {
    return call();
  } finally {
    for (const { name, each } of listeners) process.on(name, /** @type {any} */ (each));
  }
}

/**
 * For a listener of 'exit' that comes before the others: ends the process at once, by a signal, after the other listeners, which may have
 * something to remove. What Node does at an exit is left out.
 * @param {number} status the exit status; that of a signal chooses it
 * @param {string} [name] of the signal
 */
function endBySignal(status, name = Object.keys(SIGNALS).find((candidate) => statusOf(candidate) === status)) {
  process.emit('exit', status);
  stopListening();
  process.kill(process.pid, name ?? 'SIGTERM');
  if (process.pid !== 1) return;
  closeSync(2); // abort() prints a backtrace, for which a full pipe may have no room
  process.abort(); // the first process of a container gets no such signal
}

const [FIRST_PTS, LAST_PTS] = [136, 143]; // major numbers, in Documentation/admin-guide/devices.txt of Linux

/**
 * Is this a terminal, or was it one? Of a terminal that has gone, isatty() says that it is none, but Node may have found it when it started.
 * @param {number} fd
 */
function isTerminal(fd) {
  if (isatty(fd)) return true;
  const status = fstatSync(fd);
  const major = (status.rdev >> 8) & 0xfff;
  return status.isCharacterDevice() && major >= FIRST_PTS && major <= LAST_PTS;
}

/**
 * When Node exits, it resets the terminals that it was started from, and aborts if one has gone: also after the last moment at which
 * anything could look. So a command that a signal ends, and that has not changed its terminal, ends by that signal. Not if there is a
 * pipe, whose flags others may share and Node resets, too.
 * @param {AbortSignal} signal
 */
function endBySignalInTerminal(signal) {
  const isPipe = (/** @type {number} */ fd) => {
    const status = fstatSync(fd);
    return status.isFIFO() || status.isSocket();
  };
  const fds = [0, 1, 2];
  if (process.pid === 1 || !fds.some(isTerminal) || fds.some(isPipe)) return;
  process.prependOnceListener('exit', (status) => {
    if (signal.aborted) endBySignal(status);
  });
}

module.exports = { SIGNALS, endBySignal, endBySignalInTerminal, isTerminal, statusOf, stopListening, withoutListeners };
