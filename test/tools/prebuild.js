'use strict';
// `npm run prebuild`: compiles what the packages ship, for every platform that they support, on any of them. See docs/packaging.md.
//
//   build/prebuilds/linux-{x64,arm64}-{glibc,musl}/*.node   the addons
//   build/prebuilds/linux-{x64,arm64}/crossings-*           the programs, static, for either C library
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, rmSync } = require('node:fs');
const { join, relative } = require('node:path');
const { compileSources, run } = require('./prebuild/compile.js');
const { readTargets } = require('./prebuild/targets.js');
const { GET_ZIG, findHeaders, findZig, zigLibrary } = require('./prebuild/zig.js');

/** @typedef {import('./prebuild/targets.js').Target} Target */

const root = join(__dirname, '..', '..');
const OUTPUT = join(root, 'build', 'prebuilds');
const PARTS = join(__dirname, 'prebuild');

/** The name of a folder, as lib/channel/binary.js looks for it, and what zig calls that platform. */
const ADDON_PLATFORMS = Object.entries({
  'linux-x64-glibc': 'x86_64-linux-gnu.2.28',
  'linux-arm64-glibc': 'aarch64-linux-gnu.2.28',
  'linux-x64-musl': 'x86_64-linux-musl',
  'linux-arm64-musl': 'aarch64-linux-musl',
});
const PROGRAM_PLATFORMS = Object.entries({ 'linux-x64': 'x86_64-linux-musl', 'linux-arm64': 'aarch64-linux-musl' });

/** `crossings prove` disassembles this program and shows the lines of its source. Everything else is stripped. */
const WITH_SYMBOLS = 'crossings-prove';

/** @param {string} sentence @returns {never} */
function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

/** A program ships if its main() is in c-bench/programs/ and nothing of it is a test's. @param {Target} target */
const isShippedProgram = ({ type, sources }) =>
  type === 'executable' &&
  sources.some((source) => source.startsWith('c-bench/programs/')) &&
  !sources.some((source) => source.startsWith('test/'));

async function main() {
  const [option, ...others] = process.argv.slice(2);
  if ((option ?? '--channel') !== '--channel' || others.length > 0)
    fail('Usage: npm run prebuild [-- --channel]   (--channel: only the addons of the package crossings)');
  const zig =
    findZig(root) ?? fail(`Cannot compile for other platforms: zig is not installed. Get it with \`${GET_ZIG}\`.`);
  const headers =
    findHeaders() ??
    fail('Cannot compile the addons: the headers of Node (node_api.h, uv.h) were not found; run `npm ci`.');
  const library = zigLibrary(zig);
  const targets = readTargets(root);
  const all = [...targets.values()];
  const addons = all.filter(({ type }) => type === 'loadable_module');
  const programs = option ? [] : all.filter(isShippedProgram);

  /**
   * Compiles and links a target, and prints what came out.
   * @param {Target} target @param {string} platform @param {string} triple @param {string[]} flags of the linker
   */
  async function build(target, platform, triple, flags) {
    const compiler = { root, zig, library, headers, triple };
    const addon = target.type === 'loadable_module';
    const objects = await compileSources(compiler, target, addon);
    for (const name of target.dependencies)
      objects.push(...(await compileSources(compiler, /** @type {Target} */ (targets.get(name)), addon)));
    const name = addon ? `${target.name}.node` : target.name;
    const output = join(OUTPUT, platform, name);
    const unfinished = `${output}.unfinished`;
    mkdirSync(join(OUTPUT, platform), { recursive: true });
    const strip = target.name === WITH_SYMBOLS ? [`-Wl,-T,${join(PARTS, 'own-debug.ld')}`] : ['-s'];
    const args = [...objects, ...target.ldflags, ...target.libraries, ...flags, ...strip, '-Wl,--build-id=none'];
    const driver = target.sources.some((source) => source.endsWith('.cc')) ? 'c++' : 'cc';
    await run(zig[0], [...zig.slice(1), driver, '-target', triple, ...args, '-o', unfinished], { cwd: '/' }); // zig records it
    renameSync(unfinished, output);
    const bytes = readFileSync(output);
    const digest = createHash('sha256').update(bytes).digest('hex');
    console.log(`${digest}  ${String(bytes.length).padStart(9)}  ${relative(root, output)}`);
  }

  rmSync(OUTPUT, { recursive: true, force: true });
  for (const [platform, triple] of ADDON_PLATFORMS) {
    for (const target of addons) {
      if (option && target.name !== 'crossings') continue;
      const smaller = target.name === 'crossings' ? [await compileNoDemangler(zig, triple)] : [];
      const map = `-Wl,--version-script=${join(PARTS, 'exports.map')}`;
      await build(target, platform, triple, ['-shared', ...smaller, '-Wl,--gc-sections', '-Wl,--hash-style=gnu', map]);
    }
  }
  for (const [platform, triple] of PROGRAM_PLATFORMS) {
    // The programs find the marks of their steps by the bounds of a section, which the linker would otherwise drop.
    for (const target of programs) await build(target, platform, triple, ['-static', '-Wl,--no-gc-sections']);
  }
}

/** @param {string[]} zig @param {string} triple @returns {Promise<string>} the object file */
async function compileNoDemangler(zig, triple) {
  const object = join(root, 'build', 'prebuild-objects', triple, 'no-demangler.o');
  mkdirSync(join(object, '..'), { recursive: true });
  const flags = ['-Os', '-fPIC', '-fvisibility=hidden'];
  await run(zig[0], [
    ...zig.slice(1),
    'cc',
    '-target',
    triple,
    ...flags,
    '-c',
    join(PARTS, 'no-demangler.c'),
    '-o',
    object,
  ]);
  return object;
}

main().catch((error) => fail(error.stderr || error.message));
