'use strict';
// Runs in a worker thread of record.js: interprets what the tracer has printed.
const { parentPort, workerData } = require('node:worker_threads');
const { interpret } = require('./record.js');

/** @type {import('node:worker_threads').MessagePort} */ (parentPort).postMessage(interpret(workerData));
