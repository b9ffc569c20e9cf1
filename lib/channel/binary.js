'use strict';
// Finds the compiled files: those compiled in this checkout, or else the prebuilt ones for this platform.
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..', '..');

const BUILDS = 'Linux on x64 and arm64, with glibc 2.28 or later or with musl';

/** The C library of this process. A musl process has musl's loader mapped, no matter what else is installed. */
function libc() {
  try {
    return readFileSync('/proc/self/maps', 'latin1').includes('/ld-musl-') ? 'musl' : 'glibc';
  } catch {
    return 'glibc'; // Deno refuses to read /proc without --allow-all; there is no Deno for musl.
  }
}

/**
 * The path of a compiled file, or a sentence that explains why there is none.
 * @param {string} name an addon, such as 'crossings.node', or a program, such as 'crossings-bench'
 * @returns {{path: string, missing: null} | {path: null, missing: string}}
 */
function findBinary(name) {
  const { platform, arch } = process;
  // A bundler copies this file without the compiled ones. Those that it would find belong to somebody else.
  if (!existsSync(join(root, 'lib', 'channel', 'binary.js'))) {
    const hint = 'Tell the bundler to leave crossings out (in esbuild: --external:crossings).';
    return { path: null, missing: `${name} was not found, because this package was bundled. ${hint}` };
  }
  if (platform === 'linux') {
    const compiled = join(root, 'build', 'Release', name);
    if (existsSync(compiled)) return { path: compiled, missing: null };
    // A program is static and runs with either C library; an addon uses the library of the process that loads it.
    const target = name.endsWith('.node') ? `${platform}-${arch}-${libc()}` : `${platform}-${arch}`;
    const prebuilt = join(root, 'build', 'prebuilds', target, name);
    if (existsSync(prebuilt)) return { path: prebuilt, missing: null };
    if (existsSync(join(root, 'binding.gyp'))) {
      return { path: null, missing: `${name} has not been compiled: run \`npm ci\` in ${root}.` };
    }
  }
  return { path: null, missing: `No build of ${name} for ${platform}-${arch}; there are builds for ${BUILDS}.` };
}

module.exports = { findBinary };
