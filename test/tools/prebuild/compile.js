'use strict';
// Compiles one target of binding.gyp for one platform.
const { execFile } = require('node:child_process');
const { mkdirSync } = require('node:fs');
const { availableParallelism } = require('node:os');
const { dirname, join, relative } = require('node:path');
const { promisify } = require('node:util');
const { GENERATED } = require('./targets.js');

const run = promisify(execFile);

/** @typedef {import('./targets.js').Target} Target */

/**
 * @typedef {object} Compiler
 * @property {string} root the checkout
 * @property {string[]} zig the words that start it
 * @property {string} library the folder of zig's own headers
 * @property {string} headers the folder of Node's headers
 * @property {string} triple such as 'aarch64-linux-musl'
 */

/** For every file. The paths that end up in a binary are relative to build/, as in those that `npm ci` compiles. */
const REPRODUCIBLE = [
  '-fno-sanitize=undefined',
  '-no-canonical-prefixes',
  '-Wno-builtin-macro-redefined',
  '-D__DATE__=',
  '-D__TIME__=',
];
const ADDON = ['-fPIC', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections'];

/** The addons convert arguments and make system calls. What must be fast is JavaScript, and the C of the programs. */
const SMALL = ['-Os', '-flto'];

/** Runs tasks, as many at a time as there are cores. @template T @param {(() => Promise<T>)[]} tasks */
async function inParallel(tasks) {
  /** @type {T[]} */
  const results = [];
  const queue = tasks.entries();
  const worker = async () => {
    for (const [index, task] of queue) results[index] = await task();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return results;
}

/**
 * Compiles a target's own sources. A source that several targets share is compiled for each, with that target's flags.
 * @param {Compiler} compiler @param {Target} target @param {boolean} shared for an addon
 * @returns {Promise<string[]>} the object files
 */
async function compileSources({ root, zig, library, headers, triple }, target, shared) {
  const build = join(root, 'build'); // where make runs, too: binding.gyp has paths relative to it
  const objects = join(build, 'prebuild-objects', triple, target.name);
  const generated = join(build, 'prebuild-objects', triple, 'generated');
  const place = (/** @type {string} */ text) => text.replace(GENERATED, generated);
  const cc = [...zig, 'cc', '-target', triple];
  for (const { action } of target.actions) {
    const [command, ...args] = action.map(place);
    await run(command, args, { cwd: root, env: { ...process.env, CC: cc.join(' ') } });
  }
  const includes = target.include_dirs.map((folder) => `-I${place(folder).replace(/^(?!\/)/, '../')}`);
  const common = [
    ...REPRODUCIBLE,
    ...[library, relative(build, library)].map((path) => `-ffile-prefix-map=${path}=zig`), // zig writes one or the other
    `-ffile-prefix-map=${root}=..`,
    ...(shared ? [...ADDON, `-I${headers}`] : []),
    ...includes,
    ...target.defines.map((define) => `-D${define}`),
    ...target.cflags,
  ];
  const smaller = shared ? SMALL : [];
  return inParallel(
    target.sources.map((source) => async () => {
      const object = join(objects, `${source.replaceAll('/', '-')}.o`);
      mkdirSync(dirname(object), { recursive: true });
      const [driver, flags] = source.endsWith('.cc')
        ? ['c++', [...target.cflags_cc, ...smaller]]
        : ['cc', [...target.cflags_c, ...smaller]];
      const args = ['-target', triple, ...common, ...flags, '-c', join('..', source), '-o', relative(build, object)];
      await run(zig[0], [...zig.slice(1), driver, ...args], { cwd: build, maxBuffer: 1 << 26 });
      return object;
    }),
  );
}

module.exports = { compileSources, run };
