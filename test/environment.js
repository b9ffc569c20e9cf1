'use strict';
// Where one test file runs: Jest's environment for Node, with a temporary folder of its own and a mark that all processes
// inherit. By these a test recognizes what its own processes leave behind, whatever other tests do meanwhile.
const { randomUUID } = require('node:crypto');
const { chmodSync, mkdtempSync, realpathSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { TestEnvironment } = require('jest-environment-node');

/**
 * The variables of the real environment, which child processes inherit. A test sees a copy.
 * @returns {Record<string, string>}
 */
function variables() {
  const shared = process.env.CROSSINGS_SHARED_TMP ?? realpathSync(tmpdir());
  const own = mkdtempSync(join(shared, 'test-')); // a short name: the path of a socket has at most 107 characters
  chmodSync(own, 0o711); // some tests run a process of another user
  return {
    CROSSINGS_SHARED_TMP: shared, // what is worth keeping for other test files, such as the unpacked browser
    TMPDIR: own,
    CROSSINGS_TEST: randomUUID(),
    CROSSINGS_TEST_ROUNDS: process.env.CROSSINGS_TEST_ROUNDS ?? '3', // of samples, instead of a time budget
  };
}

module.exports = class extends TestEnvironment {
  /** @param {ConstructorParameters<typeof TestEnvironment>} args */
  constructor(...args) {
    const own = variables();
    const before = Object.keys(own).map((name) => [name, process.env[name]]);
    Object.assign(process.env, own);
    super(...args);
    this.folder = own.TMPDIR;
    this.before = before;
  }

  async teardown() {
    await super.teardown();
    for (const [name, value] of this.before) {
      if (value === undefined) delete process.env[String(name)];
      else process.env[String(name)] = value;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
};
