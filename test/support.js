'use strict';
// What several tests need: running our programs and looking for what they might leave behind.
const { spawn, spawnSync } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..');
const built = (/** @type {string} */ name) => join(root, 'build', 'Release', name);

/**
 * Run a compiled program to its end.
 * @param {string} name
 * @param {(string | number)[]} args
 */
function run(name, args) {
  const { status, stdout, stderr } = spawnSync(built(name), args.map(String), { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** The events among lines of JSON. @param {string} stdout @returns {any[]} */
const eventsOf = (stdout) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/**
 * Run `crossings ARGS`.
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

/** Start a program and give back its child process. @param {string} command @param {string[]} args */
const start = (command, args) => spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });

/** Numbers of the processes whose program is one of ours. */
function ourProcesses() {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const [, name, state] = /\((.*)\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return name.startsWith('crossings-') && state !== 'Z';
      } catch {
        return false; // it has just ended
      }
    })
    .map(Number);
}

/** Everything that a run might have forgotten: files in /dev/shm and the temporary folder, processes. */
function leftovers() {
  return {
    sharedMemory: readdirSync('/dev/shm').sort(),
    temporary: readdirSync(tmpdir())
      .filter((name) => name.includes('crossings'))
      .sort(),
    processes: ourProcesses(),
  };
}

/** Wait until a condition holds. The runner's own limit ends a wait in vain. @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

module.exports = { built, cli, eventsOf, leftovers, ourProcesses, root, run, start, until };
