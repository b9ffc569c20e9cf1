'use strict';
// One row: a package manager installs the package into an empty project, and programs of a user run there.
const { cpSync, existsSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { Sandbox } = require('./sandbox.js');

/** @typedef {import('./managers.js').Manager} Manager */

const COLUMNS = /** @type {const} */ (['install', 'ci', 'scripts on', 'alone']);
const PROGRAMS = ['cjs.cjs', 'esm.mjs'];

/** A home, and in it a project that holds the programs of a user. @param {import('./runtimes.js').Runtime} runtime @param {Manager} manager @param {string} registry */
function createProject(runtime, manager, registry) {
  const sandbox = new Sandbox(runtime, registry);
  cpSync(join(__dirname, 'consumer'), sandbox.project, { recursive: true });
  writeFileSync(join(sandbox.project, 'package.json'), '{"name": "consumer", "private": true}\n');
  manager.prepare(sandbox);
  return sandbox;
}

/** Runs commands, and then the programs, which must print what they received. @param {Sandbox} sandbox @param {Manager} manager @param {string[][]} commands */
async function runAndUse(sandbox, manager, commands) {
  for (const command of commands) await sandbox.run(command);
  for (const program of PROGRAMS) {
    const printed = await sandbox.run([...(manager.run ?? []), ...sandbox.program(program)]);
    if (printed.trim() !== 'a message')
      throw new Error(`${program} printed "${printed.trim()}" instead of "a message"`);
  }
}

/** As after a fresh clone: the lock file and nothing installed. @param {Sandbox} sandbox */
function removeInstalled(sandbox) {
  for (const name of ['node_modules', '.yarn', '.pnp.cjs', '.pnp.loader.mjs']) {
    rmSync(join(sandbox.project, name), { recursive: true, force: true });
  }
}

/** Nothing comes with the package. @param {Sandbox} sandbox */
function expectAlone(sandbox) {
  const packages = readdirSync(join(sandbox.project, 'node_modules')).filter((name) => !name.startsWith('.'));
  if (packages.join() !== 'crossings') throw new Error(`node_modules holds ${packages.join(', ')}`);
  const nested = join(sandbox.project, 'node_modules', 'crossings', 'node_modules');
  const own = existsSync(nested) ? readdirSync(nested).filter((name) => !name.startsWith('.')) : [];
  if (own.length > 0) throw new Error(`crossings has packages of its own: ${own.join(', ')}`);
}

/**
 * @param {import('./table.js').Row} row
 * @param {import('./runtimes.js').Runtime} runtime
 * @param {Manager} manager
 * @param {{registry: string, mayDownload: boolean}} context
 */
async function fillInstall(row, runtime, manager, { registry, mayDownload }) {
  const obstacle = manager.obstacle(mayDownload, runtime);
  if (obstacle) return row.skip(`${obstacle}.`, obstacle.includes('failed'));
  const sandbox = createProject(runtime, manager, registry);
  try {
    if (!(await row.cell('install', () => runAndUse(sandbox, manager, manager.install)))) return;
    if (!manager.noFolder) await row.cell('alone', async () => expectAlone(sandbox));
    removeInstalled(sandbox);
    await row.cell('ci', () => runAndUse(sandbox, manager, manager.ci));
    removeInstalled(sandbox);
    await row.cell('scripts on', () => runAndUse(sandbox, manager, manager.scripts));
  } finally {
    sandbox.remove();
  }
}

module.exports = { COLUMNS, createProject, fillInstall };
