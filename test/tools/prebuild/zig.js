'use strict';
// The cross compiler, and Node's headers: where they are, or what to run to get them.
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { homedir } = require('node:os');
const { dirname, join, resolve } = require('node:path');

const GET_ZIG = 'python3 -m venv build/zig && build/zig/bin/pip install -r test/tools/prebuild/requirements.txt';

/**
 * The words that start zig: those of the variable ZIG, what GET_ZIG installs, or what PATH has.
 * @param {string} root the checkout
 * @returns {string[] | null}
 */
function findZig(root) {
  const candidates = [
    ...(process.env.ZIG ? [process.env.ZIG.split(' ')] : []),
    [join(root, 'build', 'zig', 'bin', 'python'), '-m', 'ziglang'],
    ['python3', '-m', 'ziglang'],
    ['zig'],
  ];
  return candidates.find(([command, ...args]) => spawnSync(command, [...args, 'version']).status === 0) ?? null;
}

/** The folder of zig's own headers and sources. @param {string[]} zig @returns {string} */
function zigLibrary([command, ...args]) {
  const { stdout } = spawnSync(command, [...args, 'env'], { encoding: 'utf8' });
  const [, folder] = /"?\.?lib_dir"?\s*[=:]\s*"([^"]+)"/.exec(stdout) ?? [];
  if (!folder) throw new Error('`zig env` does not name lib_dir.');
  return resolve(folder); // zig writes it relative to the current folder if it is in there
}

/**
 * The folder of node_api.h and uv.h: what is installed with Node, or what node-gyp has fetched. They are the same for
 * every platform.
 * @returns {string | null}
 */
function findHeaders() {
  const folders = [
    join(dirname(process.execPath), '..', 'include', 'node'),
    join(homedir(), '.cache', 'node-gyp', process.versions.node, 'include', 'node'),
  ];
  return folders.find((folder) => ['node_api.h', 'uv.h'].every((name) => existsSync(join(folder, name)))) ?? null;
}

module.exports = { GET_ZIG, findHeaders, findZig, zigLibrary };
