'use strict';
// What several tests share: running our programs, and looking for what they leave behind.
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..');
const built = (/** @type {string} */ name) => join(root, 'build', 'Release', name);

/**
 * Runs a compiled program to its end.
 * @param {string} name
 * @param {(string | number)[]} args
 */
function run(name, args) {
  const { status, stdout, stderr } = spawnSync(built(name), args.map(String), { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** Parses the events that our programs print, one line of JSON each. @param {string} stdout @returns {any[]} */
const eventsOf = (stdout) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/**
 * Runs `crossings ARGS` to its end.
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 */
function cli(args, options) {
  const result = spawnSync(process.execPath, [join(root, 'server', 'cli.js'), ...args], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    ...options,
  });
  return { status: result.status, stdout: String(result.stdout), stderr: String(result.stderr) };
}

/**
 * Like cli() for many lists of arguments that are refused: one process runs them all, since to start Node takes longest.
 * @param {string[][]} all
 * @returns {ReturnType<typeof cli>[]}
 */
function cliEach(all) {
  const options = { cwd: root, input: JSON.stringify(all), encoding: /** @type {const} */ ('utf8') };
  const { stdout, stderr } = spawnSync(process.execPath, [join(__dirname, 'cli-each.js')], options);
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Starts a program. @param {string} command @param {string[]} args @param {Record<string, string>} [env] more variables */
const start = (command, args, env) =>
  spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });

/** Ids of the living processes that this test file has started, and that run a program of ours. */
function ourProcesses() {
  const mark = `CROSSINGS_TEST=${process.env.CROSSINGS_TEST}\0`;
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const [, name, state] = /\((.*)\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        if (!name.startsWith('crossings-') || state === 'Z') return false;
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
      } catch {
        return false; // the process has ended since it was listed
      }
    })
    .map(Number);
}

/** The names of ours in a shared folder whose process has ended: each contains the id of its process. @param {string} folder */
function abandoned(folder) {
  return readdirSync(folder).filter((name) => {
    const pid = /crossings-(\d+)/.exec(name)?.[1];
    return pid !== undefined && !existsSync(`/proc/${pid}`);
  });
}

/** Everything that a run might have left behind: files in /dev/shm and the temporary folders, processes. */
function leftovers() {
  return {
    sharedMemory: abandoned('/dev/shm').sort(),
    temporary: [...readdirSync(tmpdir()).filter((name) => name.includes('crossings')), ...abandoned('/tmp')].sort(),
    processes: ourProcesses(),
  };
}

/**
 * Waits until nothing is left but what was there before. Other test files kill processes, too, whose names exist for a moment
 * longer; what is really left behind stays, and Jest's time limit ends the wait.
 * @param {ReturnType<typeof leftovers>} before
 */
async function untilNothingIsLeft(before) {
  const isNew = (/** @type {string} */ kind, /** @type {string | number} */ each) =>
    !(/** @type {any} */ (before)[kind].includes(each));
  await until(() =>
    Object.entries(leftovers()).every(([kind, all]) => !all.some((/** @type {any} */ each) => isNew(kind, each))),
  );
}

/** Is a process there that has not ended? @param {number} pid */
function isAlive(pid) {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits until a condition holds. Jest's time limit ends a wait that never succeeds. @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

module.exports = {
  built,
  cli,
  cliEach,
  eventsOf,
  isAlive,
  leftovers,
  ourProcesses,
  root,
  run,
  start,
  until,
  untilNothingIsLeft,
};
