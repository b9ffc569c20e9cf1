'use strict';
// A plugin that contains the C library stays in memory when its program calls dlclose(), since a thread of the library may be in it.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'stay-loaded-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** @param {string} name @param {string[]} args @returns {string} the path of what was compiled */
function compile(name, args) {
  const path = join(folder, name);
  const words = ['-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror', '-Wl,--fatal-warnings', '-O2', '-o', path, ...args];
  const { status, stderr } = spawnSync('cc', [...words, '-pthread', '-ldl'], { cwd: root, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return path;
}

/** @param {string} program @param {string[]} args */
const outputOf = (program, args) => spawnSync(program, args, { cwd: folder, encoding: 'utf8' }).stdout;

test('a plugin stays loaded, also one that was loaded by a relative path', () => {
  const plugin = compile('plugin.so', ['-shared', '-fPIC', 'native/stay-loaded.c']);
  const program = compile('program', ['test/stay-loaded.c']);
  expect(outputOf(program, [plugin, 'leave'])).toBe('unloaded\n');
  expect(outputOf(program, [plugin, 'stay'])).toBe('loaded\n');
  expect(outputOf(program, ['./plugin.so', 'stay'])).toBe('loaded\n');
});

test('a static program is linked without a warning, and works', () => {
  const program = compile('static', ['-static', '-DSTATIC', 'test/stay-loaded.c', 'native/stay-loaded.c']);
  expect(outputOf(program, [])).toBe('returned\n');
});
