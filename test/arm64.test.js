'use strict';
// The C code works on arm64: compiled by a cross compiler, run by qemu.
const { onlyInCi } = require('./in-ci.js');
const part = require('./long/parts/arm64.js');

const missing = onlyInCi || part.findTools().missing;

(missing ? test.skip : test)(
  `ring-test.c passes on arm64, and arm64 programs exchange messages with this machine's${missing && ` (skipped: ${missing})`}`,
  async () => {
    const { failures, figures } = await part.run({ scale: 'short' });
    expect(failures).toEqual([]);
    expect(figures.tests).toBeGreaterThan(10);
  },
);
