'use strict';
// The packages: what each tarball holds, what loading the channel loads, and a lock file that works on every platform.
const { execFileSync } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { builtinModules } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('./support.js');
const { pack, stageChannel, stageLab } = require('./tools/packages.js');

const folder = mkdtempSync(join(tmpdir(), 'package-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** @param {string} name */
const readJson = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

/** Files that git knows, or would if they were added. @param {string[]} paths */
const tracked = (...paths) =>
  execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...paths], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path && existsSync(join(root, path)));

const PLATFORMS = ['linux-arm64-glibc', 'linux-arm64-musl', 'linux-x64-glibc', 'linux-x64-musl'];
const LOADED_BY_NAME = ['zeromq']; // only if the user has installed it

describe('crossings', () => {
  const { files } = pack(root, folder);
  const staged = join(folder, 'crossings'); // what is published
  stageChannel(staged);
  const published = pack(staged, folder);
  const addons = PLATFORMS.map((platform) => `build/prebuilds/${platform}/crossings.node`);

  test('holds the channel, its C interface, its reference and the prebuilt addons, and nothing else', () => {
    const fixed = ['LICENSE', 'README.md', 'package.json', 'lib/command.js'];
    const api = [
      'lib/index.js',
      'lib/index.mjs',
      'lib/index.d.ts',
      'lib/index.d.mts',
      'lib/transports.js',
      ...tracked('lib/channel', 'lib/fallback'),
    ];
    const c = tracked('native').filter((path) => !path.startsWith('native/addon/'));
    const docs = ['docs/api.md'];
    const built = addons.filter((path) => existsSync(join(root, path))); // by `npm run prebuild`, which needs zig
    expect([...files].sort()).toEqual([...fixed, ...api, ...c, ...docs, ...built].sort());
  });

  // No document promises this size. The test shows when the package grows.
  test('takes less than 1.1 MiB once installed, prebuilt addons included', () => {
    const mean = 139_100; // of an addon: npm run prebuild makes four, with 556,064 bytes
    const built = addons.filter((path) => files.includes(path)).length;
    expect(published.unpackedBytes + (addons.length - built) * mean).toBeLessThan(1.1 * 2 ** 20);
  });

  test('its manifest has no scripts, and nothing that is for the checkout only', () => {
    const { scripts, devDependencies, overrides, ...manifest } = readJson('package.json');
    expect(JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8'))).toEqual(manifest);
    expect(published.files.sort()).toEqual(files.sort());
  });

  test('has no dependency, no install script and no binding.gyp, which would make npm compile', () => {
    const { scripts, gypfile, ...manifest } = readJson('package.json');
    for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies', 'os', 'cpu'])
      expect(manifest[kind]).toBeUndefined();
    expect([scripts.install, scripts.preinstall, scripts.postinstall]).toEqual([undefined, undefined, undefined]);
    expect(gypfile).toBe(false);
  });
});

describe('crossings-lab', () => {
  const staged = join(folder, 'crossings-lab');
  stageLab(staged);
  const { files } = pack(staged, folder);
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8'));

  test('holds the commands, the lab, what the lab shows and the prebuilt programs, and nothing else', () => {
    const fixed = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    const docs = ['lab', 'lessons', 'measuring', 'teaching'].map((name) => `docs/${name}.md`);
    const rooms = tracked('c-bench', 'lib', 'native', 'public', 'server');
    const unbuilt = files.filter((path) => !path.startsWith('build/prebuilds/'));
    expect(unbuilt.sort()).toEqual([...fixed, ...docs, ...rooms].sort());
  });

  test('depends on the packages that its files load, and on no others', () => {
    /** @type {Set<string>} */
    const loaded = new Set();
    for (const path of files.filter((file) => /^(lib|server)\/.*\.js$/.test(file))) {
      const text = readFileSync(join(staged, path), 'utf8').replace(/^ *(\/\/|\/?\*).*$/gm, '');
      for (const [, name] of text.matchAll(/(?:require(?:\.resolve)?|import)\('([^.'][^']*)'\)/g))
        loaded.add(name.replace(/^ajv\/.*/, 'ajv'));
    }
    const others = [...loaded].filter((name) => !/^node:/.test(name) && !builtinModules.includes(name));
    expect(others.filter((name) => !LOADED_BY_NAME.includes(name)).sort()).toEqual(Object.keys(manifest.dependencies));
  });

  test('has the version of crossings and no install script', () => {
    const { version, license, engines } = readJson('package.json');
    expect(manifest).toMatchObject({ name: 'crossings-lab', version, license, engines });
    expect(manifest.scripts).toBeUndefined();
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
    const { name, bin, devDependencies } = readJson('package.json');
    expect(packages['']).toMatchObject({ name, bin, devDependencies });
    expect(packages[''].dependencies).toBeUndefined();
  });
});
