'use strict';
// Recordings, checked against their schema, against the source, and for consistency.
const Ajv = require('ajv/dist/2020').default;
const { interpret, recordTrace } = require('../lib/trace/record.js');
const schema = require('../lib/trace/trace.schema.json');
const { eventsOf, leftovers, run, untilNothingIsLeft } = require('./support.js');

/** @typedef {import('../lib/trace/record.js').Trace} Trace */
/** @typedef {import('../lib/trace/record.js').TraceEvent} TraceEvent */

const MECHANISMS = ['pipe', 'uds', 'tcp', 'shm-sem', 'shm-spin', 'ring'];
const MESSAGES = 10;
const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const testWhereAllowed = allowed ? test : test.skip;
const describeWhereAllowed = allowed ? describe : describe.skip;

/** @type {Record<string, Trace>} */
const traces = {};
const before = leftovers();
beforeAll(async () => {
  for (const mechanism of allowed ? MECHANISMS : []) traces[mechanism] = await recordTrace({ mechanism });
});

test('recording leaves nothing behind', () => untilNothingIsLeft(before));

/** @param {string} mechanism */
const during = (mechanism) => traces[mechanism].events.filter(({ phase }) => phase === 'message');
/** @param {TraceEvent} event */
const endOf = ({ t, end }) => end ?? t;
/** The message that the demo defines. @param {number} n */
const messageNumber = (n) => ({
  sequence: n,
  type: n % 3,
  value: n * 1.25,
  text: `message ${n} of ${MESSAGES}`,
  done: n === MESSAGES,
});

