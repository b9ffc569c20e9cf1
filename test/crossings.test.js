'use strict';
// The number of system calls that each mechanism makes per message, counted by the kernel.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { countCrossings, slope } = require('../lib/measure/crossings.js');
const { compile } = require('./hostile/build.js');
const { eventsOf, run } = require('./support.js');

const [machine] = eventsOf(run('crossings-bench', ['--describe']).stdout);
const [methods] = eventsOf(run('crossings-count', ['--probe']).stdout);
const twoCores = machine.pinnedCores[0] !== machine.pinnedCores[1];
const placement = ['--cores', machine.pinnedCores.join(',')];

/** @param {string} mechanism @param {string} countMethod */
const count = (mechanism, countMethod) => countCrossings(mechanism, placement, { sizeBytes: 64, countMethod });

describe.each(['tracepoint', 'ptrace'])('counted by %s', (method) => {
  const allowed = methods[method].allowed === 'yes';
  const testWhereAllowed = allowed ? test : test.skip;

  testWhereAllowed.each([
    ['pipe', { read: 2, write: 2 }],
    ['uds', { recvfrom: 2, sendto: 2 }],
    ['tcp', { recvfrom: 2, sendto: 2 }],
    ['dgram', { recvfrom: 2, sendto: 2 }],
  ])('a round trip over %s makes exactly 4 crossings, a message 2', async (mechanism, byName) => {
    const crossings = await count(mechanism, method);
    expect(crossings).toMatchObject({ perRoundTrip: 4, perMessage: 2, method, byName });
  });

  const testWhereTwoCores = allowed && twoCores ? test : test.skip;
  testWhereTwoCores.each(['shm-spin', 'ring'])('a round trip over %s makes no crossing', async (mechanism) => {
    expect(await count(mechanism, method)).toMatchObject({ perRoundTrip: 0, perMessage: 0, method, byName: {} });
  });

  testWhereAllowed('a round trip over eventfd and signalfd makes exactly 4 crossings, a message about 2', async () => {
    const crossings = await count('eventfd-signalfd', method);
    expect(crossings).toMatchObject({ perRoundTrip: 4, byName: { read: 2, write: 1, rt_sigqueueinfo: 1 } });
    expect(crossings.perMessage).toBeLessThan(3); // some are announced together, but credit costs more calls
  });

  testWhereAllowed('a round trip over the futex makes only futex calls, about 4', async () => {
    const { perRoundTrip, byName } = await count('futex', method);
    expect(Object.keys(byName).filter((name) => name !== 'futex')).toEqual([]);
    expect(perRoundTrip).toBeGreaterThan(0);
    expect(perRoundTrip).toBeLessThan(6); // a wait that came too late is made again, more often on a busy machine
  });

  testWhereAllowed('shm-sem makes only futex calls', async () => {
    const { perRoundTrip, byName } = await count('shm-sem', method);
    expect(Object.keys(byName).filter((name) => name !== 'futex')).toEqual([]);
    // A round trip has four waits and four posts. A wait that finds the semaphore taken makes another call.
    expect(perRoundTrip).toBeLessThanOrEqual(12);
  });
});

const testBoth = methods.tracepoint.allowed === 'yes' && methods.ptrace.allowed === 'yes' ? test : test.skip;
testBoth('both methods count the calls of the command only, and the same', () => {
  const [tracepoint, ptrace] = ['tracepoint', 'ptrace'].map(
    (method) => eventsOf(run('crossings-count', ['--method', method, '--', 'sh', '-c', ':']).stdout)[0],
  );
  expect(ptrace.byName).toEqual(tracepoint.byName);
  expect(ptrace.total).toBeGreaterThan(0);
});

test('a count that fails gives no figure, but a reason', async () => {
  const crossings = await countCrossings('no-such-mechanism', placement, { sizeBytes: 64, countMethod: 'auto' });
  expect(crossings).toMatchObject({ perRoundTrip: null, perMessage: null, method: null, notice: expect.any(String) });
});

test('setup drops out of the slope', () => {
  const fewer = { total: 130, byName: { read: 100, openat: 30 } };
  const more = { total: 430, byName: { read: 400, openat: 30 } };
  expect(slope(fewer, more, 100)).toEqual({ total: 3, byName: { read: 3 } });
});

describe('crossings-count', () => {
  const countable = methods.tracepoint.allowed === 'yes' || methods.ptrace.allowed === 'yes';
  (countable ? test : test.skip)('counts the system calls of a command exactly', () => {
    const counted = (/** @type {number} */ blocks) => {
      const { stdout } = run('crossings-count', ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', `count=${blocks}`]);
      return eventsOf(stdout)[0].byName;
    };
    const [fewer, more] = [counted(100), counted(300)];
    expect(more.read - fewer.read).toBe(200);
    expect(more.write - fewer.write).toBe(200);
  });

  test("exits with the command's status and prints no count if the command failed", () => {
    expect(run('crossings-count', ['sh', '-c', 'exit 3'])).toMatchObject({ status: 3, stdout: '' });
    expect(run('crossings-count', ['/no/such/program'])).toMatchObject({ status: 127, stdout: '' });
    const killed = { status: 1, stdout: '', stderr: 'The command was ended by signal 6 (Aborted).\n' };
    expect(run('crossings-count', ['sh', '-c', 'kill -ABRT $$'])).toMatchObject(killed);
  });

  test('refuses an unknown method and a missing command', () => {
    expect(run('crossings-count', ['--method', 'guess', 'true'])).toMatchObject({ status: 2 });
    expect(run('crossings-count', [])).toMatchObject({ status: 2 });
  });
});

const testPtrace = methods.ptrace.allowed === 'yes' ? test : test.skip;
// It resumed the youngest thread that had stopped, again and again: with many threads, the oldest one hardly got anywhere.
testPtrace('counting by ptrace keeps no thread of the command waiting for the others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'starve-'));
  try {
    const command = compile(join(folder, 'starve'), ['test/starve.c'], ['-O1']);
    const [{ byName }] = eventsOf(run('crossings-count', ['--method', 'ptrace', '--', command, '8']).stdout);
    expect(byName.getppid).toBeLessThan(2000 * 9 * 8); // each of 9 threads makes 2000 calls; the kernel is not quite fair either
  } finally {
    rmSync(folder, { recursive: true });
  }
});
