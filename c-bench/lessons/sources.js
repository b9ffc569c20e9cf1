'use strict';
// Prints the C programs of all lessons and pitfalls, for binding.gyp. A folder may have none, and so may all of them.
const { existsSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

const files = ['lessons', 'pitfalls'].flatMap((kind) => {
  const folder = join('c-bench', kind);
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  return entries.filter((path) => /^[^/]+\/[^/]+\.c$/.test(path)).map((path) => join(folder, path));
});
process.stdout.write(files.sort().join(' '));
