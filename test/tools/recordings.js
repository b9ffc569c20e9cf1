'use strict';
// Recordings of programs that never ran, for tests and measurements of the page: two processes that fill each other's pipe, and
// any number of processes and events. The format is that of `crossings trace -- COMMAND`.

const ENVIRONMENT = { cpu: 'generated', cores: 2, architecture: 'x64', kernel: 'Linux', node: process.version };

/** The fields that every recording has. @param {object} fields @returns {any} */
const traceOf = (fields) => ({
  schema: 'crossings/trace/1',
  recordedAt: '2026-11-22T10:00:00.000Z',
  environment: ENVIRONMENT,
  ended: 'exited',
  status: 0,
  signal: null,
  payloads: true,
  dropped: 0,
  objects: [],
  descriptors: [],
  sources: {},
  stuck: null,
  ...fields,
});

/** A system call of the first thread of a process. @param {object} fields @returns {any} */
const callOf = (fields) => ({
  kind: 'syscall',
  args: [],
  result: '0',
  fds: [],
  sleeps: 0,
  wokenBy: null,
  source: null,
  ...fields,
});

/** Parent and child write 65 kB into each other's pipe before either reads: both sleep in write(). */
function deadlock() {
  const [parent, child] = [4711, 4712];
  const ms = 1e6;
  const call = (/** @type {number} */ pid, /** @type {any} */ fields) => callOf({ pid, tid: pid, ...fields });
  const events = [
    call(parent, { t: 0, end: 20_000, name: 'pipe2', args: ['[3<pipe A>, 4<pipe A>]', '0'], fds: [3, 4] }),
    call(parent, { t: 40_000, end: 60_000, name: 'pipe2', args: ['[5<pipe B>, 6<pipe B>]', '0'], fds: [5, 6] }),
    call(parent, { t: 90_000, end: 190_000, name: 'clone', args: ['flags=SIGCHLD'], result: String(child) }),
    call(child, { t: 200_000, end: 210_000, name: 'close', args: ['4<pipe A>'], fds: [4] }),
    call(parent, { t: 215_000, end: 220_000, name: 'close', args: ['3<pipe A>'], fds: [3] }),
    call(child, {
      t: 230_000,
      end: 238_000,
      name: 'openat',
      args: ['AT_FDCWD', '"/nowhere"', 'O_RDONLY'],
      result: '-1 ENOENT (No such file or directory)',
    }),
    call(parent, {
      t: 260_000,
      end: 300_000,
      name: 'write',
      args: ['4<pipe A>', '"hello <img src=x onerror=alert(1)>"', '35'],
      result: '35',
      fds: [4],
      payload: 'hello <img src=x onerror=alert(1)>\\n',
      source: { file: 'fill.c', line: 5 },
    }),
    call(child, {
      t: 240_000,
      end: 320_000,
      name: 'read',
      args: ['3<pipe A>', '"hello"', '4096'],
      result: '35',
      fds: [3],
      sleeps: 1,
      wokenBy: 6,
      payload: 'hello\\0\\377',
      source: { file: 'fill.c', line: 6 },
    }),
    call(parent, {
      t: 1 * ms,
      end: null,
      name: 'write',
      args: ['4<pipe A>', '"…"', '131072'],
      result: '',
      fds: [4],
      sleeps: 1,
      source: { file: 'fill.c', line: 7 },
    }),
    call(child, {
      t: 1.2 * ms,
      end: null,
      name: 'write',
      args: ['6<pipe B>', '"…"', '131072'],
      result: '',
      fds: [6],
      sleeps: 1,
      source: { file: 'fill.c', line: 7 },
    }),
  ].sort((a, b) => a.t - b.t);
  const woken = events.find(({ wokenBy }) => wokenBy !== null);
  woken.wokenBy = events.findIndex(({ payload }) => payload?.startsWith('hello <'));
  const until = 3000 * ms;
  const held = (
    /** @type {number} */ pid,
    /** @type {number} */ fd,
    /** @type {number} */ object,
    /** @type {string} */ end,
    from = 20_000,
    to = until,
  ) => ({ pid, fd, object, end, from, until: to });
  return traceOf({
    command: ['./fill', '--bytes', '131072'],
    durationNs: until,
    ended: 'deadlock',
    status: null,
    processes: [
      {
        pid: parent,
        parent: null,
        name: 'fill',
        command: ['./fill'],
        start: 0,
        end: until,
        status: null,
        signal: null,
        threads: [{ tid: parent, name: 'fill', start: 0, end: until }],
      },
      {
        pid: child,
        parent,
        name: 'fill',
        command: ['./fill'],
        start: 190_000,
        end: until,
        status: null,
        signal: null,
        threads: [{ tid: child, name: 'fill', start: 190_000, end: until }],
      },
    ],
    objects: [
      { id: 0, kind: 'pipe', name: 'pipe A', peer: null },
      { id: 1, kind: 'pipe', name: 'pipe B', peer: null },
    ],
    descriptors: [
      held(parent, 3, 0, 'read', 20_000, 220_000),
      held(parent, 4, 0, 'write'),
      held(parent, 5, 1, 'read', 60_000),
      held(child, 3, 0, 'read', 190_000),
      held(child, 4, 0, 'write', 190_000, 210_000),
      held(child, 6, 1, 'write', 190_000),
    ],
    events,
    sources: {
      'fill.c':
        '#include <unistd.h>\n\n/* Both sides write first. */\nint fill(int to, int from) {\n    write(to, hello, 35);\n    read(from, buffer, sizeof buffer);\n    return write(to, much, 131072) == 131072 ? 0 : 1;\n}\n',
    },
    stuck: {
      text: `Both processes sleep: ${parent} in write() on pipe A, which only ${child} can read; ${child} in write() on pipe B, which only ${parent} can read.`,
      waits: [
        {
          pid: parent,
          tid: parent,
          event: events.findIndex(({ pid, end }) => pid === parent && end === null),
          call: 'write',
          object: 0,
          heldBy: [{ pid: child, fd: 3 }],
        },
        {
          pid: child,
          tid: child,
          event: events.findIndex(({ pid, end }) => pid === child && end === null),
          call: 'write',
          object: 1,
          heldBy: [{ pid: parent, fd: 5 }],
        },
      ],
    },
  });
}

