'use strict';
// `crossings trace -- COMMAND` of programs that reach a limit or that try to: of what the kernel tells about them, of the
// recording, and of the memory of the recorder.
const { spawnSync } = require('node:child_process');
const { openSync } = require('node:fs');
const { Lines } = require('../lib/trace/node/marks.js');
const { LIMITS } = require('../lib/trace/program/limits.js');
const { Objects } = require('../lib/trace/program/objects.js');
const { recordProgram } = require('../lib/trace/program/record.js');
const { Recorder } = require('../lib/trace/program/recorder.js');
const { message } = require('../lib/trace/values.js');
const { built, eventsOf, run } = require('./support.js');

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

/** The events of the tracer itself. @param {string} what @param {string[]} [options] */
function traced(what, options = []) {
  const args = ['--output', '2', ...options, '--', built('crossings-hang'), what];
  const { stdout, stderr } = spawnSync(built('crossings-trace'), args, {
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
    maxBuffer: 1 << 28,
  });
  return { stdout, events: eventsOf(stderr) };
}

// It was looked for in all descriptors of all processes, for each of the waits. Meanwhile, the tracer admits no signal.
(allowed ? test : test.skip)('of many locks, the holders of the first are looked for', () => {
  const { events } = traced('lock-many-files', ['--timeout', '4']);
  const snapshot = events.find(({ type, why }) => type === 'snapshot' && why === 'timeout');
  const known = snapshot?.tasks.flatMap((/** @type {any} */ { locks }) => (locks ? [locks.all] : []));
  expect(known.length).toBe(35);
  expect(known[0]).toBe(1);
  expect(known[34]).toBe(0);
});

// The tracer waited for ever in process_vm_readv(), for a thread that it had stopped itself.
const canServe = spawnSync(built('crossings-hang'), ['write-from-served-page']).status === 0;
(allowed && canServe ? test : test.skip)(
  'memory that a thread of the program serves (userfaultfd) is not read before',
  () => {
    const { events, stdout } = traced('write-from-served-page', ['--timeout', '20']);
    expect(stdout).toBe('served\n');
    expect(events.at(-1)).toEqual(expect.objectContaining({ type: 'end', why: 'exited', status: 0 }));
  },
);

test('a mark with a line that is no small number is ignored', () => {
  const lineOf = (/** @type {string} */ line) => {
    const lines = new Lines();
    lines.take({ type: 'enter', pid: 1, tid: 1 }, `begin/called/${line}//a.js`);
    return lines.sourceOf({ type: 'enter', pid: 1, tid: 1, name: 'getppid', fds: [], objects: [], in: {} });
  };
  expect(lineOf('12')).toEqual({ file: '/a.js', line: 12 });
  for (const line of ['1e999', '-5', '0', '1.5', 'x', '0x10', '1'.repeat(10)]) expect(lineOf(line)).toBeNull();
});

test('the addresses of sockets and the targets of passed descriptors are printable', () => {
  const objects = new Objects();
  const socket = { family: 1, kind: 1, listens: 1, local: '@\x1b]0;title\x07', remote: '@\u202ex' };
  const id = objects.of({ fd: 3, target: 'socket:[1]', device: 1, inode: 1, socket });
  expect(objects.list[id]).toEqual(expect.objectContaining({ local: '@?]0;title?', remote: '@?x' }));
  const passed = { dataBytes: 0, pieces: 1, controlBytes: 24, flags: 0, rights: [{ fd: 3, target: '/\x1b[31m' }] };
  expect(message(passed)).toContain('3</?[31m>');
});

// A program that had both was taken for one that waits for itself.
test('a TCP socket and a UDP socket with the same addresses are not the two ends of a connection', () => {
  const objects = new Objects();
  const [client, server] = ['127.0.0.1:4000', '127.0.0.1:5000'];
  const peerOf = (/** @type {number} */ inode, /** @type {number} */ kind, /** @type {string} */ local) => {
    const socket = { family: 2, kind, local, remote: local === client ? server : client };
    return objects.list[objects.of({ fd: inode, target: `socket:[${inode}]`, device: 1, inode, socket })].peer;
  };
  expect(peerOf(1, 1, client)).toBe(null);
  expect(peerOf(2, 2, server)).toBe(null);
  expect(peerOf(3, 1, server)).toBe(0);
  expect(peerOf(4, 2, client)).toBe(1);
});

(allowed ? test : test.skip)('the names of source files are printable', async () => {
  const mark = "test -r /.crossings-lines/begin/called/1//tmp/$(printf '\\033')[31m.js; test -d /";
  const { events } = await record(['sh', '-c', mark]);
  const files = events.flatMap(({ source }) => source?.file ?? []);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !file.endsWith('?[31m.js'))).toEqual([]);
});

test('many copies of a pipe in many processes: a wait lists a few holders, and the sentence names a few', () => {
  const recorder = new Recorder();
  const pipe = { fd: 0, target: 'pipe:[1]', device: 1, inode: 1, mode: 4096 };
  const pids = Array.from({ length: 100 }, (_, i) => i + 1);
  for (const pid of pids) {
    recorder.take({ type: 'born', pid, tid: pid, t: 0, parent: 0, name: 'holder' });
    recorder.descriptors.see(pid, { ...pipe, fd: 3, access: 'r' }, 0);
    for (let fd = 4; fd < 104; fd++) recorder.descriptors.see(pid, { ...pipe, fd, access: 'w' }, 0);
  }
  const tasks = pids.map((pid) => ({ pid, tid: pid, name: 'holder', state: 'S', call: 'read', args: ['0x3'] }));
  recorder.take({ type: 'snapshot', why: 'quiet', t: 0, tasks });
  const { deadlock, text, waits } = /** @type {NonNullable<typeof recorder.explained>} */ (recorder.explained);
  expect({ deadlock, waits: waits.length }).toEqual({ deadlock: true, waits: 100 });
  for (const { heldBy } of waits) {
    expect(heldBy).toHaveLength(16);
    expect(new Set(heldBy.map(({ pid }) => pid)).size).toBe(16);
  }
  expect(text).toContain('holder 8 and 92 more can write');
  expect(text).toContain('(descriptors 4, 5, 6, 7, 8, 9, 10, 11 and 92 more)');
});

