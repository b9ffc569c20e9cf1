'use strict';
// Compiles the programs of the hostile peer, and the addon with sanitizers, into a temporary folder.
const { spawnSync } = require('node:child_process');
const { existsSync, readFileSync, readdirSync } = require('node:fs');
const { join } = require('node:path');
const { C_INTERFACE, RING } = require('../native.js');
const { root } = require('../support.js');

const SANITIZED = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
const ADDON = readdirSync(join(root, 'native', 'addon'))
  .filter((name) => name.endsWith('.cc'))
  .map((name) => `native/addon/${name}`);
const compiler = process.env.CC || 'cc';
const cxxCompiler = process.env.CXX || 'c++';

/** What the sanitizers need to know of their programs. Node itself leaks at its end, and V8 maps much at its start. */
const SANITIZER_ENV = {
  ASAN_OPTIONS: 'detect_leaks=0:quarantine_size_mb=8:malloc_context_size=4:abort_on_error=1',
  UBSAN_OPTIONS: 'print_stacktrace=1',
};

/** @param {string} command @param {string[]} args @returns {string} "" or what went wrong */
function runCompiler(command, args) {
  const { status, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  if (error) return `${command}: ${error.message}`;
  return status === 0 ? '' : stderr || `${command} failed`;
}

/**
 * Compiles a C program of this folder.
 * @param {string} output
 * @param {string[]} sources
 * @param {string[]} flags
 */
function compile(output, sources, flags) {
  const args = ['-std=gnu11', '-D_GNU_SOURCE', '-g', '-pthread', ...flags, '-o', output, ...sources];
  const problem = runCompiler(compiler, args);
  if (problem) throw new Error(problem);
  return output;
}

let sanitizers = /** @type {boolean | undefined} */ (undefined);
/** Does the C compiler have the address and undefined-behavior sanitizers? */
function hasSanitizers() {
  sanitizers ??=
    spawnSync(compiler, ['-x', 'c', ...SANITIZED, '-o', '/dev/null', '-'], { input: 'int main(void) { return 0; }' })
      .status === 0;
  return sanitizers;
}

/** @param {string} folder @returns {string} the path of the program */
const buildPeer = (folder) =>
  compile(join(folder, 'hostile-peer'), ['test/hostile/hostile-peer.c', 'test/hostile/attacks.c', ...RING], ['-O2']);

/** The victim in C, with the sanitizers if the compiler has them. @param {string} folder */
function buildVictim(folder) {
  const flags = ['-O1', ...(hasSanitizers() ? SANITIZED : []), '-include', 'test/hostile/guards.h'];
  return compile(join(folder, 'victim'), ['test/hostile/victim.c', ...C_INTERFACE], flags);
}

/** The folder of Node's headers that built the addon, or undefined. */
function nodeHeaders() {
  try {
    const text = readFileSync(join(root, 'build', 'config.gypi'), 'utf8').replace(/^#.*$/m, '');
    const headers = join(JSON.parse(text).variables.nodedir, 'include', 'node');
    return existsSync(join(headers, 'uv.h')) ? headers : undefined;
  } catch {
    return undefined; // no build, or one that says nothing of its headers: the caller skips
  }
}

/** The library that a sanitized addon needs in LD_PRELOAD, or undefined. */
function sanitizerLibrary() {
  const { stdout } = spawnSync(cxxCompiler, ['-print-file-name=libasan.so'], { encoding: 'utf8' });
  const path = String(stdout).trim();
  return path.startsWith('/') && existsSync(path) ? path : undefined;
}

/** Why the addon cannot be built with sanitizers here, or an empty string. */
function addonObstacle() {
  if (!hasSanitizers()) return 'the compiler has no address sanitizer';
  if (!sanitizerLibrary()) return 'there is no libasan.so to preload';
  return nodeHeaders() ? '' : "Node's headers were not found";
}

/** The addon with the sanitizers. @param {string} folder */
function buildAddon(folder) {
  const common = ['-g1', '-O1', '-fPIC', '-D_GNU_SOURCE', ...SANITIZED];
  const guards = ['-include', 'test/hostile/guards.h']; // in every file that maps or unmaps
  const objects = RING.map((source) => {
    const object = join(folder, `${source.replace('/', '-')}.o`);
    const problem = runCompiler(compiler, ['-std=gnu11', ...common, ...guards, '-c', '-o', object, source]);
    if (problem) throw new Error(problem);
    return object;
  });
  const output = join(folder, 'crossings-sanitized.node');
  const defines = ['-DNAPI_VERSION=8', '-DNAPI_CPP_EXCEPTIONS', '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'];
  const include = join(root, 'node_modules', 'node-addon-api');
  const args = ['-std=c++17', ...common, ...defines, '-DNODE_GYP_MODULE_NAME=crossings', '-DBUILDING_NODE_EXTENSION'];
  args.push(`-I${nodeHeaders()}`, `-I${include}`, '-shared', ...guards, '-o', output, ...ADDON, ...objects);
  const problem = runCompiler(cxxCompiler, args);
  if (problem) throw new Error(problem);
  return output;
}

module.exports = {
  SANITIZED,
  SANITIZER_ENV,
  addonObstacle,
  buildAddon,
  buildPeer,
  buildVictim,
  compile,
  compiler,
  hasSanitizers,
  sanitizerLibrary,
};
