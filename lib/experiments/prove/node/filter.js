'use strict';
// Loads the addon that lets the main thread of a Node process enter the filter (c-bench/prove/addon.c). The installed
// package never loads it: only the processes of a proof do.
const { programPath } = require('../../../measure/programs.js');

/**
 * @typedef {object} Filter
 * @property {(reportFd: number, counted: string[], limitMs: number) => void} enter cannot be undone. After limitMs, `stop`
 *   is set.
 * @property {() => Record<string, number>} counts how often this thread has made each counted call
 * @property {() => void} die makes a forbidden call
 * @property {(pid: number) => boolean} endWithParent
 * @property {(core: number) => void} pin
 * @property {ArrayBuffer} memory
 */

/** @type {Filter} */
const filter = require(programPath('crossings-filter.node'));

/** What the exchange and the filter share. */
const shared = {
  /** [0]: messages exchanged so far, for the report of a forbidden call. */
  progress: new Float64Array(filter.memory, 0, 1),
  /** [0]: 1 when the time is up. Read it with Atomics. */
  stop: new Int32Array(filter.memory, 8, 1),
};

module.exports = { filter, shared };