(allowed ? test : test.skip)('a failure of the recorder itself is reported with a sentence', async () => {
  const take = jest.spyOn(Recorder.prototype, 'take').mockImplementation(() => {
    BigInt('0x');
  });
  const error = await record(['true']).catch((reason) => reason);
  take.mockRestore();
  expect(error.code).toBe('ERR_PROGRAM');
  expect(error.message).toMatch(
    /^The recorder cannot interpret a line of crossings-trace of type "\w+": Cannot convert 0x/,
  );
});

describe('a recording has no more than its page opens:', () => {
  const begun = () => {
    const recorder = new Recorder();
    recorder.take({ type: 'born', pid: 1, tid: 1, t: 0, parent: 0, name: 'one' });
    return recorder;
  };
  const call = { type: 'enter', pid: 1, tid: 1, name: 'write', args: Array(6).fill('0x1'), fds: [], in: {} };
  const left = { type: 'leave', pid: 1, tid: 1, t: 1, end: 2, result: '256', sleeps: 0, made: [], out: {} };

  test('descriptors that one process receives and closes', () => {
    const recorder = begun();
    for (let i = 0; i <= LIMITS.holdings; i++) {
      recorder.descriptors.see(1, { fd: 3, target: '/x', device: 1, inode: 1 }, i);
      recorder.descriptors.close(1, 3, i);
    }
    recorder.take(call);
    expect(recorder.descriptors.list).toHaveLength(LIMITS.holdings);
    expect(recorder.full).toMatch(/at most 200,000 open descriptors/);
  });

  test('objects', () => {
    const recorder = begun();
    for (let i = 0; i <= LIMITS.objects; i++)
      recorder.descriptors.see(1, { fd: 3, target: `pipe:[${i}]`, device: 1, inode: i, access: 'r' }, i);
    recorder.take(call);
    expect(recorder.objects.list).toHaveLength(LIMITS.objects);
    expect(recorder.full).toMatch(/at most 100,000 objects/);
  });

  test('bytes: later calls are counted', () => {
    const recorder = begun();
    recorder.size = LIMITS.eventBytes - 2000;
    for (let i = 0; i < 5; i++) {
      recorder.take({ ...call, in: { 1: 'ff'.repeat(256) } });
      recorder.take(left);
    }
    expect(recorder.events).toHaveLength(1);
    expect(recorder.unrecorded).toBe(4);
    recorder.take({ type: 'end', t: 3, status: 0, signal: 0, dropped: 10 });
    expect(recorder.ended.dropped).toBe(14);
    expect(recorder.notes).toEqual([expect.stringMatching(/^The recording was cut at 160 MiB /)]);
  });

  test('signals', () => {
    const recorder = begun();
    for (let t = 0; t <= LIMITS.events; t++) recorder.take({ type: 'signal', pid: 1, tid: 1, t, signal: 10 });
    expect(recorder.events.length).toBeLessThanOrEqual(LIMITS.events);
    expect(recorder.unrecorded).toBe(0); // no calls
  });
});

(allowed && canServe ? test : test.skip)('nor is a socket that waits for such memory', () => {
  const { events } = traced('send-from-served-pages', ['--timeout', '20']);
  expect(events.at(-1)).toMatchObject({ type: 'end', why: 'exited', status: 0 });
});

// readlink() in /proc was the last to use the socket, so it waited for ten minutes, with all signals blocked.
(allowed ? test : test.skip)(
  'a socket that lingers and is closed while it is looked at does not stop the tracer',
  () => {
    const { events } = traced('close-lingering-sockets');
    expect(events.at(-1)).toMatchObject({ type: 'end', why: 'exited', status: 0 });
  },
);

// It listed all of them, again and again, and admitted no signal for half a minute.
(allowed ? test : test.skip)('of very many descriptors, a snapshot lists some of each process', () => {
  const { events } = traced('open-many', ['--timeout', '4']);
  const snapshot = events.find(({ type, why }) => type === 'snapshot' && why === 'timeout');
  /** @type {number[]} */
  const listed = snapshot?.tasks.map((/** @type {any} */ { descriptors }) => descriptors.length);
  expect(listed).toHaveLength(40);
  expect(Math.min(...listed)).toBe(1);
  expect(listed.reduce((sum, count) => sum + count)).toBeLessThan(20_000);
});

const canBlock = spawnSync('env', ['--block-signal=ALRM', 'true']).status === 0;
(allowed && canBlock ? test : test.skip)('a tracer that was started with SIGALRM blocked keeps its time limit', () => {
  const args = [
    '--block-signal=ALRM',
    built('crossings-trace'),
    '--output',
    '2',
    '--timeout',
    '1',
    '--',
    'sleep',
    '60',
  ];
  const { stderr } = spawnSync('env', args, { encoding: 'utf8', timeout: 30_000, killSignal: 'SIGKILL' });
  expect(eventsOf(stderr).at(-1)).toMatchObject({ type: 'end', why: 'timeout' });
});
