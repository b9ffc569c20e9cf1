'use strict';
// Jest's own runner, one test file at a time. Jest runs the tests of different runners one after the other, so nothing
// else runs meanwhile.
const { default: TestRunner } = require('jest-runner');

module.exports = class SerialRunner extends TestRunner {
  isSerial = true;
};
