'use strict';
// The short form of the part of the long run that attacks the lab's server.
const { testInCi } = require('./in-ci.js');
const part = require('./long/parts/lab.js');

testInCi(
  'generated requests, slow clients and many canceled runs neither stop the server nor make it grow',
  async () => {
    const { figures, failures } = await part.run({ scale: 'short', seed: 1 });
    expect(failures).toEqual([]);
    expect(figures['requests generated from the schemas']).toBeGreaterThan(0); // a busy machine sends fewer in the time
  },
);
