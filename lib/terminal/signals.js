'use strict';
// The signals that end a command, and the end by one of them.
const { closeSync } = require('node:fs');

const SIGNALS = /** @type {const} */ ({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 });

/** The exit status of a command that a signal has ended. @param {string} name */
const statusOf = (name) => 128 + SIGNALS[/** @type {keyof typeof SIGNALS} */ (name)];

function stopListening() {
  for (const name of Object.keys(SIGNALS)) process.removeAllListeners(name);
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

module.exports = { SIGNALS, endBySignal, statusOf, stopListening };
