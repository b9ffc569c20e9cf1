'use strict';
// The lab's log: one line of JSON for each entry, on standard error.
const pino = require('pino').default;
const { openOutput } = require('./output.js');

/** @returns {{log: import('pino').Logger, flushed: () => Promise<void>}} flushed() waits until everything is written, for a short time */
function logToStandardError() {
  const { write, flushed } = openOutput(2, () => false);
  return { log: pino({ base: null }, { write }), flushed };
}

module.exports = { logToStandardError };
