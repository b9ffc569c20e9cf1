'use strict';
// The tests run in two phases under one summary: first those that look only at their own processes and files, two at a
// time, then those that need the machine to themselves, one at a time.
const { join } = require('node:path');

/** Tests that measure, or that look for leftovers in the machine's process list, /dev/shm and temporary folder. */
const SERIAL = [
  'arguments',
  'bench',
  'bench-node',
  'crossings',
  'killed',
  'lab-command',
  'nodes',
  'sabotage',
  'trace',
  'trace-command',
];

const shared = {
  testEnvironment: 'node',
  transform: {}, // the tests are plain CommonJS
};

/** @type {import('jest').Config} */
module.exports = {
  maxWorkers: 2,
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
