'use strict';
// The tests run in two phases under one summary: first several at a time, then those that measure,
// one at a time.
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

/** Tests that measure with every core, or compare measurements: they disturb others, and others disturb them. */
const SERIAL = ['bench', 'bench-node', 'latency', 'nodes', 'round-trip-options', 'trust'];

const shared = {
  testEnvironment: '<rootDir>/test/environment.js', // a temporary folder of its own for each test file
  transform: {}, // the tests are plain CommonJS
  setupFilesAfterEnv: ['<rootDir>/test/retry.js'],
};

/** @type {import('jest').Config} */
module.exports = {
  testSequencer: '<rootDir>/test/sequencer.js',
  // The tests wait half of the time: for processes, browsers and time limits.
  maxWorkers: Math.min(Math.ceil(2.5 * availableParallelism()), 8),
  // A failed test may leave a server or a process open. Jest ends a worker that has such handles; in Jest's own process it
  // would wait for them forever. With a memory limit Jest always uses workers.
  workerIdleMemoryLimit: '1GB',
  projects: [
    {
      ...shared,
      displayName: 'parallel',
      testMatch: ['<rootDir>/test/**/*.test.js'],
      testPathIgnorePatterns: [`^<rootDir>/test/(${SERIAL.join('|')})\\.test\\.js$`],
    },
    {
      ...shared,
      displayName: 'serial',
      testMatch: SERIAL.map((name) => `<rootDir>/test/${name}.test.js`),
      runner: join(__dirname, 'test', 'serial-runner.js'),
    },
  ],
  // A limit for what hangs, far above what any test needs on a slow and busy machine.
  testTimeout: 240_000,
};
