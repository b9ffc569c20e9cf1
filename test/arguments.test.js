'use strict';
const { spawnSync } = require('node:child_process');
const { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { cli, cliEach, leftovers, root, run, untilNothingIsLeft } = require('./support.js');

/** One line, and nothing else. @param {string} text */
const isOneSentence = (text) => /^[A-Z-][^\n]*[.'"]\n$/.test(text);

describe('invalid arguments end with exit status 2 and one line that names what was expected and what was given:', () => {
  /** @type {[string[], string, string][]} */
  const refused = [
    [['bench', '--size', '0'], '"0"', '8 to 16777216 bytes'],
    [['bench', '--size', '3GB'], '"3GB"', '8 to 16777216 bytes'],
    [['bench', '--size', '7'], '"7"', '8 to 16777216 bytes'],
    [['bench', '--size', '-64'], '"-64"', '8 to 16777216 bytes'],
    [['bench', '--size', '6.4'], '"6.4"', '8 to 16777216 bytes'],
    [['bench', '--size', '17MiB'], '"17MiB"', '8 to 16777216 bytes'],
    [['bench', '--size', '1e3'], '"1e3"', '8 to 16777216 bytes'],
    [['bench', '--messages', '-1'], '"-1"', '1 to 1000000000'],
    [['bench', '--messages', '0'], '"0"', '1 to 1000000000'],
    [['bench', '--messages', 'many'], '"many"', '1 to 1000000000'],
    [['bench', '--messages', '99999999999999999999'], '"99999999999999999999"', '1 to 1000000000'],
    [['bench', '--mechanism', 'pipes'], '"pipes"', 'ring, shm-spin, shm-sem, pipe, uds, tcp'],
    [['bench', '--mechanism', 'pipe,'], '""', 'ring, shm-spin, shm-sem, pipe, uds, tcp'],
    [['bench', '--batch', '0'], '"0"', '1 to 1024'],
    [['bench', '--cores', '0'], '"0"', 'two core numbers'],
    [['bench', '--cores', '0,9999'], '"0,9999"', 'cores that this process may use'],
    [['bench', '--cores', '0,1', '--no-pin'], '--no-pin', 'together'],
    [['bench', '--placement', 'here'], '"here"', 'same, cross, free'],
    [['bench', '--placement', 'same', '--no-pin'], '--no-pin', '--placement same'],
    [['bench', '--placement', 'free', '--cores', '0,1'], '--cores', '--placement free'],
    [['bench', '--placement', 'cross', '--cores', '0,0'], '0,0', 'two different cores'],
    [['bill'], 'MECHANISM is missing', 'pipe, uds, tcp, shm-sem, ring, or all'],
    [['bill', 'pipes'], '"pipes"', 'pipe, uds, tcp, shm-sem, ring'],
    [['bill', 'pipe', 'uds'], '"uds"', '`npx crossings-lab bill --help`'],
    [['bill', 'pipe', '--size', '16385'], '"16385"', '8 to 16384'],
    [['bill', 'pipe', '--no-pin'], '--no-pin', '--cores A,B'],
    [['bill', 'pipe', '--placement', 'same'], '--placement same', '--cores A,B'],
    [['bill', 'pipe', '--cores', '0,9999'], '"0,9999"', 'cores that this process may use'],
    [['bench', '--quick', '--thorough'], '--quick', 'together'],
    [['bench', '--count', 'guess'], '"guess"', 'auto, tracepoint or ptrace'],
    [['bench', '--json', '/nowhere/at/all.json'], '/nowhere/at/all.json', 'folder'],
    [['bench', '--csv', '/'], '/', 'folder'],
    [['bench', '--fast'], '--fast', '`npx crossings-lab bench --help`'],
    [['bench', 'everything'], '"everything"', '`npx crossings-lab bench --help`'],
    [['bench', 'node', 'x'], '"x"', '`npx crossings-lab bench node --help`'],
    [['bench', '--json'], '--json', '--json <file>'],
    [['trace', '--timeout', '5', 'pipe'], '--timeout', '`trace --timeout <seconds> -- node app.js`'],
    [['trace', '--no-lines', 'pipe'], '--no-lines', 'a command'],
    [['trace', '--no-payloads', 'pipe'], '--no-payloads', 'a command'],
    [['trace', '--messages', '5', '--', 'true'], '--messages', 'a mechanism'],
    [['lesson', '--try', '1'], '--try', 'requires a lesson'],
    [['lab', '--data', ''], '""', 'empty'],
    [['bench', '--json', 'x', '--csv', './x'], './x', '--json and --csv'],
    [['sweep', '--json', 'x', '--csv', './x'], './x', '--json and --csv'],
    [['bench', '--against', ''], '""', 'a built checkout of crossings'],
    [['bench', '--against', '/dev/null'], '/dev/null', 'it is not a folder'],
    [['prove', '--disassembly', '--messages', '4'], '--messages', '--disassembly'],
    [['sweep', '--total', '100', '--sizes', '64,4KiB'], '"100"', '4096 bytes'],
    [['bench', '--pairs', '3'], '--pairs', '--self-test'],
    [['bench', '--placement', 'same', '--cores', '0,1'], '0,1', 'the same core twice'],
    [['bunch'], "'bunch'", 'bench'],
    [[], 'Missing command', '--help'],
  ];
  const outcomes = cliEach(refused.map(([args]) => args));

  test.each(refused.map((row, index) => /** @type {const} */ ([...row, outcomes[index]])))(
    '%j',
    (_, value, accepted, outcome) => {
      const { status, stdout, stderr } = outcome;
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(isOneSentence(stderr)).toBe(true);
      expect(stderr).toContain(value);
      expect(stderr).toContain(accepted);
    },
  );

  test('--realtime where two spinning processes would stop the machine', () => {
    const { status, stderr } = cli(['bench', '--realtime', '--cores', '0,0']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/two different cores\.\n$/);
  });
});

test('a refused run leaves nothing behind, not even an empty file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refused-'));
  const before = leftovers();
  try {
    expect(cli(['bench', '--json', join(folder, 'run.json'), '--mechanism', 'pipes']).status).toBe(2);
    expect(readdirSync(folder)).toEqual([]);
    await untilNothingIsLeft(before);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

// Root may write everywhere.
if (process.getuid?.() !== 0) {
  test('a folder without permission is refused', () => {
    const folder = mkdtempSync(join(tmpdir(), 'refused-'));
    chmodSync(folder, 0o500);
    expect(cli(['bench', '--json', join(folder, 'run.json')])).toMatchObject({ status: 2 });
    rmSync(folder, { recursive: true });
  });
}

test('an existing file is kept when the run is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'refused-'));
  const file = join(folder, 'run.json');
  writeFileSync(file, 'mine');
  expect(cli(['bench', '--json', file, '--size', '0']).status).toBe(2);
  expect(readFileSync(file, 'utf8')).toBe('mine');
  rmSync(folder, { recursive: true });
});

describe('crossings-bench, used alone, refuses in the same way', () => {
  test.each([
    [['--mechanism', 'pipes'], '"pipes"'],
    [['--mechanism', 'pipe', '--size', '0'], '"0"'],
    [['--mechanism', 'pipe', '--size', '64x'], '"64x"'],
    [['--mechanism', 'pipe', '--messages', '-1'], '"-1"'],
    [['--mechanism', 'pipe', '--cores', '0;1'], '"0;1"'],
    [['--mechanism', 'pipe', '--stall-ms', ''], '""'],
    [['--mechanism', 'pipe', '--rate', '0'], '"0"'],
    [['--mechanism', 'pipe', '--warm-up', '-1'], '"-1"'],
    [['--mechanism', 'dgram', '--size', '65537'], '65537'],
    [['--mechanism', 'pipe', 'more'], '"more"'],
    [[], '--mechanism is missing'],
    [['--mechanism', 'ring', '--poll'], '--poll'],
    [['--mechanism', 'ring', '--messages', '0', '--alone'], '--alone'],
    [['--mechanism', 'pipe', '--alone'], '--messages 0'],
    [['--mechanism', 'pipe', '--messages', '0', '--alone', '--size', '16385'], '16384'],
    [['--mechanism', 'pipe', '--keep-awake', '--no-pin'], '--keep-awake'],
  ])('%j', (args, named) => {
    const { status, stdout, stderr } = run('crossings-bench', args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(named);
    expect(isOneSentence(stderr)).toBe(true);
  });
});

test.each(['--help', 'bench --help', 'doctor --help', '--version'])('crossings %s succeeds', (args) => {
  expect(cli(args.split(' '))).toMatchObject({ status: 0, stderr: '' });
});

/** Runs a line of the shell that starts the command line as "$@". @param {string} line @param {string[]} args */
const inShell = (line, args) =>
  spawnSync('sh', ['-c', line, 'sh', process.execPath, join(root, 'server/cli.js'), ...args], { encoding: 'utf8' });

test.each([['doctor'], ['trace', '--', 'true'], ['lab']])('%j in a folder that was removed is refused', (...args) => {
  const folder = mkdtempSync(join(tmpdir(), 'removed-'));
  const { status, stderr } = inShell(`cd '${folder}' && rmdir '${folder}' && "$@"`, args);
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'The current folder no longer exists. Change to another one.\n',
  });
});

test('too few descriptors for a program are named', () => {
  const { status, stderr } = inShell('ulimit -n 20; "$@"', ['trace', '--', 'true']);
  expect(stderr).toMatch(/^Cannot run crossings-(trace|bench): too many open files \(ERR_PROGRAM\)\n$/); // Nodes need more or fewer
  expect(status).toBe(1);
});
