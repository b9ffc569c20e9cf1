'use strict';
// The package: what the tarball holds, what loading it loads, and a lock file that works on every platform.
const { execFileSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { root } = require('./support.js');

/** @param {string} name */
const readJson = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

describe('the tarball', () => {
  const listing = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const packed = JSON.parse(listing);
  /** @type {string[]} */
  const paths = (Array.isArray(packed) ? packed[0] : Object.values(packed)[0]).files.map(
    (/** @type {{path: string}} */ { path }) => path,
  );

  test.each([
    'build/Release/crossings.node',
    'build/Release/crossings-bench',
    'build/Release/crossings-count',
    'build/Release/crossings-demo',
    'lib/index.js',
    'lib/index.d.ts',
    'native/crossings.h',
    'c-bench/demos/pipe.c',
    'public/index.html',
    'public/bench.html',
    'server/recordings/ring.json',
    'server/server.js',
  ])('holds %s', (path) => {
    expect(paths).toContain(path);
  });

  test('holds no binding.gyp, which would make npm compile on every `npm ci` and `npm rebuild`', () => {
    expect(paths.filter((path) => path.endsWith('.gyp'))).toEqual([]);
  });

  test('has no install script', () => {
    const { scripts, gypfile } = readJson('package.json');
    expect([scripts.install, scripts.preinstall, scripts.postinstall]).toEqual([undefined, undefined, undefined]);
    expect(gypfile).toBe(false);
  });
});

describe('loading the package', () => {
  test('loads its own files only: no dependency, and nothing of the server', () => {
    const script = `require(${JSON.stringify(root)}); console.log(JSON.stringify(Object.keys(require.cache)))`;
    /** @type {string[]} */
    const loaded = JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
    expect(loaded.length).toBeGreaterThan(5);
    expect(loaded.filter((path) => /node_modules|[/]server[/]/.test(path.slice(root.length)))).toEqual([]);
  });

  test('works from an ES module, with named imports', () => {
    const script = `
      import crossings, { listen, connect, CrossingsError } from './lib/index.js';
      console.log(typeof listen, typeof connect, typeof CrossingsError, typeof crossings.channelPair);`;
    const flags = ['--input-type=module', '-e', script];
    const output = execFileSync(process.execPath, flags, { cwd: root, encoding: 'utf8' });
    expect(output.trim()).toBe('function function function function');
  });
});

describe('the lock file', () => {
  const { packages } = readJson('package-lock.json');

  /** Where Node finds a package that another one requires. @param {string} from @param {string} name */
  function resolve(from, name) {
    const parents = from.split('/node_modules/');
    for (let depth = parents.length; depth > 0; depth--) {
      const path = `${parents.slice(0, depth).join('/node_modules/')}/node_modules/${name}`.replace(/^\//, '');
      if (packages[path]) return path;
    }
    return packages[`node_modules/${name}`] ? `node_modules/${name}` : null;
  }

  // npm leaves out a platform's package that its registry lacks, and `npm ci` then fails on that platform.
  test('has an entry for every optional package of every platform', () => {
    const missing = [];
    for (const [from, { optionalDependencies = {} }] of Object.entries(packages)) {
      for (const name of Object.keys(optionalDependencies)) {
        if (!resolve(from, name)) missing.push(`${name}, of ${from}`);
      }
    }
    expect(missing).toEqual([]);
  });

  test('agrees with package.json', () => {
    const { name, dependencies, devDependencies } = readJson('package.json');
    expect(packages['']).toMatchObject({ name, dependencies, devDependencies });
  });
});
