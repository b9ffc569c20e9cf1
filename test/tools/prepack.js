'use strict';
// Runs before npm packs: gives the packed files the modes that git records, whatever the umask of the clone was. The tarball
// then holds the same bytes wherever it is made.
const { chmodSync, readFileSync, readdirSync, statSync } = require('node:fs');
const { join } = require('node:path');

const [, , root = join(__dirname, '..', '..')] = process.argv; // or the folder that is packed
const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** @param {string} path */
function setModes(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) for (const name of readdirSync(path)) setModes(join(path, name));
  else if (stats) chmodSync(path, stats.mode & 0o100 ? 0o755 : 0o644);
}

for (const path of ['package.json', 'README.md', 'LICENSE', ...files]) setModes(join(root, path));
