'use strict';
// `crossings trace -- COMMAND`: recordings of any program, why it hangs, and programs that are hard to record.
const Ajv = require('ajv/dist/2020').default;
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const {
  chmodSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { LIMITS } = require('../lib/trace/program/limits.js');
const { toTraceEvents } = require('../lib/trace/program/perfetto.js');
const { recordProgram } = require('../lib/trace/program/record.js');
const { Recorder } = require('../lib/trace/program/recorder.js');
const schema = require('../lib/trace/program/program.schema.json');
const { testInCi } = require('./in-ci.js');
const { built, cli, root, run, until } = require('./support.js');

/** @typedef {import('../lib/trace/program/record.js').ProgramTrace} ProgramTrace */
/** @typedef {import('../lib/trace/program/recorder.js').ProgramCall} ProgramCall */

const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const testWhereAllowed = allowed ? test : test.skip;
const describeWhereAllowed = allowed ? describe : describe.skip;
const folder = mkdtempSync(join(tmpdir(), 'trace-program-'));
const file = (/** @type {string} */ name) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const validate = new Ajv({ strict: false, allowUnionTypes: true }).compile(schema);
const nowhere = openSync('/dev/null', 'r+');

/** Records a program without output. @param {string[]} command @param {object} [more] @param {AbortSignal} [signal] */
const record = (command, more = {}, signal) =>
  recordProgram({ command, spawn: { stdio: [nowhere, nowhere, nowhere, 'pipe'] }, ...more }, { signal });
/** @param {string} what @param {object} [more] */
const hang = (what, more) => record([built('crossings-hang'), what], { timeoutSeconds: 60, ...more });

/** What must hold in every recording. @param {ProgramTrace} trace */
function check(trace) {
  expect(validate(trace) ? [] : validate.errors).toEqual([]);
  const { events, objects, processes, descriptors, durationNs } = trace;
  const threads = new Map(processes.flatMap((process) => process.threads.map((thread) => [thread.tid, process.pid])));
  /** @type {Map<number, number>} */
  const ends = new Map();
  let last = 0;
  for (const { t, end, pid, tid, fds, objects: about, wokenBy } of events) {
    if (threads.get(tid) !== pid) throw new Error(`event of an unknown thread ${tid} of ${pid}`);
    if (t < last || t < (ends.get(tid) ?? 0)) throw new Error(`an event of ${tid} at ${t} is out of order`);
    if (end !== null && (end < t || end > durationNs)) throw new Error(`an event ends at ${end} of ${durationNs}`);
    if (fds.length !== about.length || about.some((id) => !objects[id])) throw new Error('unknown object');
    if (wokenBy !== null && !(events[wokenBy].t < (end ?? Infinity))) throw new Error('woken before its cause');
    const wokenByEnd = wokenBy !== null && events[wokenBy].name === 'exit_group' && events[wokenBy].pid;
    if (processes.some((process) => process.pid === wokenByEnd && (process.end ?? Infinity) < t))
      throw new Error(`woken by the end of ${wokenByEnd}, which had ended before`);
    last = t;
    ends.set(tid, end ?? t);
  }
  for (const [i, { id, peer }] of objects.entries()) {
    expect(id).toBe(i);
    if (peer !== null) expect(objects[peer].peer).toBe(id);
  }
  for (const { pid, object, from, until: to } of descriptors) {
    expect(processes.some((process) => process.pid === pid)).toBe(true);
    expect(objects[object]).toBeDefined();
    expect(to).toBeGreaterThanOrEqual(from);
  }
  return trace;
}

describeWhereAllowed('a pipeline', () => {
  /** @type {ProgramTrace} */
  let trace;
  beforeAll(async () => {
    trace = check(await record(['sh', '-c', 'seq 1 1000 | sort -n | tail -1']));
  });
  const processOf = (/** @type {string} */ name) => trace.processes.find((process) => process.name === name);

  test('has each process with its command, its parent and its end', () => {
    const [sh] = trace.processes;
    expect(trace).toEqual(
      expect.objectContaining({ ended: 'exited', status: 0, signal: null, stuck: null, dropped: 0 }),
    );
    expect(trace.processes.map(({ command }) => command)).toEqual([
      ['sh', '-c', 'seq 1 1000 | sort -n | tail -1'],
      ['seq', '1', '1000'],
      ['sort', '-n'],
      ['tail', '-1'],
    ]);
    expect(trace.processes.map(({ parent }) => parent)).toEqual([null, sh.pid, sh.pid, sh.pid]);
    expect(trace.processes.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
  });

  test('shows who holds which end of which pipe', () => {
    const end = (/** @type {string} */ name, /** @type {number} */ fd) => {
      const held = trace.descriptors.findLast((holding) => holding.pid === processOf(name)?.pid && holding.fd === fd);
      return [trace.objects[held?.object ?? -1].kind, held?.end, held?.object];
    };
    const between = (/** @type {string} */ writer, /** @type {string} */ reader) => {
      const [kind, write, pipe] = end(writer, 1);
      expect([kind, write]).toEqual(['pipe', 'write']);
      expect(end(reader, 0)).toEqual(['pipe', 'read', pipe]);
    };
    between('seq', 'sort');
    between('sort', 'tail');
  });

  test('prints the arguments of calls as strace does', () => {
    const args = (/** @type {string} */ call, /** @type {string} */ name) =>
      trace.events.find((event) => event.name === call && event.pid === processOf(name)?.pid)?.args;
    expect(args('execve', 'seq')?.[1]).toBe('["seq", "1", "1000"]');
    expect(args('mprotect', 'seq')?.at(-1)).toMatch(/^PROT_/);
    expect(args('dup2', 'sort')?.[0] ?? args('dup3', 'sort')?.[0]).toMatch(/^\d+<pipe [A-Z]>$/);
  });

  test('shows the payload, and what woke a reader', () => {
    const written = trace.events.find(({ name, pid }) => name === 'write' && pid === processOf('seq')?.pid);
    expect(written?.payload).toMatch(/^1\\n2\\n3\\n/);
    const last = trace.events.find(({ name, pid }) => name === 'write' && pid === processOf('tail')?.pid);
    expect([last?.bytes, last?.payload]).toEqual([5, '1000\\n']);
    const waits = trace.events.filter(({ name, sleeps }) => name === 'wait4' && sleeps > 0);
    for (const { wokenBy, result } of waits) {
      const waker = trace.events[wokenBy ?? -1];
      expect([waker.name, String(waker.pid)]).toEqual(['exit_group', result]);
    }
  });
});

// The first process to end was named, even if it had ended before the sleep.
testWhereAllowed('the end of a pipe is caused by the last process that held its other end', async () => {
  const { events, processes } = check(
    await record(['sh', '-c', '{ sleep 0.2 & sleep 0.6; } | { read -r line; true; }']),
  );
  const reads = events.filter(({ name, result, sleeps }) => name === 'read' && result === '0' && sleeps > 0);
  expect(reads).toHaveLength(1);
  const first = processes.find(({ command }) => command?.at(-1) === '0.2');
  const waker = events[reads[0].wokenBy ?? -1];
  expect(waker.name).toMatch(/^(close|exit_group)$/);
  expect(waker.t).toBeGreaterThan(first?.end ?? Infinity);
});

testWhereAllowed('an interrupted call has no cause', async () => {
  const { events } = check(
    await record(['bash', '-c', 'trap : USR1; (sleep 0.3; kill -USR1 $$) & read -r line < <(sleep 0.8)']),
  );
  const interrupted = events.filter(({ result }) => /^\? ERESTART|^-1 EINTR/.test(result));
  expect(interrupted.map(({ wokenBy }) => wokenBy)).toEqual(interrupted.map(() => null));
  expect(interrupted.length).toBeGreaterThan(0);
});

const hasPython = spawnSync('python3', ['-c', '']).status === 0;
(allowed && hasPython ? describe : describe.skip)(
  'what ended a call on a pipe is whatever closed the last copy of its other end:',
  () => {
    const program = (/** @type {string} */ child, /** @type {string} */ parent) => `import os, time
read, write = os.pipe()
if os.fork() == 0:
  os.close(write)
  time.sleep(0.1)
  os._exit(0)
if os.fork() == 0:
  time.sleep(0.3)
  ${child}
  os._exit(0)
${parent}`;
    const READ = 'os.close(write); os.read(read, 1)';
    const WRITE = `os.close(read); os.write(write, bytes(65536))
try: os.write(write, b'x')
except BrokenPipeError: pass`;
    test.each([
      ['close()', 'os.close(read); os.close(write); time.sleep(0.2)', READ, /^close$/],
      ['the end of the process', '', READ, /^exit_group$/],
      ['an execve(), for which the descriptor was marked', "os.execvp('true', ['true'])", READ, /^execve$/],
      ['a dup2() in its place', 'os.dup2(read, write); time.sleep(0.2)', READ, /^dup[23]$/],
      ['a signal, which is no call', 'os.kill(os.getpid(), 9)', READ, /^$/],
      [
        'close(), for a write()',
        'os.read(read, 1); os.close(write); os.close(read); time.sleep(0.2)',
        WRITE,
        /^close$/,
      ],
    ])('%s', async (_, child, parent, cause) => {
      const { events, processes } = check(
        await record(['python3', '-c', program(child, parent)], { timeoutSeconds: 60 }),
      );
      const slept = events.findLast(
        ({ name, sleeps, result }) => sleeps > 0 && ((name === 'read' && result === '0') || result.includes('EPIPE')),
      );
      const waker = events[slept?.wokenBy ?? -1];
      expect(waker?.name ?? '').toMatch(cause);
      if (waker) expect(waker.pid).toBe(processes.at(-1)?.pid); // the second child
    });
  },
);

(allowed && hasPython ? test : test.skip)('a waitid() is ended by the process that it waits for', async () => {
  const source =
    'import os, time\npid = os.fork()\nif pid == 0: time.sleep(0.2)\nelse: os.waitid(os.P_PID, pid, os.WEXITED)';
  const { events, processes } = check(await record(['python3', '-c', source]));
  const waker = events[events.find(({ name, sleeps }) => name === 'waitid' && sleeps > 0)?.wokenBy ?? -1];
  expect([waker.name, waker.pid]).toEqual(['exit_group', processes.at(-1)?.pid]);
});

// A socket whose other end was not known was taken for its own other end.
(allowed && hasPython ? test : test.skip)('a read is not ended by a write to the same socket', async () => {
  const source = `import socket, sys, threading, time
one = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
threading.Timer(0.2, lambda: one.sendall(b'question')).start()
one.recv(100)`;
  const server = createServer((socket) => socket.on('data', () => setTimeout(() => socket.end('answer'), 300)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const { events } = check(await record(['python3', '-c', source, String(port)]));
  server.close();
  const slept = events.find(({ name, sleeps }) => name === 'recvfrom' && sleeps > 0);
  expect([slept?.result, slept?.wokenBy]).toEqual(['6', null]);
});

(allowed ? test : test.skip)('in a recording for Perfetto, no call lasts longer than its thread', async () => {
  const trace = check(await record(['sh', '-c', '/bin/true; sleep 0.3']));
  const child = trace.processes[1];
  const last = toTraceEvents(trace).traceEvents.findLast(({ ph, pid }) => ph === 'X' && pid === child.pid);
  const { ts, dur } = /** @type {any} */ (last);
  expect(ts + dur).toBeLessThanOrEqual(child.end / 1000 + 0.001);
});

const hasStrace = spawnSync('strace', ['-V']).status === 0;
(allowed && hasStrace ? test : test.skip)('the calls are those that strace -f sees', async () => {
  const command = ['sh', '-c', 'echo one | cat'];
  /** Calls by program and name, without those that vary. @param {[number, string][]} calls */
  const counted = (calls) => {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const [who, name] of calls) {
      if (['rt_sigreturn', 'wait4', 'clone', 'fork', 'vfork', 'execve'].includes(name)) continue;
      counts[`${who} ${name}`] = (counts[`${who} ${name}`] ?? 0) + 1;
    }
    return counts;
  };
  /** Processes in the order of their creation, not of their first call: siblings run in any order. @param {number[]} pids */
  const numbered = (pids) => new Map([...new Set(pids)].sort((a, b) => a - b).map((pid, i) => [pid, i]));
  const { events, processes } = check(await record(command));
  const order = numbered(processes.map(({ pid }) => pid));
  const recorded = events.filter(({ kind }) => kind === 'syscall').map(({ pid, name }) => [order.get(pid), name]);
  const output = file('strace');
  spawnSync('strace', ['-f', '-e', 'signal=none', '-o', output, ...command]);
  const lines = [...readFileSync(output, 'utf8').matchAll(/^(\d+) +(\w+)\(/gm)];
  const seen = numbered(lines.map(([, pid]) => Number(pid)));
  const traced = lines.map(([, pid, name]) => [seen.get(Number(pid)), name]);
  expect(counted(/** @type {any} */ (recorded))).toEqual(counted(/** @type {any} */ (traced)));
});

describeWhereAllowed('why a program hangs:', () => {
  /** @param {ProgramTrace} trace */
  const stuckOf = (trace) => {
    expect(check(trace).ended).toBe('deadlock');
    expect(trace.waiting).toBeNull();
    const { stuck, events } = trace;
    for (const { event, call, tid } of stuck?.waits ?? []) {
      const found = events[event ?? -1];
      expect([found.name, found.tid, found.end]).toEqual([call, tid, null]);
    }
    return /** @type {NonNullable<ProgramTrace['stuck']>} */ (stuck);
  };

  test("two processes that fill each other's pipes", async () => {
    const trace = await hang('fill-both-pipes');
    const { text, waits } = stuckOf(trace);
    const [parent, child] = trace.processes.map(({ pid }) => pid);
    expect(waits.map(({ pid, call, heldBy }) => [pid, call, heldBy.map((holder) => holder.pid)])).toEqual([
      [parent, 'write', [child]],
      [child, 'write', [parent]],
    ]);
    expect(text).toMatch(/^Deadlock: both processes sleep and wait for each other: /);
    expect(text).toContain(`which is full and which only crossings-hang ${child} can read`);
  });

  test('a reader that keeps its own write end open', async () => {
    const { text, waits } = stuckOf(await hang('keep-own-end'));
    const [{ call, pid, fd, heldBy }] = waits;
    expect([waits.length, call, heldBy]).toEqual([1, 'read', [{ pid, fd: Number(fd) + 1 }]]);
    expect(text).toMatch(
      /which only the process itself \(descriptor \d+\) can write, so it never sees the end of file\.$/,
    );
  });

  test('two threads that lock two mutexes in different orders', async () => {
    const trace = await hang('lock-in-two-orders');
    const { text } = stuckOf(trace);
    const [, one, other] = trace.processes[0].threads.map(({ tid }) => tid);
    expect(text).toMatch(new RegExp(`thread ${one} of .* on the mutex at 0x[0-9a-f]+, which thread ${other} holds`));
    expect(text).toMatch(new RegExp(`thread ${other} of .* on the mutex at 0x[0-9a-f]+, which thread ${one} holds`));
    expect(text).toContain(`sleeps in futex() until thread ${one} ends`);
  });

  testInCi('a reader with more descriptors than are listed', async () => {
    const { ended, stuck } = await hang('keep-own-end-of-many');
    expect(ended).toBe('deadlock');
    expect(stuck?.text).toMatch(/which only the process itself \(descriptor \d+\) can write/);
  });

  test('a process that waits for its child, which waits for it', async () => {
    const trace = await hang('wait-for-child');
    const { text, waits } = stuckOf(trace);
    const [parent, child] = trace.processes.map(({ pid }) => pid);
    expect(waits.map(({ pid, call }) => [pid, call])).toEqual([
      [parent, 'wait4'],
      [child, 'read'],
    ]);
    expect(text).toContain(`until its child crossings-hang ${child} ends`);
    expect(text).toContain(`whose other end, Unix socket A, only crossings-hang ${parent} holds`);
  });

  test('a thread that waits for a mutex of the first thread, which has ended', async () => {
    const trace = await hang('end-first-thread-with-mutex');
    const { text, waits } = stuckOf(trace);
    const [, thread] = trace.processes[0].threads.map(({ tid }) => tid);
    expect(waits.map(({ tid, call }) => [tid, call])).toEqual([[thread, 'futex']]);
    expect(text).toContain('which nothing else can wake');
  });

  const inFolder = { spawn: { stdio: [nowhere, nowhere, nowhere, 'pipe'], cwd: folder } };
  test.each([
    ['locks of files, flock()', 'lock-files-in-two-orders', ['flock', 'flock']],
    ['locks of files, fcntl()', 'lock-ranges-in-two-orders', ['fcntl', 'fcntl']],
    ['two mutexes in a mapped file', 'lock-mutexes-of-a-file', ['futex', 'futex']],
  ])('two processes that take %s in different orders', async (_, what, calls) => {
    const trace = await hang(what, inFolder);
    const { waits } = stuckOf(trace);
    const [parent, child] = trace.processes.map(({ pid }) => pid);
    expect(waits.map(({ call }) => call)).toEqual(calls);
    expect(waits.map(({ pid, heldBy }) => [pid, heldBy.map((holder) => holder.pid)])).toEqual([
      [parent, [child]],
      [child, [parent]],
    ]);
  });

  test.each([
    ['anonymous memory', 'await-in-anonymous-memory'],
    ['a memfd', 'await-in-memfd'],
    ['a file that was removed', 'await-in-removed-file'],
  ])('two processes that wait for a semaphore in %s, which only they have', async (_, what) => {
    const { waits } = stuckOf(await hang(what, inFolder));
    expect(waits.map(({ call }) => call)).toEqual(['futex', 'futex']);
  });

  test('a reader that keeps its own write end open, and handles signals of the kernel', async () => {
    expect(stuckOf(await hang('keep-own-end-with-handlers')).text).toContain('so it never sees the end of file.');
  });

  (hasPython ? test : test.skip)('a program in Python, which always handles Ctrl-C', async () => {
    const source = 'import os; read, write = os.pipe(); os.read(read, 1)';
    const { waits } = stuckOf(await record(['python3', '-c', source]));
    expect(waits.map(({ call }) => call)).toEqual(['read']);
  });

  // A limit that had been set once counted for ever, and that of the other direction, too.
  (hasPython ? test : test.skip).each([
    ['whose time limit was taken away again', 'SO_RCVTIMEO', '(60, 0)'],
    ['whose writes only have a time limit', 'SO_SNDTIMEO', '(60,)'],
  ])('a read() of a socket %s', async (_, option, limits) => {
    const source = `import os, socket, struct
ends = socket.socketpair()
for seconds in ${limits}:
  for end in ends: end.setsockopt(socket.SOL_SOCKET, socket.${option}, struct.pack('ll', seconds, 0))
mine = os.fork() == 0
ends[mine].close()
ends[not mine].recv(1)`;
    const { waits } = stuckOf(await record(['python3', '-c', source], { timeoutSeconds: 60 }));
    expect(waits.map(({ call }) => call)).toEqual(['recvfrom', 'recvfrom']);
  });

  (hasPython ? test : test.skip)('a poll() of sockets whose reads have a time limit', async () => {
    const source = `import os, select, socket, struct
ends = socket.socketpair()
for end in ends: end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 60, 0))
mine = ends[0 if os.fork() else 1]
for end in ends: mine is end or end.close()
poll = select.poll()
poll.register(mine, select.POLLIN)
poll.poll()`;
    const { waits } = stuckOf(await record(['python3', '-c', source]));
    expect(waits.map(({ call }) => call)).toEqual(['poll', 'poll']);
  });

  // It has the number of SO_RCVLOWAT.
  (hasPython ? test : test.skip)('a connection that got TCP_USER_TIMEOUT for a while', async () => {
    const source = `import os, socket
listener = socket.create_server(('127.0.0.1', 0))
one = socket.create_connection(listener.getsockname())
ends = [one, listener.accept()[0]]
listener.close()
for ms in (3000, 0):
  for end in ends: end.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, ms)
mine = os.fork() == 0
ends[mine].close()
ends[not mine].recv(1)`;
    const { waits } = stuckOf(await record(['python3', '-c', source], { timeoutSeconds: 60 }));
    expect(waits.map(({ call }) => call)).toEqual(['recvfrom', 'recvfrom']);
  });

  test.each(['bash', 'sh'])('a child that hangs, started by %s, which handles Ctrl-C while it waits', async (shell) => {
    const { waits } = stuckOf(await record([shell, '-c', '"$0" keep-own-end; true', built('crossings-hang')]));
    expect(waits.map(({ call }) => call)).toEqual(['wait4', 'read']);
  });

  test('a process whose first thread has ended still has its descriptors, and is not deadlocked', async () => {
    const trace = check(await hang('end-first-thread-with-pipe', { timeoutSeconds: 3 }));
    const [parent, child] = trace.processes.map(({ pid }) => pid);
    expect({ ended: trace.ended, stuck: trace.stuck }).toEqual({ ended: 'timeout', stuck: null });
    const wait = trace.waiting?.waits.find(({ pid }) => pid === child);
    expect(wait?.heldBy.map(({ pid }) => pid)).toEqual([parent, child]);
  });

  test('a program that a timer will end is not deadlocked', async () => {
    const { ended, signal, stuck } = check(await hang('keep-own-end-for-a-second'));
    expect({ ended, signal, stuck }).toEqual({ ended: 'exited', signal: 'SIGALRM', stuck: null });
  });

  test('a connection with a time limit ends a poll() of it', async () => {
    const { ended, stuck } = check(await hang('poll-limited-connection'));
    expect({ ended, stuck }).toEqual({ ended: 'exited', stuck: null });
  });

  testInCi('a server without clients waits for events: that is no deadlock', async () => {
    const server = "require('http').createServer().listen(0, '127.0.0.1', () => console.log('ready'))";
    const { ended, stuck, waiting, objects } = check(await record(['node', '-e', server], { timeoutSeconds: 5 }));
    const local = objects.find(({ listens }) => listens)?.local;
    expect({ ended, stuck }).toEqual({ ended: 'timeout', stuck: null });
    expect(waiting?.text).toContain(`waits for events, such as a connection to ${local}`);
  });
});

describeWhereAllowed('sockets', () => {
  const client = (/** @type {string} */ where) =>
    `const net = require('net'); const server = net.createServer((c) => c.end('hello'));
     server.listen(${where}, () => { const a = server.address(); const to = a.port ? [a.port, '127.0.0.1'] : [a];
       net.connect(...to).on('data', () => {}).on('close', () => server.close()); });`;

  test.each([
    ['Unix', `'${file('x.sock')}'`],
    ['TCP', "0, '127.0.0.1'"],
    ['TCP', '0'], // where there is IPv6, the server uses it, and the client does not
  ])('%s: both ends are connected, and the bytes are seen in both', async (family, where) => {
    const { objects, events } = check(await record(['node', '-e', client(where)]));
    const sent = events.find(({ payload, name }) => payload === 'hello' && /^(write|send)/.test(name));
    const received = events.find(({ payload, name }) => payload === 'hello' && /^(read|recv)/.test(name));
    expect(objects[sent?.objects[0] ?? -1].name).toMatch(new RegExp(`^${family} socket [A-Z]$`));
    expect(objects[sent?.objects[0] ?? -1].peer).toBe(received?.objects[0]);
  });
});

describe('a recording has no more than its page opens:', () => {
  /** A process with this many descriptors, which forks. @param {number} descriptors @param {number} children */
  function forking(descriptors, children) {
    const recorder = new Recorder();
    recorder.take({ type: 'born', pid: 1, tid: 1, t: 0, parent: 0, name: 'first' });
    for (let fd = 0; fd < descriptors; fd++) recorder.descriptors.add(1, { fd, object: 0, end: null }, 0);
    for (let i = 0; i < children; i++) {
      recorder.take({ type: 'born', pid: i + 2, tid: i + 2, t: i, parent: 1, name: 'child' });
    }
    return recorder;
  }

  test('processes, and the descriptors that each inherits', () => {
    expect(forking(0, 999).full).toBeNull();
    const many = forking(0, 1500);
    expect(many.full).toBe('The program was stopped because a recording can have at most 1,000 processes.');
    expect(many.processes).toHaveLength(1000);
    const holding = forking(1000, 400);
    expect(holding.full).toMatch(/at most 200,000 open descriptors, of all processes together\.$/);
    expect(holding.descriptors.list).toHaveLength(200_000);
  });

  test('the limits are the same', () => {
    const page = readFileSync(join(root, 'public/recording/model/limits.js'), 'utf8');
    const of = (/** @type {string} */ name) =>
      Number(new RegExp(`\\b${name}: ([\\d_]+)`).exec(page)?.[1].replaceAll('_', ''));
    const { processes, threads, objects, events, notes, holdings } = LIMITS;
    expect({ processes, threads, objects, events, notes, descriptors: holdings }).toEqual(
      Object.fromEntries(
        ['processes', 'threads', 'objects', 'events', 'notes', 'descriptors'].map((name) => [name, of(name)]),
      ),
    );
  });
});

describeWhereAllowed('limits:', () => {
  test('a program that forks without end is ended', async () => {
    const { ended, processes } = check(await hang('fork-for-ever', { maxTasks: 40 }));
    expect(ended).toBe('limit');
    expect(processes).toHaveLength(40);
    for (const { pid } of processes) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('a program that never ends is ended, even if it ignores SIGTERM', async () => {
    const { ended, signal } = check(
      await record(['sh', '-c', 'trap "" TERM; while :; do :; done'], { timeoutSeconds: 1 }),
    );
    expect({ ended, signal }).toEqual({ ended: 'timeout', signal: 'SIGKILL' });
  });

  test('calls beyond the limit are counted', async () => {
    const { events, dropped, status } = check(await hang('call-often', { maxEvents: 100 }));
    expect(events.filter(({ kind }) => kind === 'syscall')).toHaveLength(100);
    expect(dropped).toBeGreaterThanOrEqual(4900);
    expect(status).toBe(0);
  });

  test('64 threads have a lane each', async () => {
    const { processes, status } = check(await hang('start-threads'));
    expect({ threads: processes[0].threads.length, status }).toEqual({ threads: 65, status: 0 });
  });

  test('an abort ends the program and returns the recording', async () => {
    const controller = new AbortController();
    const recording = record(['sleep', '1000'], {}, controller.signal);
    setTimeout(() => controller.abort(), 300);
    const { ended, processes } = check(await recording);
    expect(ended).toBe('interrupted');
    for (const { pid } of processes) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describeWhereAllowed('programs that are hard to record:', () => {
  test('a daemon is followed after its parent has ended', async () => {
    const trace = check(await record(['sh', '-c', '(setsid sh -c "sleep 0.2; exit 7" &) ; exit 3']));
    expect(trace.status).toBe(3);
    expect(trace.processes.map(({ status }) => status)).toContain(7);
    expect(trace.ended).toBe('exited');
  });

  test('one that closes all its descriptors', async () => {
    const { status } = check(await record(['bash', '-c', 'exec 0<&- 1>&- 2>&- 3>&- 4>&-; exit 5']));
    expect(status).toBe(5);
  });

  test('one that passes sizes too small for what they are of', async () => {
    const { events } = await hang('pass-odd-sizes');
    expect(events.filter(({ name }) => name === 'connect')).toHaveLength(8);
  });

  const hasCompatCalls = process.arch === 'x64' && spawnSync(built('crossings-hang'), ['call-compat']).status === 0;
  (hasCompatCalls ? test : test.skip)('one that makes a 32-bit call: it has the name of no other call', async () => {
    const { events } = check(await hang('call-compat'));
    expect(events.map(({ name }) => name)).toContain('compat_6');
    expect(events.map(({ name }) => name)).not.toContain('lstat');
  });

  test('one that passes control messages of odd lengths', async () => {
    const { events, status } = check(await hang('pass-odd-control'));
    expect(status).toBe(0);
    const results = events.filter(({ name }) => name === 'sendmsg').map(({ result }) => result);
    expect(results).toEqual([...Array(7).fill('-1 EINVAL (Invalid argument)'), '1']);
  });

  test('one that makes the marks of lines itself: only small files of source text are read', async () => {
    spawnSync('mkfifo', [file('pipe.js')]);
    symlinkSync('/dev/zero', file('endless.js'));
    writeFileSync(file('key.txt'), 'secret');
    symlinkSync('key.txt', file('link.js'));
    writeFileSync(file('good.js'), '// good');
    const names = ['pipe.js', 'endless.js', 'key.txt', 'link.js', 'good.js'].map(file);
    const marks = names.map((name) => `test -r /.crossings-lines/begin/called/1/${name}; test -d /`);
    const { sources, status } = check(await record(['sh', '-c', marks.join('; ')]));
    expect(status).toBe(0);
    expect(Object.values(sources)).toEqual(['// good']);
  });

  test.each([
    ['STOP', 'crossings-trace did not end in time. The traced program may have stopped it.'],
    ['KILL', 'crossings-trace ended with SIGKILL'],
    ['RTMAX', /crossings-trace ended (before the recording was complete|in the middle of a line)/],
  ])('one that sends its tracer SIG%s', async (signal, message) => {
    const command = ['bash', '-c', `kill -${signal} $PPID; exec sleep 99`];
    await expect(record(command, { timeoutSeconds: 1, stalledMs: 100 })).rejects.toThrow(message);
  });

  test('one that names its process: the sentence and the lanes use the same name', async () => {
    const source = `#include <sys/prctl.h>
      #include <unistd.h>
      int main(void) { prctl(PR_SET_NAME, "waiter"); int ends[2]; char byte; if (pipe(ends)) return 1; return read(ends[0], &byte, 1); }`;
    spawnSync('cc', ['-x', 'c', '-o', file('waits'), '-'], { input: source });
    const { processes, stuck } = check(await record([file('waits')]));
    const [{ pid, name, threads }] = processes;
    expect([name, threads[0].name]).toEqual(['waiter', 'waiter']);
    expect(stuck?.text).toContain(`waiter ${pid} sleeps in read()`);
  });

  test('one that a signal ends', async () => {
    const { status, signal, events } = check(await record(['sh', '-c', 'kill -SEGV $$']));
    expect({ status, signal }).toEqual({ status: null, signal: 'SIGSEGV' });
    expect(events.at(-1)).toEqual(expect.objectContaining({ kind: 'signal', name: 'SIGSEGV' }));
  });

  test('one that writes binary', async () => {
    const { events } = check(await record(['head', '-c', '300', '/dev/urandom']));
    const written = events.find(({ name, bytes }) => name === 'write' && bytes === 300);
    expect(written?.payload).toMatch(/^[\x20-\x7e]+$/);
  });

  test('one whose name and files would change the terminal', async () => {
    const path = file('\x1b[31m-name');
    writeFileSync(path, '#!/bin/sh\nexec 5<"$0"; read line <&5; exec 5<&-\n');
    chmodSync(path, 0o700);
    const { processes, objects } = check(await record([path]));
    const names = [...processes, ...processes.flatMap(({ threads }) => threads), ...objects].map(({ name }) => name);
    expect(names.join()).toContain('?[31m-name');
    expect(names.filter((name) => /\p{Cc}/u.test(name))).toEqual([]);
  });

  (hasStrace ? test : test.skip)('one that traces', async () => {
    const { notes, status } = check(await record(['strace', '-o', '/dev/null', 'true']));
    expect(status).not.toBe(0);
    expect(notes.join()).toContain('The program uses ptrace itself, which fails while it is traced');
  });
});

testWhereAllowed('--no-payloads leaves out the bytes, and leaves the paths', async () => {
  writeFileSync(file('secret'), 'a secret of 24 bytes');
  const command = ['bash', '-c', 'read x <"$0"; echo "$x" | cat', file('secret')];
  const text = async (/** @type {boolean} */ payloads) => JSON.stringify(check(await record(command, { payloads })));
  expect(await text(true)).toContain('a secret of 24 bytes');
  const without = await text(false);
  expect(without).not.toContain('secret of');
  expect(without).toContain(file('secret'));
  expect(without).toContain('"payloads":false');
});

describeWhereAllowed('crossings trace --', () => {
  test('leaves standard output to the program, and says how it ended', () => {
    const files = ['--json', file('trace.json'), '--perfetto', file('perfetto.json')];
    const { status, stdout, stderr } = cli(['trace', ...files, '--', 'sh', '-c', 'echo out; exit 4']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'out\n' });
    expect(stderr).toContain('The program exited with status 4. 1 process, 1 thread, ');
    const trace = check(JSON.parse(readFileSync(file('trace.json'), 'utf8')));
    const { traceEvents } = JSON.parse(readFileSync(file('perfetto.json'), 'utf8'));
    const slices = traceEvents.filter((/** @type {any} */ { ph }) => ph === 'X');
    expect(slices).toHaveLength(trace.events.length);
    expect(stderr).not.toContain('execve(');
  });

  test('prints a log and a summary', () => {
    const { stderr } = cli(['trace', '--', 'echo', 'hello']);
    expect(stderr).toMatch(/^ *\d+\.\d {2}echo \d+ +write\(1<[^>]+>, "hello\\n", 6\) = 6$/m);
    expect(stderr).toMatch(/^process +calls +failed +in calls that slept$/m);
    for (const line of stderr.split('\n')) expect(line.length).toBeLessThanOrEqual(160);
  });

  test('Ctrl-C ends the program and writes the recording', async () => {
    const path = file('interrupted.json');
    const child = spawn(
      process.execPath,
      [join(root, 'server/cli.js'), 'trace', '--json', path, '--', 'sh', '-c', 'echo go; sleep 99'],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    const trace = check(JSON.parse(readFileSync(path, 'utf8')));
    expect(trace.ended).toBe('interrupted');
  });

  test('a command that removes our other programs, as a build does, is recorded', () => {
    const copy = file('copy');
    const programs = join(copy, 'build', 'Release');
    cpSync(join(root, 'lib'), join(copy, 'lib'), { recursive: true });
    for (const name of ['crossings-trace', 'crossings-bench']) cpSync(built(name), join(programs, name));
    for (const name of ['package.json', 'node_modules']) symlinkSync(join(root, name), join(copy, name));
    const args = ['trace', '--json', file('removed.json'), '--', 'rm', join(programs, 'crossings-bench')];
    const { status, stderr } = spawnSync(process.execPath, [join(copy, 'lib', 'cli.js'), ...args], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringContaining('The program exited with status 0.'),
    });
    expect(check(JSON.parse(readFileSync(file('removed.json'), 'utf8'))).environment.cores).toBeGreaterThan(0);
  });

  const script = (/** @type {string} */ name, /** @type {string} */ text, mode = 0o755) => {
    writeFileSync(file(name), text);
    chmodSync(file(name), mode);
    return file(name);
  };
  test.each([
    [['no-such-program'], 'Cannot run "no-such-program": program not found in PATH.'],
    [['./no-such-program'], 'Cannot run "./no-such-program": No such file or directory.'],
    [[''], 'Cannot run "": '],
    [[tmpdir()], `Cannot run "${tmpdir()}": it is a folder.`],
    [[script('plain', 'text', 0o644)], 'permission denied (is it executable?).'],
    [
      [script('no-first-line', 'text')],
      'it is neither a program for this machine nor a script whose first line begins with #!.',
    ],
    [
      [script('no-interpreter', '#!/no/such/interpreter\n')],
      'the interpreter that its first line or its header names does not exist.',
    ],
  ])('refuses %j in one sentence', async (command, sentence) => {
    const error = await record(command).catch((/** @type {any} */ reason) => reason);
    expect(error.code).toBe('ERR_USAGE');
    expect(error.message).toContain(sentence);
    expect(error.message).not.toContain('\n');
  });

  test.each([
    [['--', 'no-such-program'], 'Cannot run "no-such-program": program not found in PATH.'],
    [['--timeout', '0', '--', 'true'], '--timeout must be a whole number from 1 to 86400; got "0".'],
    [['--json', '/no/folder/x', '--', 'true'], '--json must be a file that can be written'],
    [['sh', '-c'], "unknown option '-c'"],
    [['ls', '/'], 'to trace a command, write `npx crossings-lab trace -- ls /`.'],
    [['--'], "Missing required argument 'mechanism'"],
  ])('refuses %j in one sentence', (args, sentence) => {
    const { status, stdout, stderr } = cli(['trace', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.toLowerCase()).toContain(sentence.toLowerCase());
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('where ptrace is refused it says what to do', () => {
    const command = [process.execPath, join(root, 'lib', 'cli.js'), 'trace', '--', 'true'];
    const { status, stdout, stderr } = run('crossings-count', ['--method', 'ptrace', '--', ...command]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('ptrace is not permitted');
    expect(stderr).toContain('(ERR_PTRACE_REFUSED)');
  });

  test('a killed recorder takes the program with it', async () => {
    const child = spawn(
      process.execPath,
      [join(root, 'server/cli.js'), 'trace', '--', 'sh', '-c', 'echo $$; exec sleep 99'],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    const pid = Number(String(await new Promise((resolve) => child.stdout.once('data', resolve))));
    child.kill('SIGKILL');
    await until(() => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
  });
});

// The tracer waited for its child, and the child, which was stopped, for the tracer: neither a time limit nor a signal ended it.
const hidden = ['--user', '--map-root-user', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh'];
const canHide = spawnSync('unshare', [...hidden, 'true']).status === 0;
(allowed && canHide ? test : test.skip)('where /proc is missing, recording fails with a sentence', () => {
  const tracer = [built('crossings-trace'), '--output', '1', '--', '/bin/true'];
  const { status, stdout } = spawnSync('unshare', [...hidden, ...tracer], {
    encoding: 'utf8',
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /"code":"ERR_SYSTEM","message":"Cannot read the status of the program in \/proc: No such file or directory\."/,
  );
});
