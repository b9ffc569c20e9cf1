'use strict';
// Which binary is loaded on which platform, and what a user reads where there is none. Each test loads a copy of lib/ as an
// installed package has it: without binding.gyp, and with the compiled files that the test gives it.
const { spawnSync } = require('node:child_process');
const { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { dirname, join } = require('node:path');
const { built, root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'loader-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { arch } = process;
let installed = 0;

/** An installed package. @param {string[]} binaries below build/: copies of the addon @returns {string} its folder */
function install(...binaries) {
  const path = join(folder, `${installed++}`);
  cpSync(join(root, 'lib'), join(path, 'lib'), { recursive: true });
  for (const binary of binaries) {
    mkdirSync(dirname(join(path, 'build', binary)), { recursive: true });
    copyFileSync(built('crossings.node'), join(path, 'build', binary));
  }
  return path;
}

/**
 * Runs code in a process that takes itself for another platform.
 * @param {string} cwd the package
 * @param {string} code
 * @param {{platform?: string, arch?: string, musl?: boolean}} [pretended]
 */
function run(cwd, code, pretended = {}) {
  const pretend = `
    for (const [name, value] of Object.entries(${JSON.stringify(pretended)}))
      Object.defineProperty(process, name, { value });
    const fs = require('node:fs'), { readFileSync } = fs;
    if (process.musl) fs.readFileSync = (path, ...rest) =>
      path === '/proc/self/maps' ? '7f00-7f01 r--p 0 0:0 0 /lib/ld-musl-x86_64.so.1' : readFileSync(path, ...rest);
    const { unavailable } = require('./lib/channel/native.js');
    const { findBinary } = require('./lib/channel/binary.js');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', pretend + code], { cwd, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout;
}

const WHERE = `console.log(String(findBinary('crossings.node').path).replace(process.cwd(), '.'), unavailable);`;

test('on glibc and on musl, the addon for that library is loaded', () => {
  const path = install(`prebuilds/linux-${arch}-glibc/crossings.node`, `prebuilds/linux-${arch}-musl/crossings.node`);
  expect(run(path, WHERE)).toBe(`./build/prebuilds/linux-${arch}-glibc/crossings.node null\n`);
  expect(run(path, WHERE, { musl: true })).toBe(`./build/prebuilds/linux-${arch}-musl/crossings.node null\n`);
});

test('what a checkout has compiled is preferred', () => {
  const path = install('Release/crossings.node', `prebuilds/linux-${arch}-glibc/crossings.node`);
  expect(run(path, WHERE)).toBe('./build/Release/crossings.node null\n');
});

test.each([
  ['darwin', 'arm64', false],
  ['win32', 'x64', false],
  ['linux', 'ppc64', false],
  ['linux', arch, true],
])('without a build for %s-%s, a sentence names the platform and the builds', (platform, cpu, musl) => {
  const path = install(`prebuilds/linux-${arch}-glibc/crossings.node`);
  expect(run(path, 'console.log(unavailable);', { platform, arch: cpu, musl })).toBe(
    `No build of crossings.node for ${platform}-${cpu}; there are builds for Linux on x64 and arm64, with glibc 2.28 or later or with musl.\n`,
  );
});

// It looked two folders above the bundle: in a folder of another program, or in /tmp.
test('a bundle says so, and loads no addon that it was not made with', () => {
  const path = install('Release/crossings.node');
  const bundle = join(path, 'dist', 'server');
  mkdirSync(bundle, { recursive: true });
  copyFileSync(join(path, 'lib', 'channel', 'binary.js'), join(bundle, 'binary.js'));
  rmSync(join(path, 'lib'), { recursive: true });
  const { path: found, missing } = require(join(bundle, 'binary.js')).findBinary('crossings.node');
  expect([found, missing]).toEqual([
    null,
    'crossings.node was not found, because this package was bundled. Tell the bundler to leave crossings out (in esbuild: --external:crossings).',
  ]);
});

test('without a build, require() succeeds and the first call that needs the addon throws the sentence', () => {
  const code = `
    const { channelPair } = require('./lib/index.js');
    try { channelPair(); } catch ({ name, code, message }) { console.log(name, code, message.startsWith(unavailable + ' ')); }`;
  expect(run(install(), code, { platform: 'darwin' })).toBe('CrossingsError ERR_UNSUPPORTED true\n');
});

test('a binary that cannot be loaded is named, with the reason', () => {
  const path = install('Release/crossings.node');
  writeFileSync(join(path, 'build', 'Release', 'crossings.node'), 'not an addon');
  expect(run(path, 'console.log(unavailable);')).toMatch(/^Cannot load \/.*\/build\/Release\/crossings\.node: .+\.\n$/);
});

test('a checkout that has not been compiled says how to compile it', () => {
  const path = install();
  writeFileSync(join(path, 'binding.gyp'), '');
  expect(run(path, 'console.log(unavailable);')).toBe(
    `crossings.node has not been compiled: run \`npm ci\` in ${path}.\n`,
  );
});
