'use strict';
// The tests run in two phases under one summary: first those that look only at their own processes and files, several at
// a time, then those that need the machine to themselves, one at a time.
const { availableParallelism } = require('node:os');
const { join } = require('node:path');

/** Tests that measure, or that look for leftovers in the machine's process list, /dev/shm and temporary folder. */
const SERIAL = [
  'arguments',
  'bench',
  'bench-node',
  'bill',
  'crossings',
  'cycles',
  'killed',
  'lab-command',
  'latency',
  'nodes',
  'prove',
  'round-trip-options',
  'sabotage',
  'trace',
  'trace-command',
  'trust',
];

const shared = {
  testEnvironment: 'node',
  transform: {}, // the tests are plain CommonJS
};

/** @type {import('jest').Config} */
module.exports = {
  // The tests wait most of the time: for processes, browsers and time limits.
  maxWorkers: Math.min(2 * availableParallelism(), 8),
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
      globals: { SERIAL: true },
    },
  ],
  // A limit for what hangs, far above what any test needs on a slow and busy machine.
  testTimeout: 240_000,
};
