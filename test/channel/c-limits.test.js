'use strict';
// The C library at its limits: every test of test/hostile/c/.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { compile } = require('../hostile/build.js');
const { C_INTERFACE } = require('../native.js');

const folder = mkdtempSync(join(tmpdir(), 'c-limits-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Each program, and the functions that it replaces. @type {[string, string[]][]} */
const programs = [
  ['servers', ['bind', 'poll', 'getpid', 'recvmsg', 'accept4']],
  ['pairs', ['bind', 'poll', 'setsockopt', 'recvmsg']],
  ['waits', ['poll', 'recvmmsg', 'send']],
  ['passed', ['pthread_create', 'memfd_create', 'poll', 'accept4', 'close', 'handshake_peer']],
];

describe.each(programs)('%s.c:', (part, replaced) => {
  const flags = ['-O1', '-Wall', '-Wextra', '-Werror', ...replaced.map((name) => `-Wl,--wrap=${name}`)];
  const program = compile(join(folder, part), [`test/hostile/c/${part}.c`, ...C_INTERFACE], flags);
  const names = spawnSync(program, [], { encoding: 'utf8' }).stdout.trim().split('\n');

  test.each(names)('%s', (name) => {
    const { status, signal, stderr } = spawnSync(program, [name], { encoding: 'utf8' });
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' });
  });
});
