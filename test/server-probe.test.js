'use strict';
// Whether this machine allows tracing: asked once, and again if the question itself failed.
jest.mock('../lib/measure/programs.js', () => {
  const actual = jest.requireActual('../lib/measure/programs.js');
  return { ...actual, runProgram: jest.fn() };
});
const { runProgram } = require('../lib/measure/programs.js');
const { Traces } = require('../server/traces.js');

const probe = /** @type {jest.Mock} */ (/** @type {unknown} */ (runProgram));
const answerOf = (/** @type {string} */ allowed, /** @type {string | null} */ reason) => [
  { type: 'methods', ptrace: { allowed, reason } },
];
const YES = { allowed: true, reason: null };

beforeEach(() => probe.mockReset());

test('a failure to ask is reported and not kept', async () => {
  probe.mockRejectedValueOnce(new Error('Cannot run crossings-count: too many open files'));
  probe.mockResolvedValue(answerOf('yes', null));
  const traces = new Traces();
  const failed = { allowed: false, reason: 'Cannot run crossings-count: too many open files' };
  expect(await Promise.all([traces.tracing(), traces.tracing()])).toEqual([failed, failed]);
  expect(await traces.tracing()).toEqual(YES);
  expect(probe).toHaveBeenCalledTimes(2);
});

test.each([
  ['yes', null, YES],
  ['no', 'Operation not permitted', { allowed: false, reason: 'Operation not permitted' }],
])('the answer "%s" is kept', async (allowed, reason, expected) => {
  probe.mockResolvedValue(answerOf(allowed, reason));
  const traces = new Traces();
  expect([await traces.tracing(), await traces.tracing()]).toEqual([expected, expected]);
  expect(probe).toHaveBeenCalledTimes(1);
});

test('something that has stopped the program does not keep the answer waiting forever', async () => {
  probe.mockResolvedValue(answerOf('yes', null));
  await new Traces().tracing();
  expect(probe).toHaveBeenCalledWith('crossings-count', ['--probe'], { limitMs: expect.any(Number) });
});
