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

// Starts a lab in a terminal, stops the terminal as Ctrl-S does, makes a request, and prints how the lab ends after a signal. `when` is
// "early" if the terminal is stopped before the lab starts, and "port" if the usual port is taken then, too. With `su` "su -c", it is not the lab's controlling terminal.
const LAB_IN_TERMINAL = `
import fcntl, http.client, os, pty, socket, subprocess, sys, termios, time
fds, signal, user, su, when, *command = sys.argv[1:]
terminal, end = pty.openpty()
stop = lambda: termios.tcflow(end, termios.TCOOFF)
def become_user():
    if su != 'su -c': fcntl.ioctl(end, termios.TIOCSCTTY, 0)
    if user: os.setuid(int(user))
if when == 'port':
    usual = socket.socket()
    try: usual.bind(('127.0.0.1', 7411)); usual.listen()
    except OSError: pass # it is taken
else:
    with socket.create_server(('127.0.0.1', 0)) as free: command += ['--port', str(free.getsockname()[1])]
def port_of(pid):
    try: files = [os.readlink(entry.path) for entry in os.scandir(f'/proc/{pid}/fd')]
    except OSError: return None # one was closed meanwhile
    for line in open('/proc/net/tcp'):
        fields = line.split()
        if fields[3] == '0A' and f'socket:[{fields[9]}]' in files: return int(fields[1].split(':')[1], 16) # it listens
streams = [end if str(fd) in fds else subprocess.PIPE for fd in range(3)]
if when: stop()
lab = subprocess.Popen(command, stdin=streams[0], stdout=streams[1], stderr=streams[2],
    start_new_session=True, preexec_fn=become_user)
while not when and b'\\n' not in os.read(lab.stdout.fileno() if lab.stdout else terminal, 1000): pass
stop()
while (port := port_of(lab.pid)) is None: time.sleep(0.05)
client = socket.create_connection(('127.0.0.1', port), 10)
client.send(b'GET /nothing HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n' % port)
try: client.recv(1000)
except TimeoutError: print('no answer')
lab.send_signal(int(signal))
print(lab.wait())
`;
const hasPython = spawnSync('python3', ['-c', 'import pty; pty.openpty()']).status === 0;
const describeWithPython = hasPython ? describe : describe.skip;
const NOBODY = '65534';