const CALLS = ['read', 'write', 'epoll_wait', 'futex', 'recvfrom', 'sendto', 'openat', 'close', 'fstat', 'mmap'];

/**
 * Processes that pass messages around a ring of pipes. The same every time.
 * @param {{processes?: number, events?: number, threads?: number}} [size] threads of each process
 */
function crowd({ processes: count = 8, events: total = 100_000, threads = 2 } = {}) {
  let state = 1;
  const random = (/** @type {number} */ below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
  const pids = Array.from({ length: count }, (_, i) => 1000 + 10 * i);
  const free = pids.map(() => Array.from({ length: threads }, () => 0));
  const events = [];
  let t = 0;
  for (let i = 0; i < total; i++) {
    const p = random(count);
    const thread = random(threads);
    t = Math.max(t + random(2000), 0);
    const begin = Math.max(t, free[p][thread] + 500);
    const name = CALLS[random(CALLS.length)];
    const sleeps = ['read', 'epoll_wait', 'futex'].includes(name) && random(2) === 0 ? 1 : 0;
    const end = begin + (sleeps ? 20_000 + random(200_000) : 1000 + random(5000));
    free[p][thread] = end;
    const failed = random(20) === 0;
    const fd = 3 + random(2);
    const object = fd === 3 ? (p + count - 1) % count : p;
    events.push(
      callOf({
        t: begin,
        end,
        pid: pids[p],
        tid: pids[p] + thread,
        name,
        args: [`${fd}<pipe ${object}>`, `"message ${i} of the crowd"`, '64'],
        result: failed ? '-1 EAGAIN (Resource temporarily unavailable)' : '64',
        fds: [fd],
        sleeps,
        payload: `message ${i} of the crowd`,
      }),
    );
  }
  events.sort((a, b) => a.t - b.t);
  for (const [i, event] of events.entries()) if (event.sleeps > 0 && i > 5) event.wokenBy = i - 1 - (i % 5);
  const until = Math.max(...free.flat());
  return traceOf({
    command: ['node', 'crowd.js', String(count)],
    durationNs: until,
    processes: pids.map((pid, i) => ({
      ...{
        pid,
        parent: i === 0 ? null : pids[0],
        name: 'node',
        command: ['node', 'crowd.js'],
        start: 0,
        end: until,
        status: 0,
        signal: null,
      },
      threads: Array.from({ length: threads }, (_, k) => ({
        tid: pid + k,
        name: k === 0 ? 'node' : 'libuv-worker',
        start: 0,
        end: until,
      })),
    })),
    objects: pids.map((_, i) => ({ id: i, kind: 'pipe', name: `pipe ${i}`, peer: null })),
    descriptors: pids.flatMap((pid, i) => [
      { pid, fd: 3, object: (i + count - 1) % count, end: 'read', from: 0, until },
      { pid, fd: 4, object: i, end: 'write', from: 0, until },
    ]),
    events,
  });
}

module.exports = { callOf, crowd, deadlock, traceOf };
