'use strict';
// Whatever bytes a peer sends in the handshake and stores in its ring, reading them ends in a message or an error.
const { STAGES, SECONDS } = require('./long/parts/fuzz.js');

const seed = Number(process.env.SEED ?? Date.now() % 1e6);

test.each(STAGES)('$name', async ({ run }) => {
  const { failures } = await run(SECONDS.short, seed);
  expect(failures).toEqual([]);
});
