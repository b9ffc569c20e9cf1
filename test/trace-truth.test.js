'use strict';
// Recordings, compared with two independent observers of the same demo: strace, and the kernel's count.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { interpret } = require('../lib/trace/record.js');
const { built, eventsOf, run } = require('./support.js');

/** @typedef {Pick<import('../lib/trace/record.js').Trace, 'events' | 'processes'>} Recording */
/** @typedef {import('../lib/trace/record.js').TraceEvent} TraceEvent */

const MECHANISMS = ['pipe', 'uds', 'tcp', 'shm-sem', 'shm-spin', 'ring'];
const MESSAGES = 10;
const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const describeWhereAllowed = allowed ? describe : describe.skip;
const hasStrace = spawnSync('strace', ['-V']).status === 0;
const folder = mkdtempSync(join(tmpdir(), 'trace-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** @param {string} mechanism */
const record = (mechanism) => interpret(eventsOf(run('crossings-demo', ['--trace', mechanism]).stdout));
/** @param {string} mechanism */
const during = (mechanism) => record(mechanism).events.filter(({ phase }) => phase === 'message');

/** @param {TraceEvent[]} events */
function byName(events) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const { kind, name } of events) if (kind === 'syscall') counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** @param {Recording} recording @param {number} pid */
function recordedCalls({ events }, pid) {
  return events
    .filter((event) => event.kind === 'syscall' && event.pid === pid)
    .map(({ name, result }) => ({ name, result }));
}

/** Each process's calls as strace prints them. @param {string} mechanism */
function straceCalls(mechanism) {
  const output = join(folder, mechanism);
  spawnSync('strace', ['-f', '-e', 'signal=none', '-o', output, built('crossings-demo'), mechanism]);
  /** @type {Map<string, {name: string, result: string}[]>} */
  const calls = new Map();
  for (const line of readFileSync(output, 'utf8').split('\n')) {
    const [, pid = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const own = calls.get(pid) ?? [];
    calls.set(pid, own);
    const begun = /^(\w+)\(.*<unfinished \.\.\.>$/.exec(text);
    const ended = /^<\.\.\. (\w+) resumed>.* = (.*)$/.exec(text);
    const whole = /^(\w+)\(.*\) += (.*)$/.exec(text);
    if (begun) own.push({ name: begun[1], result: '?' });
    else if (ended) own[own.length - 1].result = ended[2];
    else if (whole) own.push({ name: whole[1], result: whole[2] });
  }
  return calls;
}

/**
 * Without what differs between runs: process IDs, addresses, the number of waits, and the random bytes that sem_open()
 * uses in a name. Also without the end of the signal handler by which an untraced demo notices that its second process was killed.
 * @param {{name: string, result: string}[]} calls
 */
function comparable(calls) {
  return calls
    .filter(({ name }) => !['futex', 'recvfrom', 'getrandom', 'rt_sigreturn'].includes(name))
    .map(({ name, result }) => {
      const [, value = '', error = ''] = /^(\?|0x[0-9a-f]+|-?\d+)(?: (E\w+))?/.exec(result) ?? [];
      const varies = ['clone', 'fork', 'wait4', 'getppid', 'mmap', 'brk'].includes(name);
      return `${name} ${varies && !error ? '*' : value} ${error}`.trim();
    });
}

const testWhereStrace = allowed && hasStrace ? test : test.skip;
testWhereStrace.each(MECHANISMS)(
  '%s: the same calls as strace -f saw, in the same order, with the same results',
  (mechanism) => {
    const recording = record(mechanism);
    const recorded = recording.processes.map(({ pid }) => comparable(recordedCalls(recording, pid)));
    const traced = [...straceCalls(mechanism).values()].map(comparable);
    for (const calls of recorded) {
      expect(calls.length).toBeGreaterThan(5);
      // strace also saw the start of the program, before the demo.
      const tails = traced.map((all) => all.slice(-calls.length));
      expect(tails).toContainEqual(calls);
    }
  },
);

describeWhereAllowed(
  'counted by crossings-count, without our tracer, one more message costs what the recording shows',
  () => {
    const FURTHER = 100;
    /** @param {string} mechanism @param {number} messages */
    function count(mechanism, messages) {
      const { stdout } = run('crossings-count', ['--', built('crossings-demo'), mechanism, '--messages', messages]);
      return eventsOf(stdout.slice(stdout.indexOf('{')))[0].byName;
    }
    /** @param {string} mechanism */
    function further(mechanism) {
      const [fewer, more] = [count(mechanism, MESSAGES), count(mechanism, MESSAGES + FURTHER)];
      const names = [...new Set([...Object.keys(fewer), ...Object.keys(more)])];
      return Object.fromEntries(
        names
          .map((name) => [name, (more[name] ?? 0) - (fewer[name] ?? 0)])
          .filter(([, difference]) => difference !== 0),
      );
    }

    test('pipe: one write, one read', () => {
      expect(further('pipe')).toEqual({ write: FURTHER, read: FURTHER });
      expect(byName(during('pipe'))).toEqual({ write: MESSAGES, read: MESSAGES });
    });

    test.each(['uds', 'tcp'])('%s: one send, at most one recv', (mechanism) => {
      const { sendto, recvfrom = 0, ...others } = further(mechanism);
      expect({ sendto, others }).toEqual({ sendto: FURTHER, others: {} });
      expect(recvfrom).toBeLessThanOrEqual(FURTHER + MESSAGES);
      const recorded = byName(during(mechanism));
      expect(recorded.sendto).toBe(MESSAGES);
      expect(recorded.recvfrom).toBeLessThanOrEqual(MESSAGES);
    });

    test('shm-sem: only futex', () => {
      // sem_open() sometimes draws random bytes for a name more than once.
      const names = Object.keys(further('shm-sem')).filter((name) => name !== 'getrandom');
      expect(names).toEqual(['futex']);
      expect(Object.keys(byName(during('shm-sem')))).toEqual(['futex']);
    });

    test.each(['shm-spin', 'ring'])('%s: no system call', (mechanism) => {
      expect(further(mechanism)).toEqual({});
      expect(byName(during(mechanism))).toEqual({});
    });

    test('ring: neither process enters the kernel between the first message and the last', () => {
      const { events } = record('ring');
      const messages = events.filter(({ phase }) => phase === 'message');
      const from = messages[0].t;
      const to = Math.max(...messages.map(({ t, end }) => end ?? t));
      const meanwhile = events.filter(({ t, end }) => t < to && (end ?? t) > from);
      expect(meanwhile.filter(({ kind }) => kind === 'syscall')).toEqual([]);
      expect(meanwhile.length).toBeGreaterThanOrEqual(messages.length);
    });
  },
);
