'use strict';
// When real-time priority is allowed.
const { refuse } = require('../terminal/arguments.js');

/**
 * The rule of crossings-bench, checked before anything runs.
 * @param {import('../measure/environment.js').Placement} placement
 * @param {any} machine
 */
function checkRealtime(placement, machine) {
  const [a, b] = machine.pinnedCores;
  if (!placement.pin || placement.sameCore || a === b)
    refuse('--realtime requires the processes to be pinned to two different cores.');
  if (machine.cpus.length < 3) {
    refuse(
      `--realtime requires at least 3 cores; this machine has ${machine.cpus.length}. Two processes that spin at ` +
        'real-time priority would hang it.',
    );
  }
}

module.exports = { checkRealtime };
