'use strict';
// The guard of a confined program keeps the time limit even if nobody reads its output. It ends all of the program's processes, and no
// others.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { chmodSync, copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { built, eventsOf, until } = require('./support.js');

const lessons = built('crossings-lessons');
/** @param {string} command */
const succeeds = (command) => spawnSync('sh', ['-c', command]).status === 0;
/** @param {string} pid */
function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').slice(0, -1).split('\0').join(' ');
  } catch {
    return ''; // it has ended
  }
}

/** The ids of the processes with this command line. @param {string} command */
const running = (command) => readdirSync('/proc').filter((pid) => Number(pid) > 0 && commandOf(pid) === command);

/** @param {any[]} events @param {string} type */
const of = (events, type) => events.filter((event) => event.type === type);

let sleeps = 0;
/** A command that no other test runs. */
const sleepOfOwn = () => `sleep 60.${process.pid}${sleeps++}`;

const quick = /** @type {const} */ ({ encoding: 'utf8', timeout: 20_000, killSignal: 'SIGKILL' });

describe('output that nobody reads:', () => {
  const flood = 'while :; do echo 0123456789012345678901234567890123456789; done';
  // Python closes no descriptor that it passes on, and reads nothing.
  const unread = (/** @type {string} */ streams, /** @type {string} */ before = '') => `
import os, signal, subprocess, sys
r, w = os.pipe()
${before}
child = subprocess.Popen(sys.argv[1:], ${streams})
os.close(w)
try: print('status', child.wait(15))
except subprocess.TimeoutExpired: print('not ended'); child.kill()`;
  const fill = `
os.set_blocking(w, False)
try:
    while True: os.write(w, b'x' * 4096)
except BlockingIOError: os.set_blocking(w, True)`;
  const block = 'signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])';

  // In each case, the guard was blocked in a write for ever.
  test.each([
    ['the pipe is full before the program begins', unread('stdout=w, stderr=subprocess.DEVNULL', fill)],
    ['standard error is the same pipe', unread('stdout=w, stderr=w')],
    ['SIGALRM is blocked', unread('stdout=w, stderr=subprocess.DEVNULL', block)],
  ])('the limit is kept if %s', (_, script) => {
    const args = [lessons, '--confine', '--no-namespaces', '--limit-ms', '300', '--exec', '--', 'sh', '-c', flood];
    const { stdout } = spawnSync('python3', ['-c', script, ...args], quick);
    expect(stdout).toBe('status 1\n');
  });

  // It went on until its limit.
  test('the guard ends with the process that has started it', async () => {
    const mine = sleepOfOwn();
    const args = ['--confine', '--no-namespaces', '--limit-ms', '60000', '--exec', '--', 'sh', '-c', `${mine} & yes`];
    const child = spawn(lessons, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'readable');
    await until(() => running(mine).length > 0);
    await pause(300); // the pipe is full by now
    child.kill('SIGKILL');
    await until(() => running(mine).length === 0);
  });
});

/**
 * Runs a confined program whose guard could be blocked for ever: then its processes are killed, and so it goes on.
 * @param {string[]} args @param {string} mine part of the program's command line
 */
