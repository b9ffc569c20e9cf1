'use strict';
// Starting the processes of a long day, and judging whether what each holds stayed flat between 10 % and 100 % of its work.
const { spawn, spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { C_INTERFACE } = require('../../native.js');

const root = join(__dirname, '..', '..', '..');
const compiler = process.env.CC || 'cc';
const C_SOURCES = ['test/long/soak/soak.c', ...C_INTERFACE];
const OUTPUT_LIMIT = 2000;

/**
 * What may grow between 10 % and 100 % of the work. Descriptors and mappings: nothing. Resident memory of C: pages of the stack
 * and of stdio that are touched late. Resident memory of Node: what the collector and the compiler keep, measured at 9 MiB at
 * most; a leak of 16 bytes per message would be a gigabyte in the long run.
 */
const SLACK_KIB = { C: 1024, Node: 40 * 1024 };
const HEAP_SLACK_KIB = 2048;

/** Compiles the C program. @param {string} folder @returns {string | null} its path; null if there is no C compiler */
function buildSoak(folder) {
  const output = join(folder, 'soak');
  const args = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-pthread', '-o', output, ...C_SOURCES];
  const { status, stderr, error } = spawnSync(compiler, args, { cwd: root, encoding: 'utf8' });
  if (error && /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
  if (status !== 0) throw new Error(stderr);
  return output;
}

/**
 * Starts a process that prints lines of JSON.
 * @param {string[]} command
 * @param {{fd?: number, onReport?: (report: any) => void}} [options] fd: its descriptor 3
 */
function startSide([program, ...args], { fd, onReport } = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe', ...(fd === undefined ? [] : [fd])] });
  /** @type {any[]} */
  const reports = [];
  let rest = '';
  let errors = '';
  child.stdout?.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      reports.push(JSON.parse(line));
      onReport?.(reports.at(-1));
    }
  });
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  const failed = (/** @type {any} */ how) =>
    `${[program, ...args].join(' ').slice(-200)} ended with ${how}: ${errors.slice(0, OUTPUT_LIMIT)}`;
  /** @type {Promise<{reports: any[], failures: string[]}>} */
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) =>
      resolve({ reports, failures: status === 0 ? [] : [failed(signal ?? `status ${status}`)] }),
    );
  });
  return { child, ended };
}

/** A side of the long day in Node. @param {string} role @param {object} task */
const nodeSide = (role, task) => [
  process.execPath,
  '--expose-gc',
  join(__dirname, 'node.js'),
  role,
  JSON.stringify(task),
];

/** Runs sides until all have ended. If one fails, the others are ended. @param {ReturnType<typeof startSide>[]} sides */
async function together(sides) {
  const results = await Promise.all(
    sides.map(async ({ ended }) => {
      const result = await ended;
      if (result.failures.length > 0) for (const { child } of sides) child.kill('SIGKILL');
      return result;
    }),
  );
  return { reports: results.flatMap(({ reports }) => reports), failures: results.flatMap(({ failures }) => failures) };
}

/**
 * Compares what each role held at 10 % and at 100 %.
 * @param {any[]} reports
 * @param {string[]} roles that must have reported
 * @param {string} [label] what distinguishes these figures from others
 */
function judge(reports, roles, label = '') {
  /** @type {Record<string, string>} */
  const figures = {};
  /** @type {string[]} */
  const failures = [];
  for (const role of roles) {
    const [early, late] = [10, 100].map((percent) =>
      reports.find((each) => each.role === role && each.percent === percent),
    );
    const name = label ? `${role} (${label})` : role;
    if (!early || !late) {
      failures.push(`${name} did not report what it held`);
      continue;
    }
    const grown = (/** @type {string} */ what, /** @type {number} */ slack, /** @type {string} */ unit) => {
      const by = late[what] - early[what];
      if (by > slack)
        failures.push(`${name}: ${what} grew from ${early[what]} to ${late[what]}${unit}; slack ${slack}`);
    };
    const slack = role.startsWith('C ') ? SLACK_KIB.C : SLACK_KIB.Node;
    grown('residentKiB', slack, ' KiB');
    grown('descriptors', 0, '');
    for (const what of ['maps', 'mappings']) if (what in early) grown(what, 0, '');
    for (const what of ['heapKiB', 'buffersKiB']) if (what in early) grown(what, HEAP_SLACK_KIB, ' KiB');
    const mib = (/** @type {any} */ { residentKiB }) => (residentKiB / 1024).toFixed(1);
    const held = (/** @type {any} */ each) => `${each.descriptors} and ${each.maps ?? each.mappings}`;
    figures[`${name}: resident at 10 %, 100 %`] = `${mib(early)}, ${mib(late)} MiB`;
    figures[`${name}: descriptors and maps at 10 %, 100 %`] = `${held(early)}, ${held(late)}`;
  }
  return { figures, failures };
}

module.exports = { buildSoak, judge, nodeSide, startSide, together };
