'use strict';
// A process of a walk: node process.js JSON. Runs one actor, or several in a worker each, and sends their reports to its parent.
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');
const { runActor } = require('./actor.js');

/** @typedef {import('./actor.js').Report} Report */

function runProcess() {
  /** @type {import('./topology.js').ProcessPlan} */
  const { inWorkers, actors } = JSON.parse(process.argv[2]);
  const tell = (/** @type {Report} */ report) => process.send?.(report);
  if (!inWorkers) return void runActor(actors[0], tell);
  for (const workerData of actors) new Worker(__filename, { workerData }).on('message', tell);
}

if (isMainThread) runProcess();
else runActor(workerData, (report) => parentPort?.postMessage(report));
