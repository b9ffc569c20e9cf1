'use strict';
// Many channels between several processes go through hot and cold spells, one core, back-pressure, aborts, closing and SIGKILL
// in random order, and each message is accounted for. CROSSINGS_SEED=n repeats a run; CROSSINGS_STRESS=n makes it n times as
// long. See stress/: plan.js draws the schedule, process.js is one process, driver.js one end of one channel.
const { spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const { inCi } = require('../in-ci.js');

const seed = Number(process.env.CROSSINGS_SEED ?? 1 + (Date.now() % 1_000_000));
const scale = Number(process.env.CROSSINGS_STRESS ?? (inCi ? 1 : 0.25));
const SILENCE_MS = 90_000; // longer than the processes wait before they report a channel that makes no progress

/** Runs everything on one core. */
const oneCore = ['taskset', '-c', String(firstCore())];
const canPin = spawnSync(oneCore[0], [...oneCore.slice(1), 'true']).status === 0;

/** The first core that this process may run on. */
function firstCore() {
  return Number(/Cpus_allowed_list:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

/**
 * Runs a group of processes to its end.
 * @param {any} given its plan
 * @param {string[]} [launcher] a command that starts it
 */
async function runGroup(given, launcher = []) {
  const folder = mkdtempSync(join(tmpdir(), 'channel-'));
  const plan = { seed, messages: 300, killed: undefined, ...given, folder };
  const command = [
    ...launcher,
    process.execPath,
    join(__dirname, 'stress', 'process.js'),
    'left',
    JSON.stringify(plan),
  ];
  const outcome = await watchGroup(command);
  const files = readdirSync(folder);
  const read = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const failures = files.filter((name) => name.endsWith('.failed')).map(read);
  const reports = files.filter((name) => name.endsWith('.json')).map((name) => [name, JSON.parse(read(name))]);
  rmSync(folder, { recursive: true });
  if (failures.length > 0) throw new Error(`CROSSINGS_SEED=${seed}, group ${plan.group}: ${failures.join('\n')}`);
  if (outcome !== '') throw new Error(`CROSSINGS_SEED=${seed}, group ${plan.group}: ${outcome}`);
  return { plan, reports: Object.fromEntries(reports) };
}

/** Waits until all processes of a group have ended. @param {string[]} command @returns {Promise<string>} what went wrong */
function watchGroup([command, ...args]) {
  return new Promise((resolve) => {
    const left = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    const silent = setTimeout(() => {
      output += 'the processes hang: their timers do not run, or they did not exit';
      process.kill(-Number(left.pid), 'SIGKILL'); // the whole group
    }, SILENCE_MS);
    left.stdout.on('data', () => silent.refresh());
    left.stderr.on('data', (text) => {
      output += text;
    });
    left.on('close', () => {
      clearTimeout(silent);
      resolve(output);
    });
  });
}

/** The reports of a group's channels as pairs of ends; an end is missing if its process was killed. @param {any} group */
function pairsOf({ plan, reports }) {
  /** @type {Map<string, any>} */
  const pairs = new Map();
  for (const report of Object.values(reports).flat()) {
    pairs.set(report.name, { ...pairs.get(report.name), [report.side]: report });
  }
  const processes = 1 + plan.rights - (plan.killed === undefined ? 0 : 1);
  expect(Object.keys(reports)).toHaveLength(processes);
  expect(pairs.size).toBe(plan.rights * plan.channels);
  return [...pairs.values()];
}

/** What one end sent is what the other received, except after an end that cut it off. @param {any} sender @param {any} receiver */
function verifyDirection(sender, receiver) {
  const { name, side } = receiver;
  const aborted = sender.aborted.sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  // Exactly those that were aborted are missing.
  const missed = aborted.filter((/** @type {number} */ number) => number < receiver.receiveNext);
  expect({ name, side, missing: receiver.missing }).toEqual({ name, side, missing: missed });
  // A receiver that found the end of the channel has received everything.
  if (receiver.end === 'drained')
    expect({ name, side, received: receiver.received }).toEqual({ name, side, received: sender.sent });
  else expect(receiver.received).toBeLessThanOrEqual(sender.sent);
}

/** @param {any} group */
function verifyGroup(group) {
  let messages = 0;
  for (const { left, right } of pairsOf(group)) {
    if (left && right) {
      verifyDirection(left, right);
      verifyDirection(right, left);
    } else {
      expect((left ?? right).end).toBe('died');
    }
    messages += (left?.received ?? 0) + (right?.received ?? 0);
  }
  expect(messages).toBeGreaterThan(0);
}

const title = (/** @type {string} */ what) => `${what} (CROSSINGS_SEED=${seed})`;
const limitMs = 240_000 * Math.max(1, scale);

test(
  title('several processes lose nothing'),
  async () => {
    verifyGroup(await runGroup({ group: 1, rights: 3, channels: 4, messages: 700 * scale }));
  },
  limitMs,
);

(canPin ? test : test.skip)(
  title('processes that share one core lose nothing'),
  async () => {
    verifyGroup(await runGroup({ group: 2, rights: 2, channels: 4, messages: 400 * scale }, oneCore));
  },
  limitMs,
);

test(
  title('when a process is killed, the others get a prefix of what it sent, and then learn of its death'),
  async () => {
    for (let round = 0; round < Math.max(2, 8 * scale); round++) {
      const killed = round % 2 === 0 ? 'left' : 'right';
      const launcher = canPin && round % 5 === 4 ? oneCore : [];
      verifyGroup(await runGroup({ group: 100 + round, rights: 1 + (round % 3), channels: 4, killed }, launcher));
    }
  },
  limitMs,
);
