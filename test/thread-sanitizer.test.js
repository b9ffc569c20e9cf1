'use strict';
// The C code has no data race that the thread sanitizer can see, and the sanitizer sees a race if any memory order is weakened.
const { onlyInCi } = require('./in-ci.js');
const part = require('./long/parts/thread-sanitizer.js');

const missing = onlyInCi || part.findCompiler().missing;

(missing ? test.skip : test)(
  `both ends of a C channel in two threads: no race, but one with any memory order weakened${missing && ` (skipped: ${missing})`}`,
  async () => {
    const { failures, figures } = await part.run({ scale: 'short' });
    expect(failures).toEqual([]);
    expect(figures.mutants).toBe(4);
  },
);
