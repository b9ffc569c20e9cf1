'use strict';
// Tests that take long, and find what an ordinary change seldom breaks, run in CI, where the variable CI is set, and with
// ALL_TESTS=1. Elsewhere they are skipped, and their names say so; so they are with SHORT_TESTS=1. CONTRIBUTING.md lists them.
const inCi = Boolean((process.env.CI || process.env.ALL_TESTS) && !process.env.SHORT_TESTS);

/** Why such a test does not run here, or an empty string. */
const onlyInCi = inCi ? '' : 'only in CI or with ALL_TESTS=1';

/**
 * `test` for such a test.
 * @param {string} name
 * @param {jest.ProvidesCallback} run
 * @param {number} [limitMs]
 */
const testInCi = (name, run, limitMs) =>
  (inCi ? test : test.skip)(`${name}${onlyInCi && ` (skipped: ${onlyInCi})`}`, run, limitMs);

module.exports = { inCi, onlyInCi, testInCi };
