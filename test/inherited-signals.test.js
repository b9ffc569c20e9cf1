'use strict';
// Programs that a daemon or a script has started with signals ignored, or with children, which exec() keeps: they end, and with the usual result.
const { spawnSync } = require('node:child_process');
const { built, eventsOf, ourProcesses, start, until } = require('./support.js');

const SHORT = ['--messages', '1000'];

/** The command, started with a signal ignored (a shell cannot ignore SIGCHLD). @param {string} signal @param {string} program @param {string[]} args */
const ignoring = (signal, program, args) => [`--ignore-signal=${signal}`, built(program), ...args];
const canIgnore = spawnSync('env', ['--ignore-signal=CHLD', 'true']).status === 0; // GNU coreutils 8.31

(canIgnore ? test : test.skip).each([
  ['crossings-bench', ['--mechanism', 'pipe', ...SHORT, '--round-trips', '0'], 'end'],
  ['crossings-count', ['true'], 'crossings'],
  ['crossings-count', ['--method', 'ptrace', 'true'], 'crossings'],
  ['crossings-demo', ['pipe', '--trace'], 'gone'],
  ['crossings-gates', [], 'attempt'],
  ['crossings-lessons', ['--confine', '--', '01-kernel/calls'], 'ended'],
  ['crossings-prove', ['--proof', 'c-ring', ...SHORT], 'proof'],
  ['crossings-sweep', ['--total', '65536', 'pipe:process:default:4096'], 'end'],
  ['crossings-trace', ['--', 'true'], 'end'],
])('with SIGCHLD ignored, %s %j succeeds', (program, args, type) => {
  // One that looked for the end of a child forever would be killed: status null.
  const result = spawnSync('env', ignoring('CHLD', program, args), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    timeout: 30_000,
  });
  expect({ status: result.status, stderr: result.stderr }).toEqual({ status: 0, stderr: '' });
  expect(eventsOf(result.stdout || String(result.output[3])).at(-1)?.type).toBe(type);
});

(canIgnore ? test : test.skip)(
  'with SIGTERM ignored, the processes of crossings-bench end when it is killed',
  async () => {
    const words = ['--mechanism', 'pipe', '--messages', '1000000000', '--round-trips', '0'];
    const bench = start('env', ignoring('TERM', 'crossings-bench', words));
    await until(() => ourProcesses().length === 4);
    bench.kill('SIGKILL');
    await until(() => ourProcesses().length === 0);
  },
);

// They waited for those, too.
test.each([
  ['crossings-demo', ['--messages', '10', 'pipe']],
  ['crossings-demo', ['--trace', 'ring']],
  ['crossings-prove', ['--proof', 'c-ring', ...SHORT]],
])('with a child that a shell had started before its exec(), %s %j ends', (program, args) => {
  const words = ['-c', 'sleep 60 & echo $! >&2; exec "$@"', 'sh', built(program), ...args];
  const { status, signal, stderr } = spawnSync('sh', words, {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 40_000,
  });
  expect(signal).toBe(null);
  expect(status).not.toBe(2);
  process.kill(Number.parseInt(stderr, 10));
});
