'use strict';
// What several tests share: running our programs, and looking for what they leave behind.
const { spawn, spawnSync } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
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

/** Starts a program. @param {string} command @param {string[]} args */
const start = (command, args) => spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });

/** Fails in a test that runs beside others, where what others start would look like a leftover. */
function needsTheMachine() {
  if (!('SERIAL' in globalThis))
    throw new Error('this test file looks at the whole machine: list it in jest.config.js');
}

/** Ids of the processes whose program is one of ours. */
function ourProcesses() {
  needsTheMachine();
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const [, name, state] = /\((.*)\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return name.startsWith('crossings-') && state !== 'Z';
      } catch {
        return false; // the process has ended since it was listed
      }
    })
    .map(Number);
}

/** Everything that a run might have left behind on this machine: files in /dev/shm and the temporary folder, processes. */
function leftovers() {
  needsTheMachine();
  return {
    sharedMemory: readdirSync('/dev/shm').sort(),
    temporary: readdirSync(tmpdir())
      .filter((name) => name.includes('crossings'))
      .sort(),
    processes: ourProcesses(),
  };
}

/** Waits until a condition holds. Jest's time limit ends a wait that never succeeds. @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

module.exports = { built, cli, eventsOf, leftovers, ourProcesses, root, run, start, until };
