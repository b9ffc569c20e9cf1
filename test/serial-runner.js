'use strict';
// Jest's own runner with one worker: one test file at a time. Jest runs the tests of different runners one after the
// other, so nothing else runs meanwhile. (`isSerial` would do the same in Jest's own process; see jest.config.js.)
const { default: TestRunner } = require('jest-runner');

module.exports = class SerialRunner extends TestRunner {
  /** @param {ConstructorParameters<typeof TestRunner>} args */
  constructor(...[globalConfig, context]) {
    super({ ...globalConfig, maxWorkers: 1 }, context);
  }
};
