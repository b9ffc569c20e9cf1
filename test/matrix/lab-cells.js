'use strict';
// One row: crossings and crossings-lab are installed together on one Node, without install scripts and without a compiler. The
// commands of both run: the benchmark with its prebuilt programs, and the lab, which answers and ends.
const { execFileSync } = require('node:child_process');
const { cpSync, readFileSync, writeFileSync } = require('node:fs');
const { basename, join } = require('node:path');
const lock = require('../../package-lock.json');
const { waitForOutput } = require('./runtime-cells.js');
const { Sandbox } = require('./sandbox.js');

/** @typedef {import('./sandbox.js').Sandbox} SandboxOf */

const COLUMNS = /** @type {const} */ (['install', '--help', 'bench', 'lab']);

/** Where this machine's npm gets packages from, and keeps them: the lab has dependencies. */
function npmSettings() {
  const setting = (/** @type {string} */ name) =>
    execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  const network = Object.entries(process.env).filter(([name]) =>
    /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  return {
    .../** @type {Record<string, string>} */ (Object.fromEntries(network)),
    npm_config_registry: setting('registry'),
    npm_config_cache: setting('cache'),
  };
}

/** An empty project, whose lock file says which versions this checkout has: npm has those in its cache. @param {string} project */
function writeProject(project) {
  const manifest = { name: 'consumer', version: '1.0.0', private: true };
  const packages = Object.fromEntries(
    Object.entries(lock.packages)
      .filter(([path]) => path !== '')
      .map(([path, entry]) => [path, { ...entry, dev: undefined }]),
  );
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  const text = JSON.stringify({ ...manifest, lockfileVersion: 3, packages: { '': manifest, ...packages } });
  writeFileSync(join(project, 'package-lock.json'), text);
}

/** @param {SandboxOf} sandbox @param {string[]} tarballs */
async function install(sandbox, tarballs) {
  for (const tarball of tarballs) cpSync(tarball, join(sandbox.home, basename(tarball)));
  const files = tarballs.map((tarball) => join('..', basename(tarball)));
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund'];
  const command = ['npm', 'install', '--ignore-scripts', ...quiet, ...files];
  await sandbox.run(command, { limitMs: 300_000, env: npmSettings() });
}

/** Both names are the same command. @param {SandboxOf} sandbox */
async function help(sandbox) {
  for (const name of ['crossings-lab', 'crossings']) {
    const printed = await sandbox.run(['npx', name, '--help']);
    if (!printed.startsWith('Usage: npx crossings-lab'))
      throw new Error(`npx ${name} --help printed "${printed.split('\n')[0]}"`);
  }
}

/** Every mechanism passes messages between two processes. @param {SandboxOf} sandbox */
async function bench(sandbox) {
  const command = ['npx', 'crossings', 'bench', '--quick', '--messages', '1000', '--no-pin', '--json', 'run.json'];
  await sandbox.run(command, { limitMs: 300_000 });
  const { results } = JSON.parse(readFileSync(join(sandbox.project, 'run.json'), 'utf8'));
  const measured = results.filter((/** @type {any} */ each) => each.throughput.messagesPerSecond.median > 0);
  if (measured.length < 6) throw new Error(`only ${measured.length} mechanisms were measured`);
}

/** The lab answers at the address that it prints, and Ctrl-C ends it. @param {SandboxOf} sandbox */
async function lab(sandbox) {
  const started = sandbox.start(['npx', 'crossings', 'lab', '--no-open', '--port', '0']);
  try {
    await waitForOutput(sandbox, started, '\n', 'npx crossings lab');
    const address = started.output.stdout.split('\n')[0];
    const page = await fetch(address);
    if (page.status !== 200 || !(await page.text()).includes('<title>'))
      throw new Error(`the lab answered with status ${page.status}`);
    process.kill(-Number(started.child.pid), 'SIGINT'); // as a terminal does
    await started.closed;
    const stillThere = await fetch(address).then(Boolean, () => false);
    if (stillThere) throw new Error('the lab still answers after Ctrl-C');
  } finally {
    started.stop();
    await started.closed;
  }
}

/**
 * @param {import('./table.js').Row} row
 * @param {import('./runtimes.js').Runtime} runtime
 * @param {import('./managers.js').Manager} manager
 * @param {string[]} tarballs of both packages
 */
async function fillLab(row, runtime, manager, tarballs) {
  const sandbox = new Sandbox(runtime, 'http://127.0.0.1:1');
  try {
    manager.prepare(sandbox);
    writeProject(sandbox.project);
    if (!(await row.cell('install', () => install(sandbox, tarballs)))) return;
    await row.cell('--help', () => help(sandbox));
    await row.cell('bench', () => bench(sandbox));
    await row.cell('lab', () => lab(sandbox));
  } finally {
    sandbox.remove();
  }
}

module.exports = { COLUMNS, fillLab };
