'use strict';
// npm run test:matrix: packs the packages, installs them under every runtime and package manager, and uses them there.
const { execFileSync } = require('node:child_process');
const { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');
const { parseArgs } = require('node:util');
const { root } = require('../support.js');
const { pack: packFolder, stageChannel, stageLab } = require('../tools/packages.js');
const { runMatrix } = require('./matrix.js');
const { startRegistry } = require('./registry.js');
const { count, render } = require('./table.js');

const HELP = `npm run test:matrix -- [--only WORDS]... [--short] [--json FILE] [--tarball FILE] [--jobs N]

Installs the package under every runtime and package manager, uses it there, and lets every two runtimes talk.
Exits with 1 if anything failed.

  --only WORDS     only rows that contain these words, such as "bun", "node 22, pnpm" or "node 22 ← deno"
  --short          this Node with this machine's npm; in CI the other runtimes, too
  --json FILE      also write the result as JSON
  --tarball FILE   test this tarball instead of packing the checkout
  --jobs N         rows at the same time (default 2)
`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      short: { type: 'boolean', default: false },
      json: { type: 'string' },
      tarball: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      help: { type: 'boolean', default: false },
    },
  });
  const words = /** @type {string[]} */ (values.only).map((each) => each.toLowerCase());
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1) throw new Error(`--jobs must be a positive integer; got ${values.jobs}`);
  /** @param {string} row */
  const wanted = (row) => words.length === 0 || words.some((word) => row.toLowerCase().includes(word));
  return { ...values, wanted, jobs };
}

/**
 * Packs the channel as `npm run packages` does. A checkout without the addons that `npm run prebuild` makes gets the one that
 * it has compiled itself, which works with this machine's C library only.
 * @param {string} folder @returns {string} the tarball
 */
function pack(folder) {
  const staged = join(folder, 'crossings');
  stageChannel(staged);
  const { path: tarball } = packFolder(staged, folder);
  const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' });
  if (files.includes('/crossings.node')) return tarball;
  console.error('The package has no addon (npm run prebuild makes them): the one that is compiled here is added.');
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const addon = join('build', 'Release', 'crossings.node');
  cpSync(join(root, addon), join(folder, 'package', addon));
  execFileSync('tar', ['-czf', tarball, '-C', folder, 'package']);
  return tarball;
}

/**
 * Puts crossings-lab together, and packs it.
 * @param {string} folder @param {string} tarball of crossings
 * @returns {string[] | string} both tarballs, or a sentence
 */
function packLab(folder, tarball) {
  const programs = join(root, 'build', 'prebuilds', `linux-${process.arch}`, 'crossings-bench');
  if (!existsSync(programs)) return 'The package would have no programs: `npm run prebuild` makes them.';
  const staged = join(folder, 'crossings-lab');
  stageLab(staged);
  return [tarball, packFolder(staged, folder).path];
}

/** Compiles a user's C program from the C files in the package. @param {string} folder @param {string} tarball */
function compilePeer(folder, tarball) {
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const native = join(folder, 'package', 'native');
  const sources = readdirSync(native).filter((name) => name.endsWith('.c'));
  const peer = join(folder, 'peer');
  const args = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-pthread', '-I', native, '-o', peer];
  const files = [join(__dirname, 'consumer', 'peer.c'), ...sources.map((name) => join(native, name))];
  execFileSync(process.env.CC || 'cc', [...args, ...files], { stdio: 'inherit' });
  return peer;
}

/** @param {string} text */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

async function main() {
  const options = readArguments();
  if (options.help) return process.stdout.write(HELP);
  const folder = mkdtempSync(join(tmpdir(), 'matrix-'));
  const packed = join(folder, 'packed');
  try {
    mkdirSync(packed);
    const tarball = options.tarball ? resolve(options.tarball) : pack(packed);
    const registry = await startRegistry([tarball]);
    const mayDownload = !options.short || Boolean(process.env.CI);
    const cPeer = compilePeer(folder, tarball);
    const labTarballs = options.short ? '' : packLab(folder, tarball);
    const prepared = { registry: registry.address, labTarballs, cPeer };
    const tables = await runMatrix({ ...options, ...prepared, mayDownload, progress });
    registry.close();
    const counts = count(tables);
    for (const table of tables) if (table.rows.length > 0) console.log(`${render(table)}\n`);
    console.log(`${counts.ok} ✓, ${counts.says} say why not, ${counts.failed} failed, ${counts.skipped} skipped`);
    if (options.json) {
      const result = { schema: 'crossings/matrix/1', ranAt: new Date().toISOString(), counts, tables };
      writeFileSync(options.json, `${JSON.stringify(result, null, 1)}\n`);
    }
    process.exitCode = counts.failed > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main();