async function runAndEnd(args, mine) {
  const child = spawn(lessons, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  const ended = once(child, 'close');
  await Promise.race([ended, pause(20_000, undefined, { ref: false })]);
  const isMine = (/** @type {string} */ command) => command.includes(mine) && !command.includes('--confine');
  const left = readdirSync('/proc').filter((pid) => Number(pid) > 0 && isMine(commandOf(pid)));
  for (const pid of left) process.kill(Number(pid), 'SIGKILL');
  expect(left).toEqual([]);
  const [status] = await ended;
  return { status, stdout };
}

// The guard was blocked in read(). No signal ended that, so this test does not wait for it.
test.each(['1', '2'])('the limit is kept if the program locks its output %s in splice()', async (fd) => {
  const mine = sleepOfOwn();
  const program = `
import os, socket, sys
silent, other = socket.socketpair()
for fd in 1, 2: os.write(fd, b'line\\n' * 6000)
try: os.splice(silent.fileno(), int(sys.argv[1]), 100)
except (OSError, AttributeError): os.execlp('sh', 'sh', '-c', sys.argv[2])`; // no pipe, no splice()
  const args = [
    '--confine',
    '--no-namespaces',
    '--limit-ms',
    '500',
    '--exec',
    '--',
    'python3',
    '-c',
    program,
    fd,
    mine,
  ];
  const { status, stdout } = await runAndEnd(args, mine);
  expect(status).toBe(0);
  expect(of(eventsOf(stdout), 'ended')).toEqual([expect.objectContaining({ how: 'limit', limit: 'time' })]);
});

// Node does not wait for a pipe at its end. A socket in its place took fewer than three hundred lines.
test('a program in Node that exits after a thousand lines loses none', () => {
  const program = "for (let i = 0; i < 1000; i++) process.stdout.write('line\\n'); process.exit();";
  const args = ['--confine', '--no-namespaces', '--exec', '--', process.execPath, '-e', program];
  const { stdout } = spawnSync(lessons, args, quick);
  expect(of(eventsOf(stdout), 'output')).toHaveLength(1000);
});

// The guard waited for ever: a process that waits for the lock of a pipe cannot be killed.
describe('the guard ends if the program waits for standard input that another process locks in splice()', () => {
  const script = `
import os, socket, subprocess, sys, time
r, w = os.pipe()
silent, other = socket.socketpair()
feeder = os.fork()
if feeder == 0:
    os.close(r)
    os.splice(silent.fileno(), w, 4096)
    os._exit(0)
os.close(w)
time.sleep(0.5)
child = subprocess.Popen(sys.argv[1:], stdin=r)
os.close(r)
try: print('{"type":"status","status":%d}' % child.wait(30))
except subprocess.TimeoutExpired: child.kill()
os.kill(feeder, 9)`;
  const hasSplice = succeeds("python3 -c 'import os; os.splice'");
  /** @type {[string, string, object][]} */
  const cases = [
    ['reads', 'exec cat', { how: 'limit', limit: 'time' }],
    ['leaves a reader behind', 'exec 3<&0; cat <&3 & sleep 0.2', { how: 'exited', status: 0 }],
  ];

  for (const namespaces of [['--no-namespaces'], []])
    (hasSplice ? test : test.skip).each(cases)(`%s ${namespaces}`, (_, command, how) => {
      const folder = mkdtempSync('/tmp/crossings-locked-');
      const args = [lessons, '--confine', ...namespaces, '--limit-ms', '3000', '--exec', '--', 'sh', '-c', command];
      const env = { ...process.env, TMPDIR: folder };
      const { stdout } = spawnSync('python3', ['-c', script, ...args], { ...quick, timeout: 50_000, env });
      const left = readdirSync(folder);
      rmSync(folder, { recursive: true });
      expect(of(eventsOf(stdout), 'status')).toEqual([{ type: 'status', status: 0 }]);
      expect(of(eventsOf(stdout), 'ended')).toEqual([expect.objectContaining(how)]);
      expect(left).toEqual([]);
    });
});

// Its guard cleaned up after SIGTERM only.
test.each(/** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGHUP', 'SIGTERM']))(
  'the folder of a program is removed although all of its processes get %s',
  async (signal) => {
    const folder = mkdtempSync('/tmp/crossings-removed-');
    const sleep = sleepOfOwn();
    const args = ['--confine', '--no-namespaces', '--exec', '--', ...sleep.split(' ')];
    const outer = spawn(lessons, args, { stdio: 'ignore', env: { ...process.env, TMPDIR: folder } });
    await until(() => running(sleep).length > 0);
    const guard = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8');
    const pids = [Number(outer.pid), Number(guard), ...running(sleep).map(Number)];
    for (const pid of pids)
      try {
        process.kill(pid, signal);
      } catch {} // the guard has ended it
    await until(() => readdirSync(folder).length === 0);
    rmSync(folder, { recursive: true });
  },
);

// nftw() removed only what it found by a path that is not too long, and could not look into a folder that the program had closed.
test.each([
  ['nests folders more deeply than a path can be', "for i in range(40): os.mkdir('n' * 250); os.chdir('n' * 250)"],
  [
    'closes its folders to itself',
    "os.makedirs('a/b'); open('a/b/c', 'w'); os.chmod('a/b', 0); os.chmod('a', 0o100); os.chmod('.', 0o500)",
  ],
])('the folder of a program is removed although it %s', (_, script) => {
  const folder = mkdtempSync('/tmp/crossings-removed-');
  const own = join(folder, 'lessons');
  copyFileSync(lessons, own);
  chmodSync(folder, 0o777);
  const asUser = process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--clear-groups'] : [];
  const [command, ...args] = [...asUser, own, '--confine', '--exec', '--', 'python3', '-c', `import os\n${script}`];
  const { stdout } = spawnSync(command, args, { ...quick, env: { ...process.env, TMPDIR: folder } });
  const left = readdirSync(folder);
  spawnSync('rm', ['-rf', folder]);
  expect(of(eventsOf(stdout), 'ended')).toEqual([expect.objectContaining({ how: 'exited', status: 0 })]);
  expect(left).toEqual(['lessons']);
});

// Root could, also without its capabilities. The limit of processes is in there.
test('a program in namespaces can change nothing in /proc', () => {
  const script = 'for file in /proc/sys/kernel/pid_max /proc/self/oom_score_adj; do test -w $file && echo $file; done';
  const { stdout } = spawnSync(lessons, ['--confine', '--exec', '--', 'sh', '-c', script], quick);
  const events = eventsOf(stdout);
  const [{ namespaces }] = of(events, 'confinement');
  if (namespaces) expect(of(events, 'output')).toEqual([]);
  expect(of(events, 'ended').length).toBe(1);
});

describe('children that a shell has started before it executed the command', () => {
  const cases = [
    ['crossings-trace', `${built('crossings-trace')} --output 1 -- sleep 0.6`],
    ['crossings-lessons', `${lessons} --confine --no-namespaces --exec -- sleep 0.6`],
  ];

  test.each(cases)('are not killed by %s', (_, command) => {
    const mine = sleepOfOwn();
    // The second one is a child of such a child, which ends meanwhile.
    const orphan = `sh -c '(sleep 0.2; exec ${mine}) >/dev/null 2>&1 & sleep 0.1'`;
    const script = `${mine} >/dev/null 2>&1 & ${orphan} & exec ${command}`;
    const { stdout, status } = spawnSync('sh', ['-c', script], quick);
    const left = running(mine).map(Number);
    for (const pid of left) process.kill(pid);
    expect({ status, left: left.length }).toEqual({ status: 0, left: 2 });
    expect(eventsOf(stdout).length).toBeGreaterThan(1);
  });

  test('are not killed by crossings-lessons whose guard was killed', async () => {
    const [mine, other] = [sleepOfOwn(), sleepOfOwn()];
    const args = '--confine --no-namespaces --limit-ms 60000 --exec --';
    const script = `${mine} >/dev/null 2>&1 & exec ${lessons} ${args} ${other}`;
    const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'exit');
    await until(() => running(other).length > 0);
    const parentOf = (/** @type {string} */ pid) =>
      Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]);
    const [guard] = running(`${lessons} ${args} ${other}`).filter((pid) => parentOf(pid) === child.pid);
    process.kill(Number(guard), 'SIGKILL');
    expect(await ended).toEqual([1, null]);
    await until(() => running(other).length === 0);
    const left = running(mine).map(Number);
    for (const pid of left) process.kill(pid);
    expect(left.length).toBe(1);
  });
});

