'use strict';
// The short form of the handshake abuse; see test/long/parts/handshakes.js.
const { spawnSync } = require('node:child_process');
const part = require('./long/parts/handshakes.js');

const hasCompiler = spawnSync(process.env.CC || 'cc', ['--version']).error === undefined;
const reason = hasCompiler ? '' : ' (skipped: needs a C compiler)';

(hasCompiler ? test : test.skip)(`${part.title}${reason}`, async () => {
  expect(await part.run({ scale: 'short' })).toMatchObject({ failures: [], figures: { 'bad handshakes': 1000 } });
});
