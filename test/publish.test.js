'use strict';
// The tarball before it is published: import, require and types agree, publint and "Are the types wrong?" find nothing, and
// packing again gives the same bytes.
const { execFileSync, spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const { dirname, join } = require('node:path');
const { root } = require('./support.js');
const { pack: packFolder, stageLab } = require('./tools/packages.js');

const folder = mkdtempSync(join(tmpdir(), 'publish-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Packs a checkout, under some umask. @param {string} from @param {string} name @param {string} [umask] */
function pack(from, name, umask = '022') {
  const to = join(folder, name);
  mkdirSync(to);
  const command = `umask ${umask} && npm pack --ignore-scripts --silent --pack-destination "$0"`;
  execFileSync('sh', ['-c', command, to], { cwd: from, stdio: ['ignore', 'ignore', 'inherit'] });
  return join(to, readdirSync(to)[0]);
}

/** @param {string} path */
const digest = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

const prepack = () => execFileSync(process.execPath, [join(root, 'test', 'tools', 'prepack.js')]);
prepack();
const tarball = pack(root, 'first');

// A consumer that has the tarball's files as its dependency.
const consumer = join(folder, 'consumer');
const installed = join(consumer, 'node_modules', 'crossings');
mkdirSync(installed, { recursive: true });
writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);

/** @param {string} name @param {string} text */
function runInConsumer(name, text) {
  writeFileSync(join(consumer, name), text);
  return JSON.parse(execFileSync(process.execPath, [join(consumer, name)], { encoding: 'utf8' }));
}

describe('import and require', () => {
  test('give the same things under the same names, so a class exists once', () => {
    const text = `
      import { createRequire } from 'node:module';
      import whole, * as named from 'crossings';
      const required = createRequire(import.meta.url)('crossings');
      const { default: _, ...rest } = named;
      console.log(JSON.stringify({
        names: [Object.keys(rest).sort(), Object.keys(required).sort()],
        same: whole === required && Object.keys(rest).every((name) => rest[name] === required[name]),
      }));`;
    const { names, same } = runInConsumer('same.mjs', text);
    expect(names[0]).toEqual(names[1]);
    expect(same).toBe(true);
  });

  test('find the version in crossings/package.json', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(runInConsumer('version.cjs', `console.log(JSON.stringify(require('crossings/package.json').version))`)).toBe(
      version,
    );
  });
});

describe('the types', () => {
  test('declare the values that exist, and no others', () => {
    const declarations = readFileSync(join(installed, 'lib', 'index.d.ts'), 'utf8');
    const declared = [...declarations.matchAll(/^export (?:class|const|function) (\w+)/gm)].map(([, name]) => name);
    const names = runInConsumer('names.cjs', `console.log(JSON.stringify(Object.keys(require('crossings'))))`);
    expect([...new Set(declared)].sort()).toEqual(names.sort());
  });

  /** A program, once for each kind of module. @param {string} importing */
  const program = (importing) => `${importing}
    export async function exchange(): Promise<string> {
      const { channel, port } = crossings.channelPair({ maxMessageBytes: 2 ** 20 });
      const [here, there]: [crossings.Channel, Channel] = [await openChannel(port.take()), await channel];
      await here.send('x');
      if (!(here instanceof Channel)) throw new CrossingsError('ERR_CLOSED', 'closed');
      // @ts-expect-error: it may be null
      (await there.receive()).length;
      return String(await there.receive());
    }`;

  test('suit a strict program of either kind, with nothing but @types/node beside them', () => {
    writeFileSync(
      join(consumer, 'esm.mts'),
      program(`import { Channel, CrossingsError, openChannel } from 'crossings'; import * as crossings from 'crossings';
        import whole from 'crossings'; export const same: typeof crossings.listen = whole.listen;`),
    );
    writeFileSync(
      join(consumer, 'cjs.cts'),
      program(
        `import crossings = require('crossings'); import { Channel, CrossingsError, openChannel } from 'crossings';`,
      ),
    );
    for (const name of ['@types/node', 'undici-types']) {
      const link = join(consumer, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), link);
    }
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const tsc = join(root, 'node_modules', '.bin', 'tsc');
    const { status, stdout } = spawnSync(tsc, [...options, 'esm.mts', 'cjs.cts'], { cwd: consumer, encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });
});

describe('the tarball', () => {
  /** @param {string} path */
  const check = (path) => {
    const script = join(root, 'test', 'tools', 'check-package.mjs');
    const { stdout, stderr } = spawnSync(process.execPath, [script, path], { encoding: 'utf8' });
    return stdout ? JSON.parse(stdout) : stderr;
  };

  test('publint and "Are the types wrong?" find nothing in it', () => {
    expect(check(tarball)).toEqual({ types: true, found: [] });
  });

  test('publint finds nothing in that of crossings-lab', () => {
    const lab = join(folder, 'lab');
    stageLab(lab);
    const to = join(folder, 'lab-tarball');
    mkdirSync(to);
    expect(check(packFolder(lab, to).path).found).toEqual([]);
  });

  test('both would find a wrong entry', () => {
    const wrong = join(folder, 'wrong');
    cpSync(join(installed, 'lib'), join(wrong, 'lib'), { recursive: true });
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    manifest.exports['.'].import = { types: './lib/index.d.ts', default: './lib/index.mjs' };
    manifest.main = 'lib/missing.js';
    writeFileSync(join(wrong, 'package.json'), JSON.stringify(manifest));
    const { found } = check(pack(wrong, 'wrong-tarball'));
    expect(found.some((/** @type {any} */ { code }) => code === 'FILE_DOES_NOT_EXIST')).toBe(true);
    expect(found.some((/** @type {any} */ { kind }) => kind === 'FalseCJS')).toBe(true);
  });

  test('has the same bytes when it is made again: in another folder, later, under another umask', () => {
    const clone = join(folder, 'clone');
    mkdirSync(join(clone, 'test', 'tools'), { recursive: true });
    // tar as an ordinary user applies the umask; here it is told to.
    execFileSync('sh', [
      '-c',
      'umask 077 && tar --no-same-permissions -xmzf "$0" -C "$1" --strip-components=1',
      tarball,
      clone,
    ]);
    cpSync(join(root, 'test', 'tools', 'prepack.js'), join(clone, 'test', 'tools', 'prepack.js'));
    execFileSync(process.execPath, [join(clone, 'test', 'tools', 'prepack.js')]);
    expect(digest(pack(clone, 'second', '077'))).toBe(digest(tarball));
  });

  test('npm runs the script that makes it so', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(scripts.prepack).toContain('node test/tools/prepack.js');
  });
});
