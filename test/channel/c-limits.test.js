'use strict';
// Servers in C at their limits: every test of limits.c.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { compile } = require('../hostile/build.js');
const { C_INTERFACE } = require('../native.js');

const folder = mkdtempSync(join(tmpdir(), 'limits-'));
afterAll(() => rmSync(folder, { recursive: true }));

const wrapped = ['bind', 'poll', 'pthread_create', 'getpid', 'recvmmsg', 'send'].map((name) => `-Wl,--wrap=${name}`);
const flags = ['-O1', '-Wall', '-Wextra', '-Werror', ...wrapped];
const program = compile(join(folder, 'limits'), ['test/hostile/limits.c', ...C_INTERFACE], flags);
const names = spawnSync(program, [], { encoding: 'utf8' }).stdout.trim().split('\n');

test.each(names)('%s', (name) => {
  const { status, signal, stderr } = spawnSync(program, [name], { encoding: 'utf8' });
  expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' });
});
