'use strict';
// One binary serves every Node from 20 on: the tests of the channel and of the lab's command, run by other Nodes. Node 22
// and later also have SharedArrayBuffer over our memory, which Node 20 lacks. Their binaries are large; they are
// downloaded from the npm registry into build/nodes in CI, or with ALL_NODES=1. The newest Node runs all of these tests, in CI;
// elsewhere, and the Nodes between, a few that call most of the binary's functions.
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { inCi, onlyInCi } = require('./in-ci.js');
const { downloadFromNpm, folderOf } = require('./matrix/downloads.js');
const { root } = require('./support.js');

const wanted = Boolean(process.env.CI || process.env.ALL_NODES);
const ALL = ['test/channel/', 'test/lab-command.test.js'];
/** What calls most of the binary's functions: memory, the doorbell, the handshake, threads that block, and the process's end. */
const SHORT = ['blocking', 'exit', 'handshake', 'messages', 'resources', 'reuse'].map(
  (name) => `test/channel/${name}.test.js`,
);

const packageName = `node-linux-${process.arch}`;
const binaryOf = (/** @type {number} */ major) => join(folderOf(major), 'node_modules', packageName, 'bin', 'node');

/** Why a Node cannot be tested here, or an empty string. @param {number} major */
function obstacle(major) {
  if (existsSync(binaryOf(major))) return '';
  if (!wanted) return ' (skipped: not downloaded; ALL_NODES=1 downloads it)';
  const failure = downloadFromNpm(major, `${packageName}@${major}`);
  return failure && ` (skipped: ${failure})`;
}

const MAJORS = [22, 24, 26];
const newest = MAJORS.at(-1);

for (const major of MAJORS) {
  const reason = obstacle(major) || (!inCi && !wanted && major !== newest ? ` (skipped: ${onlyInCi})` : '');
  const tests = inCi && major === newest ? ALL : SHORT; // ci.yml runs all of them on each Node
  (reason ? test.skip : test)(
    `the binary built here serves Node ${major}${reason}`,
    () => {
      const node = binaryOf(major);
      const shared = "process.stdout.write(String(require('./lib/channel/native.js').native.hasSharedBuffers))";
      expect(execFileSync(node, ['-e', shared], { cwd: root, encoding: 'utf8' })).toBe('true');
      const env = { ...process.env, SHORT_TESTS: '1' }; // what takes long in CI does not depend on the Node
      const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
      const { status, stderr } = spawnSync(node, [jest, ...tests], { cwd: root, encoding: 'utf8', env });
      expect({ status, failed: stderr.match(/● .*/g) }).toEqual({ status: 0, failed: null });
    },
    600_000,
  );
}
