'use strict';
// The C compiles without warnings with every compiler that is installed.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { inCi, onlyInCi } = require('./in-ci.js');
const { root } = require('./support.js');

const FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror'];
// Optimization finds more to warn about and takes five times as long: one compiler is enough for that, in CI.
const WHOLE = ['-O2', '-c'];
const SYNTAX = ['-fsyntax-only'];
const GENERATED = join(root, 'build', 'Release', 'obj', 'gen'); // the names of the system calls
const INCLUDED = [`-I${GENERATED}`, `-I${join(root, 'native')}`]; // the latter as the C programs of users have it
const LINES = ['-include', join(root, 'c-bench', 'demos', 'lines.h')]; // as binding.gyp compiles the demos

const objects = mkdtempSync(join(tmpdir(), 'compilers-'));
afterAll(() => rmSync(objects, { recursive: true }));

/** The files of a folder and of the folders in it, but for what cargo makes in `target` meanwhile. @param {string} folder @returns {string[]} */
const filesIn = (folder) =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return entry.name === 'target' ? [] : filesIn(path);
  });
const sources = ['native', 'c-bench', 'test']
  .flatMap(filesIn)
  .filter((path) => path.endsWith('.c') && !path.endsWith('/addon.c')); // an addon needs the headers of Node
/** What users compile themselves, and the test programs, which `npm run prepare` does not compile. The rest: in CI. */
const short = sources.filter((path) => path.startsWith('native/') || /^test\/[^/]+$/.test(path));
const demos = sources.filter((path) => path.startsWith('c-bench/demos/'));

/** @param {string} compiler @param {string[]} args @param {string[]} paths */
function compile(compiler, args, paths) {
  const files = paths.map((path) => join(root, path));
  const stages = compiler === 'cc' && inCi ? WHOLE : SYNTAX;
  return spawnSync(compiler, [...FLAGS, ...stages, ...args, ...files], { cwd: objects, encoding: 'utf8' });
}

test('every folder with C in it is compiled', () => {
  const folders = new Set(sources.map((path) => path.slice(0, path.lastIndexOf('/'))));
  expect([...folders]).toEqual(expect.arrayContaining(['native/examples', 'c-bench/demos', 'c-bench/trace', 'test']));
});

/** What a compiler says it is, without its own name; null: it is not installed. @param {string} compiler */
function versionOf(compiler) {
  const { status, stdout } = spawnSync(compiler, ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.replace(/^\S+/, '') : null;
}

// cc is another name of gcc or clang: the same compiler is not tried twice.
const isCc = (/** @type {string} */ compiler) =>
  versionOf(compiler) !== null && versionOf(compiler) === versionOf('cc');
const others = ['gcc', 'clang', 'clang-19', 'aarch64-linux-gnu-gcc'].filter((compiler) => !isCc(compiler));

describe.each(['cc', ...others])('%s', (compiler) => {
  const why = versionOf(compiler) === null ? 'not installed' : compiler === 'cc' ? '' : onlyInCi;
  const [testWhereInstalled, suffix] = why ? [test.skip, ` (skipped: ${why})`] : [test, ''];

  testWhereInstalled(
    `compiles ${inCi ? 'everything' : 'native/ and the test programs'} without a warning${suffix}`,
    () => {
      // The generated names are those of the machine that built them, so another machine's compiler cannot use them.
      const foreign = compiler.startsWith('aarch64');
      const chosen = (inCi ? sources : short).filter((path) => !foreign || !path.endsWith('/syscalls.c'));
      const { status, stderr } = compile(compiler, INCLUDED, chosen);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    },
  );

  testWhereInstalled(`compiles the demos without a warning when they record their lines${suffix}`, () => {
    const { status, stderr } = compile(compiler, LINES, demos);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  testWhereInstalled(`reports a warning as an error${suffix}`, () => {
    const { status } = spawnSync(compiler, [...FLAGS, ...SYNTAX, '-x', 'c', '-'], {
      input: 'int f(int a, unsigned b) { return a < b; }\n',
    });
    expect(status).not.toBe(0);
  });
});
