'use strict';
// Running programs: their output is checked, and every failure is reported as an error with a code.
const {
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const { spawnSync } = require('node:child_process');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { eventOf } = require('../lib/measure/programs.js');
const { built, eventsOf, root } = require('./support.js');

// A copy of lib/ that runs a fake program.
const folder = mkdtempSync(join(tmpdir(), 'programs-'));
afterAll(() => rmSync(folder, { recursive: true }));
cpSync(join(root, 'lib'), join(folder, 'lib'), { recursive: true });
copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
mkdirSync(join(folder, 'build', 'Release'), { recursive: true });

/** Runs a fake program. Returns the code and the message of the error. @param {string} script @param {number} [mode] @param {object} [control] */
function failing(script, mode = 0o755, control = {}) {
  const program = join(folder, 'build', 'Release', 'crossings-bench');
  writeFileSync(program, script);
  chmodSync(program, mode);
  const code = `require(${JSON.stringify(join(folder, 'lib/measure/programs.js'))}).runProgram('crossings-bench', [], ${JSON.stringify(control)})
    .then((events) => console.log(JSON.stringify({ events })), ({ code, message }) => console.log(JSON.stringify({ code, message })));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8', timeout: 20_000 });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('a program that is killed in the middle of a line is reported as killed', () => {
  expect(failing('#!/bin/sh\nprintf \'{"type":\'; kill -9 $$\n')).toEqual({
    code: 'ERR_CHILD_DIED',
    message: 'crossings-bench was killed by SIGKILL',
  });
});

test('a line that is not JSON is reported', () => {
  const { code, message } = failing('#!/bin/sh\necho noise\n');
  expect([code, message]).toEqual(['ERR_PROGRAM', 'crossings-bench printed a line that is not JSON: noise']);
});

test.each([
  ['bench', '--list'],
  ['bench', '--mechanism', 'pipe', '--messages', '1000', '--round-trips', '0'],
  ['count', 'true'],
  ['demo', 'pipe'],
  ['gates'],
  ['lessons', '--list'],
  ['lessons', '--help'],
  ['lessons', '--confine', '01-kernel/calls'],
  ['prove', '--list'],
  ['sweep', '--help'],
  ['trace', '--help'],
])('crossings-%s … whose output is lost says so, and fails', (name, ...args) => {
  const full = openSync('/dev/full', 'w');
  const stdio = /** @type {import('node:child_process').StdioOptions} */ (['ignore', full, 'pipe']);
  const { status, stderr } = spawnSync(built(`crossings-${name}`), args, { stdio, encoding: 'utf8' });
  closeSync(full);
  const sentence = 'Cannot write all results to standard output: No space left on device\n';
  expect({ status, stderr }).toEqual({ status: 1, stderr: sentence });
});

// The results were written into a sealed memfd, which had got the number 1. It might have been a socket or a file.
test('a program that starts without standard output says so, and fails', () => {
  const options = /** @type {const} */ ({ encoding: 'utf8', timeout: 20_000 });
  const { status, stderr } = spawnSync('sh', ['-c', 'exec "$1" 0>&- 1>&-', 'sh', built('crossings-gates')], options);
  const sentence = 'Cannot write all results to standard output: Bad file descriptor\n';
  expect({ status, stderr }).toEqual({ status: 1, stderr: sentence });
});

test('a program that cannot be started is reported', () => {
  const { code, message } = failing('#!/no/such/shell\n');
  expect(code).toBe('ERR_PROGRAM');
  expect(message).toMatch(/^Cannot run crossings-bench: /);
});

// spawn() throws for this reason and for most others; for the one above, it emits an error.
test('a program that the system refuses to start is reported', () => {
  const name = JSON.stringify(built('crossings-bench'));
  const lines = `
    const { runProgram, startProgram } = require(${JSON.stringify(join(root, 'lib/measure/programs.js'))});
    const words = ['x'.repeat(1 << 20)]; // one argument may have 128 KiB
    const say = ({ code, message }) => console.log(JSON.stringify({ code, message }));
    runProgram(${name}, words).catch(say);
    try { startProgram(${name}, words, () => {}); } catch (error) { say(error); }`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', lines], { encoding: 'utf8' });
  const refused = { code: 'ERR_PROGRAM', message: `Cannot run ${built('crossings-bench')}: argument list too long` };
  expect([eventsOf(stdout), stderr]).toEqual([[refused, refused], '']);
});

test('a program that something has stopped is ended when its time is over', () => {
  expect(failing('#!/bin/sh\nkill -STOP $$\n', 0o755, { limitMs: 300 })).toEqual({
    code: 'ERR_STALLED',
    message: 'timed out after 0.3 s',
  });
});

// For example the process that guards a lesson's program, if it was stopped and then its parent was killed.
test('a process that a program has left behind, with its pipes, is not waited for', () => {
  const left = join(folder, 'left');
  const { events } = failing(`#!/bin/sh\nsetsid sleep 1000 &\necho $! > ${left}\necho '{"type":"done"}'\n`);
  process.kill(Number(readFileSync(left, 'utf8')), 'SIGKILL');
  expect(events).toEqual([{ type: 'done' }]);
});

test.each([
  ['throughput', { messagesPerSecond: 0 }, 'messagesPerSecond above 0 in a "throughput" line from the program; got 0'],
  [
    'throughput',
    { messagesPerSecond: null },
    'messagesPerSecond above 0 in a "throughput" line from the program; got null',
  ],
  ['roundTrip', { elapsedNs: 0, ns: { p50: 0 } }, 'elapsedNs above 0 in a "roundTrip" line from the program; got 0'],
])('a "%s" line that no measurement yields is refused: %p', (type, figures, problem) => {
  expect(() => eventOf([{ type, ...figures }], type)).toThrow(
    expect.objectContaining({ code: 'ERR_PROGRAM', message: `Expected ${problem}` }),
  );
});
