'use strict';
// Runs in a worker thread of comparisons.js: compares two runs.
const { parentPort, workerData } = require('node:worker_threads');
const { compareRuns } = require('../lib/bench/compare/runs.js');

/** @type {import('node:worker_threads').MessagePort} */ (parentPort).postMessage(
  compareRuns([workerData.a], [workerData.b]),
);
