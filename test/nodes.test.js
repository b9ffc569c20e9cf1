'use strict';
// One binary for every Node from 20 on: the tests of the channel and of the lab's command again, under the other Nodes. Their binaries come from the npm
// registry, into build/nodes; that is done in CI (or with ALL_NODES=1), since they are large. Node 22 and later also have
// SharedArrayBuffer over our memory, which Node 20 has not.
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { root } = require('./support.js');

const wanted = process.env.CI || process.env.ALL_NODES;
const tests = ['test/channel.test.js', 'test/meet.test.js', 'test/lab-command.test.js'];

/** The binary of a Node, or null where it cannot be had. @param {number} major */
function fetchNode(major) {
  const folder = join(root, 'build', 'nodes', String(major));
  const name = `node-linux-${process.arch}`;
  const binary = join(folder, 'node_modules', name, 'bin', 'node');
  if (!existsSync(binary) && wanted) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${major}`];
    spawnSync('npm', install, { cwd: folder, stdio: 'ignore', timeout: 120_000 });
  }
  return existsSync(binary) ? binary : null;
}

test.each([22, 24, 26])(
  'the same binary serves Node %i',
  (major) => {
    const node = fetchNode(major);
    if (!node) {
      console.log(`Node ${major} is not here: skipped (ALL_NODES=1 fetches it from the npm registry)`);
      return;
    }
    const shared = "process.stdout.write(String(require('./lib/channel/native.js').native.hasSharedBuffers))";
    expect(execFileSync(node, ['-e', shared], { cwd: root, encoding: 'utf8' })).toBe('true');
    const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
    const { status, stderr } = spawnSync(node, [jest, ...tests], { cwd: root, encoding: 'utf8', timeout: 200_000 });
    expect({ status, failed: stderr.match(/● .*/g) }).toEqual({ status: 0, failed: null });
  },
  250_000,
);
