'use strict';
// The harness detects every fault of a mechanism and reports it with the right error code.
const { eventsOf, leftovers, ourProcesses, run, untilNothingIsLeft } = require('./support.js');

/** @param {string} mechanism @param {(string | number)[]} args */
function failureOf(mechanism, args) {
  const { status, stdout, stderr } = run('crossings-sabotage', ['--mechanism', mechanism, ...args]);
  const error = eventsOf(stdout).find(({ type }) => type === 'error');
  return { status, code: error?.code, message: error?.message, stderr };
}

const stream = ['--messages', 5000, '--round-trips', 0];
const trips = ['--messages', 0, '--round-trips', 2000];

describe.each(['pipe', 'spin'])('throughput over a %s:', (transport) => {
  test.each([
    ['drop', stream, 'ERR_MESSAGE_LOST'],
    ['drop-last', ['--messages', 100, '--round-trips', 0, '--stall-ms', 1000], 'ERR_MESSAGE_LOST'],
    ['double', stream, 'ERR_MESSAGE_DOUBLED'],
    ['swap', stream, 'ERR_MESSAGE_REORDERED'],
    ['alter-start', stream, 'ERR_MESSAGE_ALTERED'],
    ['alter-middle', stream, 'ERR_MESSAGE_ALTERED'],
    ['die', stream, 'ERR_CHILD_DIED'],
  ])('a run with the fault "%s" fails with its own error code', (fault, args, code) => {
    const failure = failureOf(`${transport}-${fault}`, args);
    expect(failure).toMatchObject({ status: 1, code });
    expect(failure.stderr).toBe(`${failure.message} (${code})\n`);
  });
});

describe.each(['pipe', 'spin'])('round trips over a %s:', (transport) => {
  test.each([
    ['drop', 'ERR_STALLED', '--stall-ms', 300], // only one message is in flight: when it is lost, both sides wait
    ['double', 'ERR_MESSAGE_DOUBLED'],
    ['alter-start', 'ERR_MESSAGE_ALTERED'],
    ['alter-middle', 'ERR_MESSAGE_ALTERED'],
    ['die', 'ERR_CHILD_DIED'],
  ])('a run with the fault "%s" fails with its own error code', (fault, code, ...more) => {
    expect(failureOf(`${transport}-${fault}`, [...trips, ...more])).toMatchObject({ status: 1, code });
  });
});

test('a failed run leaves nothing behind', async () => {
  const before = leftovers();
  failureOf('spin-drop', stream);
  failureOf('pipe-die', trips);
  expect(ourProcesses()).toEqual([]);
  await untilNothingIsLeft(before);
});
