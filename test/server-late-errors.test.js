'use strict';
// What goes wrong after the headers of an answer have been sent ends that answer only: a stream of events ends with its last event, and
// nothing is printed outside the log.
const { startLabHere } = require('./lab.js');
const { Runs } = require('../server/runs.js');

const ID = '00000000-0000-4000-8000-000000000000';

/** A lab in which the run is in progress when its events are asked for, and which then does this. @param {() => null} then */
async function labThen(then) {
  // Outside tests, Express prints the stack of an error that reaches it.
  const printed = jest.spyOn(console, 'error').mockReturnValue();
  process.env.NODE_ENV = 'production';
  const lab = await startLabHere();
  process.env.NODE_ENV = 'test';
  const running = /** @type {any} */ ({ state: 'running' });
  jest.spyOn(Runs.prototype, 'session').mockReturnValueOnce(running).mockReturnValue(null);
  jest.spyOn(Runs.prototype, 'stamp').mockImplementation(then);
  return { lab, printed };
}

afterEach(() => jest.restoreAllMocks());

test('the stream of a run that is removed while it begins ends with an event that says so', async () => {
  const { lab, printed } = await labThen(() => null);
  const message = `Run ${ID} not found. It may have been removed or saved in another folder.`;
  expect(await lab.events(ID)).toEqual([{ event: 'failed', data: { code: 'ERR_NO_RUN', message } }]);
  expect(printed).not.toHaveBeenCalled();
  await lab.close();
});

test('an error of the lab in a stream that has begun breaks the stream off and is in the log', async () => {
  const { lab, printed } = await labThen(() => {
    throw new Error('a fault of the lab');
  });
  await expect(lab.events(ID)).rejects.toThrow('aborted');
  expect(printed).not.toHaveBeenCalled();
  expect(lab.logged.join('')).toContain('a fault of the lab');
  await lab.close();
});
