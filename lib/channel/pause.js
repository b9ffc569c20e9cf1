'use strict';
// Waits for a time, also where a test library has replaced the timers.
const { areGenuine, callUnreferenced, clearTimeout, setTimeout } = require('./clock.js');
const { onAbort } = require('./signals.js');

/** Wait for a time. Rejects if the signal is aborted. @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, (reason) => {
      clearTimeout(waiting);
      reject(reason);
    });
    const done = () => {
      stop();
      resolve();
    };
    const waiting = setTimeout(done, ms);
    if (!areGenuine) callUnreferenced(done, ms); // that timer may stand still
  });
}

module.exports = { pause };
