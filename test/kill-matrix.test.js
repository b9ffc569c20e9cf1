'use strict';
// SIGKILL of either side at named steps and at random moments: the short form of test/long/parts/kill-matrix.js.
const { testInCi } = require('./in-ci.js');
const { run } = require('./long/parts/kill-matrix.js');

testInCi(
  'whichever side is killed, and whenever: nothing is torn, the death is noticed, nothing is left behind',
  async () => {
    const seed = Date.now() % 2 ** 31; // a failure prints it
    const { figures, failures } = await run({ scale: 'short', seed });
    expect({ seed, failures }).toEqual({ seed, failures: [] });
    expect(figures.kills).toBeGreaterThanOrEqual(100);
  },
);
