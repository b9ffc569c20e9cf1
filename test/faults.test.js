'use strict';
// The short form of the faults; see test/long/parts/faults.js.
const part = require('./long/parts/faults.js');

test(part.title, async () => {
  const { figures, failures } = await part.run({ scale: 'short' });
  expect(failures).toEqual([]);
  expect(figures['channels in one process']).toBe(500);
});
