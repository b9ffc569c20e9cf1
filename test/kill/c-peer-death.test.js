'use strict';
// The death of a peer, as a C program sees it: every test of death-test.c.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { C_INTERFACE } = require('../native.js');
const { root } = require('../support.js');

const folder = mkdtempSync(join(tmpdir(), 'death-'));
afterAll(() => rmSync(folder, { recursive: true }));

const program = join(folder, 'death-test');
const sources = ['test/kill/death-test.c', ...C_INTERFACE];
const flags = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-Wall', '-Wextra', '-Werror'];
const { status, stderr } = spawnSync(process.env.CC || 'cc', [...flags, '-o', program, ...sources], {
  cwd: root,
  encoding: 'utf8',
});
if (status !== 0) throw new Error(stderr);

const names = spawnSync(program, [], { encoding: 'utf8' }).stdout.trim().split('\n');

test.each(names)('%s', (name) => {
  const result = spawnSync(program, [name], { encoding: 'utf8' });
  expect({ status: result.status, stderr: result.stderr }).toEqual({ status: 0, stderr: '' });
});
