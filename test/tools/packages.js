'use strict';
// `npm run packages`: packs the two packages of this repository into build/packages/. This checkout's package.json, without what
// is for the checkout only, is that of `crossings`, the channel. `crossings-lab`, the measuring and the lab, is put together from
// packages/crossings-lab.json, with versions from this checkout. See docs/packaging.md.
const { execFileSync } = require('node:child_process');
const { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { dirname, join, relative } = require('node:path');

const root = join(__dirname, '..', '..');
const OUTPUT = join(root, 'build', 'packages');

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Copies what exists of a list of files and folders. @param {string[]} paths @param {string} folder */
function copyAll(paths, folder) {
  for (const path of paths) {
    if (path.startsWith('!') || !existsSync(join(root, path))) continue; // npm leaves it out; nothing has been prebuilt
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
}

/**
 * Puts crossings together. Its manifest has no scripts: npm takes `prepare` in a tarball for an install script, and warns.
 * @param {string} folder is replaced
 */
function stageChannel(folder) {
  const { scripts, devDependencies, overrides, ...manifest } = readJson(join(root, 'package.json'));
  rmSync(folder, { recursive: true, force: true });
  copyAll([...manifest.files, 'LICENSE', 'README.md'], folder);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Puts crossings-lab together.
 * @param {string} folder is replaced
 */
function stageLab(folder) {
  const { version, license, engines, repository, author, devDependencies } = readJson(join(root, 'package.json'));
  const lab = readJson(join(__dirname, 'packages', 'crossings-lab.json'));
  const versionOf = (/** @type {string} */ name) => {
    if (devDependencies[name]) return devDependencies[name];
    throw new Error(
      `crossings-lab.json names the dependency ${name}, which is not in devDependencies of package.json.`,
    );
  };
  const dependencies = Object.fromEntries(
    lab.dependencies.map((/** @type {string} */ name) => [name, versionOf(name)]),
  );
  const manifest = { name: lab.name, version, ...lab, license, author, repository, engines, dependencies };

  rmSync(folder, { recursive: true, force: true });
  copyAll(lab.files, folder);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(join(__dirname, 'packages', 'crossings-lab.md'), join(folder, 'README.md'));
}

/**
 * Packs a folder.
 * @param {string} from @param {string} to an existing folder
 * @returns {{path: string, packedBytes: number, unpackedBytes: number, files: string[]}}
 */
function pack(from, to) {
  execFileSync(process.execPath, [join(__dirname, 'prepack.js'), from]); // instead of npm, which would compile as well
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', to];
  const packed = JSON.parse(
    execFileSync('npm', args, { cwd: from, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  const [entry] = Object.values(packed); // npm 11 writes an array, npm 12 an object by name
  const path = join(to, entry.filename);
  const listed = execFileSync('tar', ['-tzf', path], { encoding: 'utf8' }).trim().split('\n'); // npm hides what looks like a key
  const files = listed.map((name) => name.replace(/^package\//, ''));
  return { path, packedBytes: entry.size, unpackedBytes: entry.unpackedSize, files };
}

/** Prebuilt files that the packages should hold and that have not been made: all or nothing is made. */
function missingPrebuilds() {
  const { files } = readJson(join(root, 'package.json'));
  return files.filter((/** @type {string} */ path) => path.endsWith('.node') && !existsSync(join(root, path)));
}

function main() {
  const missing = missingPrebuilds();
  if (missing.length > 0 || !existsSync(join(root, 'build', 'prebuilds', 'linux-x64', 'crossings-bench'))) {
    process.stderr.write('Cannot pack without the prebuilt binaries: run `npm run prebuild`.\n');
    process.exit(1);
  }
  if (process.argv[2] === '--check') return;
  const [channel, lab] = ['crossings', 'crossings-lab'].map((name) => join(OUTPUT, name));
  stageChannel(channel);
  stageLab(lab);
  for (const folder of [channel, lab]) console.log(relative(root, pack(folder, OUTPUT).path));
}

if (require.main === module) main();

module.exports = { pack, stageChannel, stageLab };
