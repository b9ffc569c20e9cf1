'use strict';
// Standard output and error that nobody reads, that are a stopped terminal, or that have been closed: a command ends at the first signal,
// and with its usual status.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { cli, root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'unread-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a failed test would leave running. @type {import('node:child_process').ChildProcess[]} */
const started = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** Starts the command line. @param {string[]} args @param {('ignore' | 'pipe')[]} streams its standard output and error */
function start(args, streams) {
  const child = spawn(process.execPath, [join(root, 'server', 'cli.js'), ...args], { stdio: ['ignore', ...streams] });
  started.push(child);
  return { child, ended: once(child, 'exit') };
}

/** The first bytes are there; the rest of more than a megabyte is not read. @param {import('node:stream').Readable | null} stream */
const begun = (stream) => once(/** @type {import('node:stream').Readable} */ (stream), 'readable');

const CALLS = 'i=0; while [ $i -lt 6000 ]; do i=$((i + 1)); echo $i; done';

describe.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('one %s', (name, status) => {
  const signal = /** @type {NodeJS.Signals} */ (name);

  test('ends `crossings trace pipe` when only its output is left', async () => {
    const { child, ended } = start(['trace', 'pipe', '--messages', '1000'], ['pipe', 'ignore']);
    await begun(child.stdout);
    child.kill(signal);
    expect(await ended).toEqual([status, null]);
  });

  test('ends `crossings trace -- COMMAND` when only its log is left', async () => {
    const { child, ended } = start(['trace', '--', 'sh', '-c', CALLS], ['ignore', 'pipe']);
    await begun(child.stderr);
    child.kill(signal);
    expect(await ended).toEqual([status, null]);
  });
});

test('SIGTERM during a recording ends it, and in the end also a log that nobody reads', async () => {
  const { child, ended } = start(
    ['trace', '--', 'sh', '-c', `(${CALLS}) >/dev/null; echo go; sleep 99`],
    ['pipe', 'pipe'],
  );
  await begun(child.stdout);
  child.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
});

// The last thing that these do is to examine the machine, without looking at the signal.
test.each([[['gates']], [['trace', 'pipe']], [['doctor']]])(
  'a signal near the end of crossings %j sets its status',
  (args) => {
    const preload = join(folder, 'signal.js');
    writeFileSync(
      preload,
      `const os = require('node:os');
    const { cpus } = os;
    os.cpus = () => {
      process.kill(process.pid, 'SIGTERM');
      return cpus();
    };`,
    );
    const { status, stderr } = cli(args, { env: { ...process.env, NODE_OPTIONS: `--require ${preload}` } });
    expect({ status, stderr }).toEqual({ status: 143, stderr: '' });
  },
);

test.each([
  [['no-such-command'], 2],
  [['trace', '--', 'true'], 0],
])('crossings %j ends with its usual status although standard error is closed', async (args, status) => {
  const { child, ended } = start(args, ['ignore', 'pipe']);
  child.stderr?.destroy();
  expect(await ended).toEqual([status, null]);
});

// Starts a lab in a terminal, stops the terminal as Ctrl-S does, makes a request, and prints how the lab ends after a signal.
const LAB_IN_TERMINAL = `
import fcntl, http.client, os, pty, re, subprocess, sys, termios
fds, signal, user, *command = sys.argv[1:]
terminal, end = pty.openpty()
def become_user():
    fcntl.ioctl(end, termios.TIOCSCTTY, 0)
    if user: os.setuid(int(user))
streams = [end if str(fd) in fds else subprocess.PIPE for fd in range(3)]
lab = subprocess.Popen(command, stdin=streams[0], stdout=streams[1], stderr=streams[2], start_new_session=True, preexec_fn=become_user)
text = b''
while b'\\n' not in text: text += os.read(lab.stdout.fileno() if lab.stdout else terminal, 1000)
termios.tcflow(end, termios.TCOOFF)
client = http.client.HTTPConnection('127.0.0.1', int(re.search(rb':(\\d+)/', text)[1]))
client.request('GET', '/nothing')
client.getresponse().read()
lab.send_signal(int(signal))
print(lab.wait())
`;
const hasPython = spawnSync('python3', ['-c', 'import pty; pty.openpty()']).status === 0;
const describeWithPython = hasPython ? describe : describe.skip;
const NOBODY = '65534';

describeWithPython('a lab in a stopped terminal', () => {
  /** @param {string} fds those that are the terminal @param {number} signal @param {string} user '': this one */
  async function endOf(fds, signal, user) {
    const lab = [process.execPath, join(root, 'server', 'cli.js'), 'lab', '--no-open', '--port', '0', '--data', folder];
    const python = spawn('python3', ['-c', LAB_IN_TERMINAL, fds, String(signal), user, ...lab], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(python);
    let output = '';
    for await (const text of python.stdout.setEncoding('utf8')) output += text;
    return Number(output);
  }

  test.each([
    ['012', 2, 130],
    ['012', 15, 143],
    ['2', 15, 143],
  ])('as %s ends at the first signal %i, with status %i', async (fds, signal, status) => {
    expect(await endOf(fds, signal, '')).toBe(status);
  });

  const testAsRoot = process.getuid?.() === 0 ? test : test.skip;
  testAsRoot("ends at the first signal if the terminal is another user's, as after su", async () => {
    expect(await endOf('012', 15, NOBODY)).toBe(143);
  });
});
