'use strict';
// Whatever bytes a peer sends in the handshake and stores in its ring, reading them ends in a message or an error.
const { testInCi } = require('./in-ci.js');
const { STAGES, SECONDS } = require('./long/parts/fuzz.js');

const seed = Number(process.env.SEED ?? Date.now() % 1e6);

for (const { name, run } of STAGES) {
  testInCi(name, async () => {
    const { failures } = await run(SECONDS.short, seed);
    expect(failures).toEqual([]);
  });
}
