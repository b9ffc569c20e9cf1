'use strict';
// `crossings trace -- COMMAND` ends a program only if nothing can wake it. Each of these is woken by a process that is not
// recorded, long after all its threads have fallen asleep (test/woken.c).
const { spawn } = require('node:child_process');
const { mkdtempSync, openSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { recordProgram } = require('../lib/trace/program/record.js');
const { built, run } = require('./support.js');

const SLEEP_MS = 3500; // the tracer reports programs that have slept for a second
const allowed = run('crossings-demo', ['--trace', 'pipe']).status === 0;
const describeWhereAllowed = allowed ? describe : describe.skip;
const folder = mkdtempSync(join(tmpdir(), 'trace-outside-'));
afterAll(() => rmSync(folder, { recursive: true }));
const nowhere = openSync('/dev/null', 'r+');

/** @typedef {{ended: string, status: number | null, why: string}} Outcome */

/**
 * Records a program that waits, and wakes it.
 * @param {string} what
 * @param {Parameters<typeof recordProgram>[0]['tracer']} [tracer]
 * @returns {Promise<Outcome>}
 */
async function wake(what, tracer = undefined) {
  const path = join(folder, what);
  const waker = spawn(built('crossings-woken'), [what, path, 'wake'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const woken = new Promise((resolve) => waker.once('exit', resolve));
  await Promise.race([new Promise((resolve) => waker.stdout.once('data', resolve)), woken]);
  const command = [built('crossings-woken'), what, path, 'wait'];
  const recording = recordProgram({
    command,
    tracer,
    timeoutSeconds: 25,
    spawn: { stdio: [nowhere, nowhere, 'inherit', 'pipe'] },
  });
  await Promise.race([sleep(SLEEP_MS), recording]);
  waker.stdin.end('\n');
  const { ended, status, stuck } = await recording;
  waker.kill(); // if the program was ended, nobody takes what it offers
  await woken;
  return { ended, status, why: stuck?.text ?? '' };
}

describeWhereAllowed('a program goes on, and exits with 0, if a process that is not recorded wakes it:', () => {
  /** All at once, since they do nothing but sleep. @type {Map<string, Promise<Outcome>>} */
  const outcomes = new Map();
  const CASES = [
    ['it opens a named pipe', 'fifo-open'],
    ['it reads a named pipe that it also has open for writing', 'fifo-read'],
    ['it writes into a full named pipe that it also has open for reading', 'fifo-write'],
    ['it sleeps in a call that the recorder does not understand', 'splice'],
    ['it waits for a lock of a file: flock()', 'flock'],
    ['it waits for a lock of a part of a file: fcntl()', 'fcntl'],
    ['it waits for a lock of an open file description: fcntl()', 'ofd'],
    ['it waits for a semaphore in a mapped file', 'mapped'],
    ['it waits for a semaphore in a memfd that it received', 'memory'],
    ['it waits for a named semaphore', 'semaphore'],
    ['it waits for a named semaphore that it made itself', 'created'],
    ['it waits for a mutex in a mapped file', 'mutex'],
    ['it waits for a semaphore in a System V segment', 'segment'],
    ['it receives from a POSIX message queue', 'mq'],
    ['it receives from a System V message queue', 'msg'],
    ['it waits for a System V semaphore', 'sem'],
    ['it waits for a signal: pause()', 'pause'],
    ['it waits for a signal: sigsuspend()', 'sigsuspend'],
    ['it waits for a signal: sigwaitinfo()', 'sigwaitinfo'],
    ['it waits for a signal: signalfd()', 'signalfd'],
    ['its signal handler writes into the pipe that it reads', 'self-pipe'],
    ['its signal handler interrupts the wait for a child', 'interrupted'],
    ['it accepts connections', 'accept'],
    ['its socket has a name, and receives datagrams of any sender', 'datagram'],
    ['it reads a pipe that it received from the other process', 'received'],
    ['it waits for a lock whose descriptor it received from the other process', 'received-lock'],
    ['it reads an eventfd that it sent to the other process', 'sent'],
    ['it reads an eventfd that it sent to the other process with sendmmsg()', 'sent-list'],
    ['it received an eventfd that has the number of one that it closed', 'received-again'],
    ['it reads what its child writes, which no tracer gets', 'untraced'],
    ['it takes an eventfd of another process', 'fetched'],
    ['its thread has descriptors of its own', 'unshared'],
    ['its TCP socket is connected to one of its own first, then to the other process', 'reconnected'],
    ['one end of its pair of datagram sockets is connected to the other process', 'redirected'],
    ['the kernel takes long to carry what one process sends to the other', 'slow'],
  ];
  beforeAll(() => {
    for (const [, what] of CASES) outcomes.set(what, wake(what));
    return Promise.allSettled(outcomes.values());
  }, 60_000);

  test.each(CASES)('%s', async (_, what) => {
    expect(await outcomes.get(what)).toEqual({ ended: 'exited', status: 0, why: '' });
  });

  // There, /proc/locks shows no lock of a process outside.
  test('it waits for a lock that a process outside its namespace holds', async () => {
    const tracer = { program: 'crossings-lessons', args: ['--confine', '--trace', '--exec'] };
    expect(await wake('fcntl-parts', tracer)).toEqual({ ended: 'exited', status: 0, why: '' });
  });
});

describeWhereAllowed('a program that goes on by itself a few seconds later is not called deadlocked:', () => {
  const CASES = [
    ['the number of the descriptor that a thread reads is given to another object', 'renumbered'],
    ['a full TCP connection gets room by an option', 'window'],
    ['it polls for room in a pipe whose other end it has not closed', 'forgotten'],
    ['it waits for a child that it has adopted', 'adopted'],
    ['the end of its pipe that is written is on its way through a socket', 'in-flight'],
    ['its child shuts down the socket that it reads', 'shut'],
    ['a process that shares its memory wakes it', 'same-memory'],
    ['its handler is told of the end of a child that it has adopted', 'told'],
    ['it selects a timer', 'selected'],
    ['a signal tells it that its child writes', 'signalled'],
    ['datagrams that another process has not read take the room of its socket', 'crowded'],
  ];
  /** @type {Map<string, ReturnType<typeof recordProgram>>} */
  const recordings = new Map();
  beforeAll(() => {
    for (const [, what] of CASES) {
      const command = [built('crossings-goes-on'), what];
      const recording = recordProgram({
        command,
        timeoutSeconds: 6,
        spawn: { stdio: [nowhere, nowhere, 'inherit', 'pipe'] },
      });
      recordings.set(what, recording);
    }
    return Promise.allSettled(recordings.values());
  }, 60_000);

  test.each(CASES)('%s', async (_, what) => {
    const { ended, stuck, waiting } = /** @type {any} */ (await recordings.get(what));
    expect({ ended, stuck: stuck?.text }).toEqual({ ended: 'timeout' });
    expect(waiting.text).toMatch(/^(No deadlock|Perhaps a deadlock, but not all that the program did is known): /);
  });

  test('the number with which select() begins is not taken for a descriptor', async () => {
    const { waiting } = /** @type {any} */ (await recordings.get('selected'));
    expect(waiting.text).not.toContain('descriptor');
    expect(waiting.waits).toEqual([expect.objectContaining({ object: null, fd: null })]);
  });
});
