'use strict';
// Runs the walk of one seed: starts its processes, collects their reports, and ends those that do not end by themselves.
const { fork } = require('node:child_process');
const { once } = require('node:events');
const { existsSync, mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { folderOf } = require('../../matrix/downloads.js');
const { drawProcesses } = require('./topology.js');

const PROCESS = join(__dirname, 'process.js');
const BOUND_MS = 75_000; // more than twice as long as a promise may take
const GRACE_MS = 1000; // after the first failure: the others report the state that they are in
const OUTPUT_LIMIT = 2000; // characters of a process's errors that a failure quotes

/** @typedef {import('./actor.js').Report} Report */
/** @typedef {{failure: string, channels: number, workers: number, processes: number, reports: Report[]}} Walk */

/** The binary of a Node version, or this one if that is not downloaded. @param {number | 'this'} runtime */
function binaryOf(runtime) {
  const name = `node-linux-${process.arch}`;
  const binary = join(folderOf(runtime), 'node_modules', name, 'bin', 'node');
  return runtime !== 'this' && existsSync(binary) ? binary : process.execPath;
}

/** @param {Report & {failure: string}} report */
const describe = ({ actor, node, failure, state }) => `${actor} (Node ${node}): ${failure}\n  ${state}`;

/**
 * Runs one process until it has ended. Returns what went wrong with it.
 * @param {import('./topology.js').ProcessPlan} plan
 * @param {AbortSignal} signal ends it
 * @param {(report: Report) => void} onReport
 * @returns {Promise<string>}
 */
async function runProcess(plan, signal, onReport) {
  const child = fork(PROCESS, [JSON.stringify(plan)], {
    execPath: binaryOf(plan.runtime),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (text) => {
    errors = (errors + text).slice(-OUTPUT_LIMIT);
  });
  let reports = 0;
  child.on('message', (/** @type {Report} */ report) => {
    reports++;
    onReport(report);
  });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  const disconnected = once(child, 'disconnect'); // its last report may arrive after it has ended
  const [status, killedBy] = await once(child, 'close');
  await disconnected;
  signal.removeEventListener('abort', kill);
  if (status === 0 && reports === plan.actors.length) return '';
  const names = plan.actors.map(({ name }) => name).join(', ');
  const how = signal.aborted && killedBy ? 'was still running' : `ended with ${killedBy ?? `status ${status}`}`;
  return `The process of ${names} ${how}. ${errors.trim()}`.trim();
}

/** @param {number} seed @returns {Promise<Walk>} */
async function runWalk(seed) {
  const folder = mkdtempSync(join(tmpdir(), 'walk-'));
  const stop = new AbortController();
  /** @type {string[]} */
  const failures = [];
  /** @type {NodeJS.Timeout | undefined} */
  let grace;
  const onFailure = (/** @type {string} */ failure) => {
    failures.push(failure);
    grace ??= setTimeout(() => stop.abort(), GRACE_MS);
  };
  const bound = setTimeout(() => {
    onFailure(`It was not done after ${BOUND_MS / 1000} s`);
  }, BOUND_MS);
  try {
    const plans = drawProcesses(seed, folder);
    /** @type {Report[]} */
    const reports = [];
    const onReport = (/** @type {Report} */ report) => {
      reports.push(report);
      if (report.failure) onFailure(describe({ ...report, failure: report.failure }));
    };
    const running = plans.map(async (plan) => {
      const wrong = await runProcess(plan, stop.signal, onReport);
      if (wrong) onFailure(wrong);
    });
    await Promise.all(running);
    const left = readdirSync(folder);
    if (failures.length === 0 && left.length > 0) failures.push(`It left behind: ${left.join(', ')}`);
    const actors = plans.flatMap((plan) => plan.actors);
    return {
      failure: failures.join('\n'),
      channels: actors.flatMap(({ ends }) => ends).length / 2,
      processes: plans.length,
      workers: plans.flatMap((plan) => (plan.inWorkers ? plan.actors : [])).length,
      reports,
    };
  } finally {
    clearTimeout(bound);
    clearTimeout(grace);
    rmSync(folder, { recursive: true });
  }
}

module.exports = { runWalk };