describeWhereAllowed.each(MECHANISMS)('the recording of %s', (mechanism) => {
  /** @type {Trace} */
  let trace;
  beforeAll(() => {
    trace = traces[mechanism];
  });

  test('has every field of its schema', () => {
    const validate = new Ajv({ strict: false, allowUnionTypes: true }).compile(schema);
    expect(validate(trace) ? [] : validate.errors).toEqual([]);
  });

  test('names the source line of each event', () => {
    for (const { kind, name, call, source } of trace.events) {
      const line = trace.sources[source?.file ?? '']?.split('\n')[(source?.line ?? 0) - 1];
      expect(line).toMatch(kind === 'step' ? /\bSTEP\(/ : new RegExp(`\\b${call ?? name}\\(`));
    }
  });

  test('shows each message written by the writer and checked by the reader', () => {
    const [writer, reader] = trace.processes;
    expect([writer.role, reader.role]).toEqual(['writer', 'reader']);
    const sent = during(mechanism).filter(({ pid }) => pid === writer.pid);
    expect([...new Set(sent.map(({ message }) => message))]).toEqual(Array.from({ length: MESSAGES }, (_, i) => i + 1));
    const last = trace.events.findLast(({ pid }) => pid === reader.pid);
    expect([last?.name, last?.args]).toEqual(['exit_group', ['0']]);
  });

  test('is in order: events by their start, and each process does one thing at a time', () => {
    for (const { pid } of trace.processes) {
      const own = trace.events.filter((event) => event.pid === pid);
      for (const [i, event] of own.entries()) {
        expect(endOf(event)).toBeGreaterThanOrEqual(event.t);
        expect(event.end === null).toBe(i === own.length - 1);
        if (i > 0) expect(event.t).toBeGreaterThanOrEqual(endOf(own[i - 1]));
      }
    }
    const begins = trace.events.map(({ t }) => t);
    expect(begins).toEqual([...begins].sort((a, b) => a - b));
  });

  test('contains no read of bytes that were not yet written', () => {
    /** @type {Record<string, number>} */
    const held = {};
    for (const event of [...trace.events].sort((a, b) => endOf(a) - endOf(b))) {
      for (const { do: what, from = '', to = '', bytes = 0 } of event.effects) {
        if (what !== 'copy') continue;
        if (from === 'process') held[to] = (held[to] ?? 0) + bytes;
        else held[from] = (held[from] ?? 0) - bytes;
        expect(held[from] ?? 0).toBeGreaterThanOrEqual(0);
      }
    }
  });

  test('closes only open descriptors, names only listed objects, and forks the child before its first event', () => {
    const known = new Set(trace.objects.map(({ id }) => id));
    /** @type {Record<number, Set<number>>} */
    const open = { [trace.events[0].pid]: new Set() };
    for (const event of [...trace.events].sort((a, b) => endOf(a) - endOf(b))) {
      const own = open[event.pid];
      expect(own).toBeDefined();
      for (const effect of event.effects) {
        for (const id of [effect.object, effect.from, effect.to]) {
          if (id && id !== 'process') expect(known).toContain(id);
        }
        if (effect.do === 'open') own.add(effect.fd ?? -1);
        if (effect.do === 'close') expect(own.delete(effect.fd ?? -1)).toBe(true);
        if (effect.do === 'fork') open[effect.pid ?? -1] = new Set(own);
      }
    }
    expect(Object.keys(open)).toHaveLength(2);
    for (const descriptors of Object.values(open)) expect([...descriptors]).toEqual([]);
  });

  test('every sleep in a call on a pipe, socket, semaphore or child was ended by the other process', () => {
    for (const { sleeps, wokenBy, pid, t, end, name } of trace.events) {
      if (sleeps === 0 || !['read', 'recvfrom', 'futex', 'accept', 'poll', 'wait4'].includes(name)) continue;
      const waker = trace.events[wokenBy ?? -1];
      expect(waker).toBeDefined();
      expect(waker.pid).not.toBe(pid);
      expect(waker.t).toBeLessThan(end ?? 0);
      if (waker.end !== null) expect(waker.end).toBeGreaterThan(t);
    }
  });
});

describeWhereAllowed('the messages', () => {
  test.each(['pipe', 'uds', 'tcp'])('%s: each message is decoded as the demo defines it', (mechanism) => {
    const writer = traces[mechanism].processes[0].pid;
    const sent = during(mechanism).filter(({ pid }) => pid === writer);
    expect(sent.map(({ payload }) => payload)).toEqual(
      Array.from({ length: MESSAGES }, (_, i) => messageNumber(i + 1)),
    );
  });

  test.each(['pipe', 'uds', 'tcp'])('%s: as many bytes come out of the kernel as went in', (mechanism) => {
    const copies = during(mechanism).flatMap(({ effects }) => effects.filter((effect) => effect.do === 'copy'));
    const sum = (/** @type {boolean} */ inward) =>
      copies.filter(({ from }) => (from === 'process') === inward).reduce((total, { bytes = 0 }) => total + bytes, 0);
    expect(sum(false)).toBe(sum(true));
    if (mechanism === 'pipe') expect(sum(true)).toBe(64 * MESSAGES);
  });

  test.each(['shm-sem', 'shm-spin', 'ring'])('%s: each message is stored once and loaded once', (mechanism) => {
    const { objects } = traces[mechanism];
    const copies = during(mechanism).flatMap(({ effects, message }) =>
      effects.map((effect) => ({ ...effect, message })),
    );
    for (const what of ['store', 'load']) {
      const own = copies.filter((copy) => copy.do === what);
      expect(own.map(({ message }) => message)).toEqual(Array.from({ length: MESSAGES }, (_, i) => i + 1));
      expect(new Set(own.map(({ bytes }) => bytes))).toEqual(new Set([64]));
      expect(new Set(own.map(({ object }) => objects.find(({ id }) => id === object)?.kind)).size).toBe(1);
    }
  });

  test('shm-spin: the reader sees the flag at 1, the writer sees it at 0', () => {
    const [writer, reader] = traces['shm-spin'].processes;
    const seen = during('shm-spin').filter(({ step }) => step === 'see');
    expect(seen.filter(({ pid }) => pid === reader.pid).map(({ memory }) => memory?.flag)).toEqual(
      Array(MESSAGES).fill(1),
    );
    expect(seen.filter(({ pid }) => pid === writer.pid).map(({ memory }) => memory?.flag)).toEqual(
      Array(MESSAGES).fill(0),
    );
  });

  test('ring: the signal that the reader sees is the length plus one', () => {
    const seen = during('ring').filter(({ step }) => step === 'see');
    expect(seen.map(({ memory }) => memory?.["signal of the reader's next frame"])).toEqual(Array(MESSAGES).fill(65));
  });
});

describeWhereAllowed('objects', () => {
  /** @param {string} mechanism @param {string} kind */
  const named = (mechanism, kind) =>
    traces[mechanism].objects.filter((object) => object.kind === kind).map(({ name }) => name);

  test('a pipe is one object with two ends', () => {
    expect(traces.pipe.objects.map(({ kind }) => kind)).toEqual(['pipe']);
    const ends = traces.pipe.events[0].effects.map((effect) => effect.as);
    expect(ends).toEqual(['read end', 'write end']);
  });

  test.each([
    ['uds', ['Unix socket of the reader', 'Unix socket of the writer']],
    ['tcp', ['TCP socket of the reader', 'TCP socket of the writer']],
  ])('%s: a listening socket, and two sockets that are peers', (mechanism, names) => {
    expect(named(mechanism, 'listener')).toHaveLength(1);
    expect(named(mechanism, 'socket').sort()).toEqual(names);
    const [a, b] = traces[mechanism].objects.filter(({ kind }) => kind === 'socket');
    expect([a.peer, b.peer]).toEqual([b.id, a.id]);
  });

  test('shm-sem: a page and two semaphores, with their watched words', () => {
    const words = traces['shm-sem'].objects.map((object) => [object.kind, object.words]);
    expect(words).toEqual([
      ['shm', undefined],
      ['semaphore', ['free']],
      ['semaphore', ['full']],
    ]);
  });

  test('ring: each process passes its memory on, and the other maps it read-only', () => {
    expect(named('ring', 'memfd').sort()).toEqual(['memfd crossings of the reader', 'memfd crossings of the writer']);
    const effects = traces.ring.events.flatMap((event) => event.effects);
    expect(effects.filter((effect) => effect.do === 'pass')).toHaveLength(2);
    const mapped = traces.ring.events.filter(({ name, args }) => name === 'mmap' && args[3].includes('MAP_SHARED'));
    expect(mapped.filter(({ args }) => args[2] === 'PROT_READ')).toHaveLength(4);
  });
});

testWhereAllowed('a reader that comes first sleeps, and the first write wakes it', async () => {
  // The scheduler decides which process runs first, so this may take more than one recording.
  for (let attempt = 0; attempt < 20; attempt++) {
    const { events, processes } = interpret(eventsOf(run('crossings-demo', ['--trace', 'pipe']).stdout));
    const first = events.find(({ name }) => name === 'read');
    if (!first?.sleeps) continue;
    const waker = events[first.wokenBy ?? -1];
    expect([waker.name, waker.message, waker.pid]).toEqual(['write', 1, processes[0].pid]);
    return;
  }
  throw new Error('in 20 recordings the reader never slept');
});

testWhereAllowed('calls that cannot sleep are not said to', () => {
  const quick = ['getppid', 'prctl', 'set_robust_list', 'listen', 'pipe', 'pipe2', 'fcntl', 'clone'];
  const slept = Object.values(traces).flatMap(({ events }) => events.filter(({ sleeps }) => sleeps > 0));
  expect(slept.length).toBeGreaterThan(5);
  expect(slept.filter(({ name }) => quick.includes(name)).map(({ name }) => name)).toEqual([]);
});
