'use strict';
// `npm run packages:sizes`: installs each tarball of build/packages/ into an empty folder and prints what it takes.
const { execFileSync } = require('node:child_process');
const { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const PACKAGES = join(__dirname, '..', '..', 'build', 'packages');

/** The sum of the sizes of the files. @param {string} path @returns {number} */
function bytesIn(path) {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.isFile() ? stats.size : 0;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}

/** @param {string} tarball */
function measure(tarball) {
  const folder = mkdtempSync(join(tmpdir(), 'sizes-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    const npm = (/** @type {string[]} */ ...args) => execFileSync('npm', args, { cwd: folder, encoding: 'utf8' });
    npm('install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', tarball);
    const packages = npm('ls', '--all', '--parseable').trim().split('\n').slice(1);
    const [, name] = /\/([^/]+)-\d[^/]*\.tgz$/.exec(tarball) ?? [];
    const own = bytesIn(join(folder, 'node_modules', name));
    return { name, packed: lstatSync(tarball).size, own, all: bytesIn(join(folder, 'node_modules')), packages };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tarballs = readdirSync(PACKAGES).filter((name) => name.endsWith('.tgz'));
const kb = (/** @type {number} */ bytes) =>
  `${(bytes / 1000).toLocaleString('en-US', { maximumFractionDigits: 0 })} kB`;
console.log(['package', 'packed', 'unpacked', 'with dependencies', 'packages'].map((text) => text.padEnd(18)).join(''));
for (const tarball of tarballs) {
  const { name, packed, own, all, packages } = measure(join(PACKAGES, tarball));
  console.log([name, kb(packed), kb(own), kb(all), String(packages.length)].map((text) => text.padEnd(18)).join(''));
}