// They were looked for in /proc only, and left.
describe('processes that are not to be found in /proc are ended', () => {
  const asOther = 'setpriv --reuid 65534 --regid 65534 --clear-groups';
  const cases = [
    ['there is none', 'mount -t tmpfs none /proc', ''],
    ['it hides what another user may not read', 'mount -t proc -o hidepid=2 proc /proc', asOther],
  ];
  const hiddenBy = (/** @type {string} */ mount, /** @type {string} */ before) => `${mount} && exec ${before}`;
  const canHide = cases.every(([, mount, before]) => succeeds(`unshare -m sh -c '${hiddenBy(mount, before)} true'`));
  (canHide ? test : test.skip).each(cases)('because %s', (_, mount, before) => {
    const hidden = hiddenBy(mount, before);
    const folder = mkdtempSync('/tmp/crossings-hidden-'); // not in that of this test, which is closed to others
    const program = join(folder, sleepOfOwn());
    copyFileSync('/bin/sleep', join(folder, 'sleep'));
    chmodSync(join(folder, 'sleep'), 0o111); // what its user cannot read belongs to root in /proc
    chmodSync(folder, 0o777);
    const script = `${program} & setsid setsid ${program} & wait`;
    const command = `${hidden} ${lessons} --confine --no-namespaces --limit-ms 300 --exec -- sh -c "${script}"`;
    const { stdout, status } = spawnSync('unshare', ['-m', 'sh', '-c', command], {
      ...quick,
      env: { ...process.env, TMPDIR: folder },
    });
    rmSync(folder, { recursive: true });
    expect(status).toBe(0);
    expect(of(eventsOf(stdout), 'ended')).toEqual([expect.objectContaining({ how: 'limit', limit: 'time' })]);
    expect(running(program)).toEqual([]);
  });
});
