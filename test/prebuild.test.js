'use strict';
// The prebuilt binaries, where `npm run prebuild` has made them: they need nothing newer than what the documents promise, and
// those for arm64 run under qemu.
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync, readFileSync, readdirSync } = require('node:fs');
const { join } = require('node:path');
const { root } = require('./support.js');
const { readTargets } = require('./tools/prebuild/targets.js');

const folder = join(root, 'build', 'prebuilds');
const PROGRAMS = ['bench', 'count', 'demo', 'gates', 'lessons', 'prove', 'sweep', 'trace'].map(
  (name) => `crossings-${name}`,
);
/** Why the files of an architecture cannot be checked, or an empty string. @param {string} arch */
const obstacleOf = (arch) =>
  PROGRAMS.every((name) => existsSync(join(folder, `linux-${arch}`, name)))
    ? ''
    : 'nothing has been prebuilt; npm run prebuild needs zig';
const hasReadelf = !spawnSync('readelf', ['--version']).error;
const emulator = ['qemu-aarch64', 'qemu-aarch64-static'].find((name) => !spawnSync(name, ['--version']).error);
const noQemu = obstacleOf('arm64') || (emulator ? '' : 'qemu-aarch64 is not installed');

/** @param {string} reason */
const unless = (reason) => (reason ? test.skip : test);
const because = (/** @type {string} */ reason) => (reason ? ` (skipped: ${reason})` : '');

/** @param {string} option @param {string} path below build/prebuilds/ */
const readelf = (option, path) => execFileSync('readelf', [option, '-W', join(folder, path)], { encoding: 'utf8' });

/** The newest version of glibc that a file's symbols need, as [2, 28]. @param {string} text of readelf -V */
function newestGlibc(text) {
  const versions = [...text.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => [Number(major), Number(minor)]);
  return versions.sort(([a, b], [c, d]) => a - c || b - d).at(-1) ?? [0, 0];
}

test('binding.gyp has the programs that ship, each with its main() in c-bench/programs/', () => {
  const shipped = [...readTargets(root).values()].filter(
    ({ type, sources }) =>
      type === 'executable' &&
      sources.some((path) => path.startsWith('c-bench/programs/')) &&
      !sources.some((path) => path.startsWith('test/')),
  );
  expect(shipped.map(({ name }) => name).sort()).toEqual(PROGRAMS);
});

test('the newest version of glibc is found among the versions of symbols', () => {
  expect(newestGlibc('Name: GLIBC_2.4  Flags\n Name: GLIBC_2.36\n Name: GLIBC_2.27')).toEqual([2, 36]);
});

describe.each(['x64', 'arm64'])('%s', (arch) => {
  const obstacle = obstacleOf(arch);
  const noReadelf = obstacle || (hasReadelf ? '' : 'readelf is not installed');
  const machine = arch === 'x64' ? 'X86-64' : 'AArch64';

  unless(noReadelf).each(['crossings.node', 'crossings-filter.node'])(
    `%s needs no glibc newer than 2.28, and no C++ library${because(noReadelf)}`,
    (name) => {
      const path = join(`linux-${arch}-glibc`, name);
      const [major, minor] = newestGlibc(readelf('-V', path));
      expect([major, minor <= 28 && minor > 0]).toEqual([2, true]);
      expect(readelf('-d', path)).not.toMatch(/NEEDED.*(\+\+|gcc|unwind)/);
      expect(readelf('-h', path)).toContain(machine);
    },
  );

  unless(noReadelf).each(['crossings.node', 'crossings-filter.node'])(
    `%s for musl needs musl alone${because(noReadelf)}`,
    (name) => {
      const path = join(`linux-${arch}-musl`, name);
      expect([...readelf('-d', path).matchAll(/NEEDED.*\[(.*)\]/g)].map(([, library]) => library)).toEqual(['libc.so']);
      expect(readelf('-h', path)).toContain(machine);
    },
  );

  unless(noReadelf)(`the programs are static${because(noReadelf)}`, () => {
    expect(readdirSync(join(folder, `linux-${arch}`)).sort()).toEqual(PROGRAMS);
    for (const name of PROGRAMS) {
      const path = join(`linux-${arch}`, name);
      expect(readelf('-l', path)).not.toContain('INTERP');
      expect(readelf('-h', path)).toContain(machine);
    }
  });

  unless(obstacle)(`no file names a folder of the machine on which it was made${because(obstacle)}`, () => {
    for (const platform of [`linux-${arch}`, `linux-${arch}-glibc`, `linux-${arch}-musl`])
      for (const name of readdirSync(join(folder, platform))) {
        const bytes = readFileSync(join(folder, platform, name));
        expect([name, bytes.includes(root), bytes.includes('/ziglang/')]).toEqual([name, false, false]);
      }
  });
});

unless(noQemu)(`crossings-bench for arm64 measures under qemu${because(noQemu)}`, () => {
  const program = join(folder, 'linux-arm64', 'crossings-bench');
  const args = [program, '--mechanism', 'pipe', '--messages', '100', '--round-trips', '10'];
  const { status, stdout } = spawnSync(String(emulator), args, { encoding: 'utf8' });
  expect({ status, end: stdout.trim().split('\n').at(-1) }).toEqual({ status: 0, end: '{"type":"end"}' });
});
