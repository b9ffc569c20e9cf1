'use strict';
// A run of a lesson or pitfall may be killed at any moment, even its first: its temporary folder is removed.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdirSync, mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { built, ourProcesses, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'killed-room-'));
const library = join(folder, 'killed-room.so');
const rooms = join(folder, 'rooms');
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => {
  mkdirSync(rooms);
  const words = ['-shared', '-fPIC', '-o', library, join(__dirname, 'killed-room.c'), '-ldl'];
  const { status, stderr } = spawnSync('cc', words, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test.each([
  ['all processes of its group are killed, as when a run is canceled,', 'group', []],
  ['all processes of its group are killed, as when a run is canceled,', 'group', ['--no-namespaces']],
  ['the process is killed that has made it', 'maker', []],
])('the folder is removed if %s in the moment when it exists (%s, %j)', async (_, killed, options) => {
  const env = { ...process.env, TMPDIR: rooms, LD_PRELOAD: library, KILLED: killed };
  const args = ['--confine', ...options, '--', '01-kernel/calls'];
  const child = spawn(built('crossings-lessons'), args, { detached: true, env });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  child.stdout.resume();
  await once(child, 'close');
  expect(text).toMatch(/^The folder exists\.\n/);
  await until(() => readdirSync(rooms).length === 0 && ourProcesses().length === 0);
});
