'use strict';
// `crossings trace -- COMMAND` of programs that reach a limit or that try to: of what the kernel tells about them, of the
// recording, and of the memory of the recorder.
const { spawnSync } = require('node:child_process');
const { openSync } = require('node:fs');
const { recordProgram } = require('../lib/trace/program/record.js');
const { built, run } = require('./support.js');

const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const nowhere = openSync('/dev/null', 'r+');

/** Records a program without output. @param {string[]} command @param {object} [more] */
const record = (command, more = {}) =>
  recordProgram({ command, spawn: { stdio: [nowhere, nowhere, nowhere, 'pipe'] }, ...more });

// /proc/PID/status lists the groups before the signals and the switches, which the tracer needs.
const groups = Array.from({ length: 1500 }, (_, i) => 100_001 + i).join(',');
const canHaveGroups = spawnSync('setpriv', ['--groups', groups, 'true']).status === 0;
(allowed && canHaveGroups ? test : test.skip)('a member of 1,500 groups is recorded like any other', async () => {
  const trace = await record(['setpriv', '--groups', groups, built('crossings-hang'), 'wait-for-child']);
  expect(trace.stuck?.waits.map(({ call }) => call)).toEqual(['wait4', 'read']);
  const pipeline = await record(['setpriv', '--groups', groups, 'sh', '-c', 'sleep 0.1']);
  const wait = pipeline.events.find(({ name }) => name === 'wait4');
  expect(wait?.sleeps).toBeGreaterThan(0);
});
