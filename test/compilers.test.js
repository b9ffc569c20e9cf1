'use strict';
// The C is clean of warnings with every compiler that is here.
const { spawnSync } = require('node:child_process');
const { readdirSync } = require('node:fs');
const { join } = require('node:path');
const { root } = require('./support.js');

const FLAGS = ['-std=gnu11', '-O2', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror', '-fsyntax-only'];
const generated = join(root, 'build', 'Release', 'obj', 'gen'); // the names of the system calls
const sources = ['native', 'c-bench', 'c-bench/harness', 'c-bench/count', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(folder, name)),
);

const exists = (/** @type {string} */ compiler) => spawnSync(compiler, ['--version']).status === 0;

// The names of system calls are those of the machine that built them, so count.c is left out for another's.
test.each(['cc', 'gcc', 'clang', 'clang-19', 'aarch64-linux-gnu-gcc'])('%s has nothing to warn of', (compiler) => {
  if (!exists(compiler)) {
    console.log(`${compiler} is not installed here: skipped`);
    return;
  }
  const chosen = sources.filter((source) => !compiler.includes('aarch64') || !source.endsWith('count.c'));
  const { status, stderr } = spawnSync(compiler, [...FLAGS, `-I${generated}`, ...chosen], {
    cwd: root,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
