'use strict';
// Output files that are named pipes: a pipe that nobody reads never keeps a command, and what a reader gets is complete.
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { cli, root, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'pipes-'));
afterAll(() => rmSync(folder, { recursive: true }));
const fifo = join(folder, 'fifo');
beforeAll(() => void execFileSync('mkfifo', [fifo]));

const command = join(root, 'server', 'cli.js');
const LARGE = ['trace', 'pipe', '--messages', '300']; // its file has five times what a pipe holds

/** What a failed test would leave running. @type {import('node:child_process').ChildProcess[]} */
const started = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** @param {string} script @param {string[]} args its $1 and so on */
const bash = (script, ...args) =>
  spawnSync('bash', ['-c', `"$0" "$@" ${script}`, process.execPath, command, ...args], { encoding: 'utf8' });

test.each([
  ['gates', '--json'],
  ['trace', 'pipe', '--perfetto'],
  ['bench', '--quick', '--csv'],
])('crossings %s … %s refuses a pipe that nobody has open for reading, before it measures', (...args) => {
  const { status, stdout, stderr } = cli([...args, fifo], { timeout: 20_000, killSignal: 'SIGKILL' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toBe(
    `${args.at(-1)} must be a file that can be written; got "${fifo}": it is a named pipe that no program has open for reading.\n`,
  );
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('if the reader of a pipe does not read, one %s ends the command with status %i', async (signal, status) => {
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = spawn(process.execPath, [command, ...LARGE, '--json', fifo], { stdio: 'ignore' });
  started.push(child);
  const ended = once(child, 'exit');
  await until(() => {
    try {
      return readSync(reader, Buffer.alloc(1)) === 1; // it has begun to write
    } catch {
      return false;
    }
  });
  child.kill(/** @type {NodeJS.Signals} */ (signal));
  expect(await ended).toEqual([status, null]);
  closeSync(reader);
});

test('a slow reader gets the whole file, from a pipe of the shell and from one with a name', () => {
  const [one, two] = ['one', 'two'].map((name) => join(folder, name));
  const script = `--json >(sleep 0.5; cat >${one}) --perfetto ${fifo}`;
  const { stderr } = bash(`${script} & (sleep 0.5; cat) <${fifo} >${two}; wait $!; echo $? >&2`, ...LARGE);
  expect(stderr).toBe('0\n');
  expect(JSON.parse(readFileSync(one, 'utf8')).parameters.messages).toBe(300);
  expect(JSON.parse(readFileSync(two, 'utf8')).traceEvents.length).toBeGreaterThan(300);
});

test('/dev/stdout: the file comes first, then the log', () => {
  const { stdout, status } = bash('--json /dev/stdout | (sleep 0.5; cat)', ...LARGE);
  expect(status).toBe(0);
  const end = stdout.indexOf('\n}\n');
  expect(JSON.parse(stdout.slice(0, end + 2)).parameters.messages).toBe(300);
  expect(stdout.slice(end)).toContain('Wrote /dev/stdout.');
});

test('two files in the same pipe are one after the other', () => {
  const { stdout } = bash(`--json ${fifo} --perfetto ${fifo} >/dev/null & cat ${fifo}; wait`, 'trace', 'pipe');
  const end = stdout.indexOf('\n}\n');
  expect(JSON.parse(stdout.slice(0, end + 2)).mechanism).toBe('pipe');
  expect(JSON.parse(stdout.slice(end + 3)).traceEvents).toEqual(expect.any(Array));
});

test('a reader that closes the pipe too early is an error', () => {
  const { stdout, stderr } = bash(`--json ${fifo} >/dev/null & head -c 10 ${fifo}; wait $!; echo $?`, ...LARGE);
  expect(stdout).toMatch(/1\n$/);
  expect(stderr).toBe(`Cannot write ${fifo}: its reader has closed the pipe (ERR_WRITE)\n`);
});

test('a socket is refused before anything is measured', () => {
  const { status, stderr } = cli(['gates', '--json', '/dev/stdout']); // Node gives its child a socket
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: '--json must be a file that can be written; got "/dev/stdout": it is a socket.\n',
  });
});
