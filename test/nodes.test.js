'use strict';
// One binary serves every Node from 20 on: the tests of the channel and of the lab's command, run by other Nodes. Node 22
// and later also have SharedArrayBuffer over our memory, which Node 20 lacks. Their binaries are large; they are
// downloaded from the npm registry into build/nodes in CI, or with ALL_NODES=1.
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { downloadFromNpm, folderOf } = require('./matrix/downloads.js');
const { root } = require('./support.js');

const wanted = Boolean(process.env.CI || process.env.ALL_NODES);
const tests = ['test/channel/', 'test/lab-command.test.js'];

const packageName = `node-linux-${process.arch}`;
const binaryOf = (/** @type {number} */ major) => join(folderOf(major), 'node_modules', packageName, 'bin', 'node');

/** Why a Node cannot be tested here, or an empty string. @param {number} major */
function obstacle(major) {
  if (existsSync(binaryOf(major))) return '';
  if (!wanted) return ' (skipped: not downloaded; ALL_NODES=1 downloads it)';
  const failure = downloadFromNpm(major, `${packageName}@${major}`);
  return failure && ` (skipped: ${failure})`;
}

for (const major of [22, 24, 26]) {
  const reason = obstacle(major);
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