describeWithPython('a lab in a stopped terminal', () => {
  /** @param {string} fds those that are the terminal @param {number} signal @param {string[]} how user ('': this one), su, when */
  async function endOf(fds, signal, [user = '', su = '', when = ''] = []) {
    const lab = [process.execPath, join(root, 'server', 'cli.js'), 'lab', '--no-open', '--data', folder];
    const python = spawn('python3', ['-c', LAB_IN_TERMINAL, fds, String(signal), user, su, when, ...lab], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(python);
    let output = '';
    for await (const text of python.stdout.setEncoding('utf8')) output += text;
    return output.trim();
  }

  test.each([
    ['012', 2, '-2'],
    ['012', 15, '-15'],
    ['2', 15, '143'], // the others are pipes
  ])('as %s ends at the first signal %i, with status %s', async (fds, signal, status) => {
    expect(await endOf(fds, signal)).toBe(status);
  });

  test.each(['early', 'port'])('ends at the first signal if the terminal was stopped before (%s)', async (when) => {
    expect(await endOf('012', 15, ['', '', when])).toBe('-15');
  });

  // Where nobody else may open the terminal, a thread of the lab waits for it, and the lab ends by the signal itself.
  const testAsRoot = process.getuid?.() === 0 ? test : test.skip;
  testAsRoot.each([
    ['su', '', '-15'],
    ['su, stopped before', 'early', '-15'],
    ['su -c', '', '-15'],
    ['su -c, stopped before', 'early', '-15'],
    ['su -c, stopped before, the port is taken', 'port', '-15'],
  ])("ends at the first signal if the terminal is another user's, as after %s", async (su, when, status) => {
    expect(await endOf('012', 15, [NOBODY, su.split(',')[0], when])).toBe(status);
  });
});

/** Runs a Python script with a command as its arguments. @param {string} script @param {string[]} args of the command line @param {string[]} first arguments */
function runPython(script, args, first = []) {
  const command = [...first, process.execPath, join(root, 'server', 'cli.js'), ...args];
  const { stdout } = spawnSync('python3', ['-c', script, ...command], { encoding: 'utf8', timeout: 50_000 });
  return stdout.trim();
}

// Starts a lab in a stopped terminal, where it has to say that its port is taken, or that the disk is full, and prints how it ends after a signal.
const FAILING_LAB = `
import os, pty, socket, subprocess, sys, termios, time
what, *command = sys.argv[1:]
terminal, end = pty.openpty()
termios.tcflow(end, termios.TCOOFF)
taken = socket.create_server(('127.0.0.1', 0))
if what == 'port': command += ['--port', str(taken.getsockname()[1])]
full = os.open('/dev/full', os.O_WRONLY)
streams = {'stdin': end, 'stdout': full if what == 'disk' else end, 'stderr': end}
lab = subprocess.Popen(command, start_new_session=True, **streams)
deadline = time.monotonic() + 30
blocked = lambda: 'tty' in open(f'/proc/{lab.pid}/wchan').read() or 'woken' in open(f'/proc/{lab.pid}/wchan').read()
while time.monotonic() < deadline and lab.poll() is None and not blocked(): time.sleep(0.05)
lab.terminate()
try: print(lab.wait(20))
except subprocess.TimeoutExpired:
    lab.kill()
    print('did not end')
`;

(hasPython ? test : test.skip).each(['port', 'disk'])(
  'a lab that fails in a stopped terminal ends at the first signal (%s)',
  (what) => {
    expect(runPython(FAILING_LAB, ['lab', '--no-open', '--data', folder], [what])).toBe('-15');
  },
);

// The pipe is full, and its reader reads nothing. As a shell has made it, its writes wait.
const FULL_PIPE = `
import os, socket, subprocess, sys, time
r, w = os.pipe()
def fill():
    os.set_blocking(w, False)
    try:
        while True: os.write(w, b'x' * 4096)
    except BlockingIOError: pass
    os.set_blocking(w, True)
def end(child):
    child.terminate()
    try: print(child.wait(15))
    except subprocess.TimeoutExpired: print('not ended'); child.kill()
`;

// crossings-lessons had the same standard error, which libuv made blocking for both: the end of the output blocked in write().
(hasPython ? test : test.skip)('SIGTERM ends `crossings pitfall 2>&1` when only its output is left', () => {
  const script = `${FULL_PIPE}
fill()
child = subprocess.Popen(sys.argv[1:], stdout=w, stderr=w)
usage, since = None, time.time()
while time.time() - since < 2: # until it has done nothing for so long
    now = open(f'/proc/{child.pid}/stat').read().split(') ')[1].split()[11:15]
    if now != usage: usage, since = now, time.time()
    time.sleep(0.1)
end(child)`;
  expect(runPython(script, ['pitfall', 'sigpipe'])).toBe('143');
});

// A thread waited for the reader, and Node for the thread. Any program that shares the pipe can make it blocking.
(hasPython ? test : test.skip)('SIGTERM ends a lab whose standard error is a full pipe that blocks', () => {
  const script = `${FULL_PIPE}
lab = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=w)
port = int(lab.stdout.readline().split(b':')[2].split(b'/')[0])
fill()
client = socket.create_connection(('127.0.0.1', port), 10)
client.send(b'GET /nothing HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n' % port)
client.recv(1000)
end(lab)`;
  expect(runPython(script, ['lab', '--no-open', '--port', '0', '--data', folder])).toBe('-15');
});
