'use strict';
// What the lessons on shared memory (6 to 10) claim, where it must hold on every machine: the cure cures. What goes wrong
// without it happens by chance, so these tests give it many tries, and more than one core.
const { availableParallelism } = require('node:os');
const { figuresIn } = require('../lib/lessons/figures.js');
const { run } = require('./support.js');

/** The figures that a program prints, as plain numbers. @param {string} program @param {(string | number)[]} [args] */
function figuresOf(program, args = []) {
  const { status, stdout, stderr } = run('crossings-lessons', ['--', program, ...args]);
  const figures = Object.entries(figuresIn(stdout.split('\n'))).map(([name, { value }]) => [name, value]);
  return { status, stdout, stderr, figures: Object.fromEntries(figures) };
}

/** Runs a program until its figures are as wanted. @param {() => any} once @param {(figures: any) => boolean} wanted */
function eventually(once, wanted) {
  for (let tries = 0; tries < 40; tries++) {
    const { figures } = once();
    if (wanted(figures)) return figures;
  }
  throw new Error('It did not happen in 40 runs.');
}

test('copies are torn without a protocol, and never with acquire and release', () => {
  const once = () => figuresOf('07-acquire-release/torn', ['--ms', 30]);
  const figures = eventually(once, ({ torn }) => torn > 0);
  expect(figures).toMatchObject({ orderedTorn: 0 });
  expect(figures.orderedReads).toBeGreaterThan(0);
});

test('a loop that jumps to itself never sees the flag; a loop with an atomic load does', () => {
  const { figures } = figuresOf('07-acquire-release/stale');
  expect(figures).toMatchObject({ atomicJumps: 0, atomicSees: 1 });
  expect(figures.plainSees).toBe(figures.plainJumps > 0 ? 0 : 1);
});

test('two processes never hang with both fences', () => {
  const { figures } = figuresOf('09-spin-or-sleep/hang', ['--fences', 2, '--seconds', 1]);
  expect(figures.hangs).toBe(0);
  expect(figures.numbers).toBeGreaterThan(0);
});

(availableParallelism() > 1 ? test : test.skip).each([0, 1])(
  'two processes hang with %i of the two fences',
  (fences) => {
    const once = () => figuresOf('09-spin-or-sleep/hang', ['--fences', fences, '--seconds', 3]);
    eventually(once, ({ hangs }) => hangs === 1);
  },
);

test('at least one of two processes sees the other, if each has a fence between its store and its load', () => {
  const { figures } = figuresOf('09-spin-or-sleep/lost', ['--ms', 100]);
  expect(figures).toMatchObject({ fencedMissed: 0 });
  expect(figures.fencedTries).toBeGreaterThan(0);
});

test('the kernel refuses every attempt to write sealed memory, and none without seals', () => {
  expect(figuresOf('10-sealed/sealed').figures).toEqual({ attempts: 8, refused: 8, seals: 1, ownerFinds: 42 });
  expect(figuresOf('10-sealed/sealed', ['--seals', 0]).figures).toMatchObject({ refused: 0, ownerFinds: -1 });
});

test.each([
  ['06-padding/padding', ['--distance', '7x'], '--distance must be a number from 8 to 1024; got "7x".\n'],
  ['08-ring/full', ['--reader-ns'], '--reader-ns must be a number from 0 to 20000; got "".\n'],
  ['09-spin-or-sleep/hang', ['--fence', '1'], 'Unknown option "--fence". Options: --fences --seconds --watch\n'],
  ['10-sealed/sealed', ['--seals', '2'], '--seals must be 0 or 1; got "2".\n'],
])('%s %j ends with a sentence', (program, args, sentence) => {
  expect(figuresOf(program, args)).toMatchObject({ status: 2, stderr: sentence });
});
