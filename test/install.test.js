'use strict';
// The package in the hands of someone who depends on it: install, ci and rebuild work without a compiler, with scripts
// allowed or not, and never remove the binary.
const { spawnSync } = require('node:child_process');
const {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const { delimiter, join } = require('node:path');
const lock = require('../package-lock.json');
const { onlyInCi } = require('./in-ci.js');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'install-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The commands that remain on PATH: enough for npm, nothing that compiles. */
const COMMANDS = ['npm', 'sh', 'env', 'cat', 'chmod', 'cp', 'ln', 'ls', 'mkdir', 'mv', 'rm', 'sed', 'uname'];
const commands = join(folder, 'bin');
mkdirSync(commands);
symlinkSync(process.execPath, join(commands, 'node'));
for (const name of COMMANDS) {
  const found = String(process.env.PATH)
    .split(delimiter)
    .map((path) => join(path, name))
    .find(existsSync);
  if (found) symlinkSync(realpathSync(found), join(commands, name));
}

// npm gives its settings to the scripts it runs, this test among them. Only those that locate the registry are passed on.
const inherited = Object.entries(process.env).filter(
  ([name]) => !/^npm_/i.test(name) || /^npm_config_(registry|cache|userconfig|cafile|proxy|https_proxy)$/i.test(name),
);
const env = { ...Object.fromEntries(inherited), PATH: commands, CC: '/bin/false', CXX: '/bin/false' };

/** Runs a command in a consumer's folder and fails with its output if it fails. @param {string} cwd @param {string[]} command */
function run(cwd, [command, ...args]) {
  const { status, stdout, stderr, error } = spawnSync(join(commands, command), args, { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} exited with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

const EXCHANGE = `
  const { channelPair, openChannel } = require('crossings');
  (async () => {
    const { channel, port } = channelPair();
    const [here, there] = [await openChannel(port.take()), await channel];
    here.trySend('a message');
    process.stdout.write(String(await there.receive()));
    await Promise.all([here.close(), there.close()]);
  })();`;

/** @param {string} consumer */
function expectWorkingPackage(consumer) {
  const release = join(consumer, 'node_modules', 'crossings', 'build', 'Release');
  expect(readdirSync(release).sort()).toEqual(binaries);
  expect(run(consumer, ['node', '-e', EXCHANGE])).toBe('a message');
  expect(run(consumer, ['node', join('node_modules', '.bin', 'crossings'), '--help'])).toContain('Usage: crossings');
}

const binaries = [
  'crossings-bench',
  'crossings-count',
  'crossings-demo',
  'crossings-filter.node',
  'crossings-gates',
  'crossings-lessons',
  'crossings-prove',
  'crossings-sweep',
  'crossings-trace',
  'crossings.node',
];
run(root, ['npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder]);
const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));

/**
 * A project without dependencies, whose lock file already holds the packages that ours depends on: npm then finds them
 * in its cache, where installing this checkout has put them, and need not ask the registry about each.
 * @param {string} name
 */
function createConsumer(name) {
  const consumer = join(folder, name);
  mkdirSync(consumer);
  const project = { name, version: '1.0.0', private: true };
  const installed = Object.entries(lock.packages).filter(([path, entry]) => path !== '' && !('dev' in entry));
  const packages = { '': project, ...Object.fromEntries(installed) };
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(project));
  writeFileSync(join(consumer, 'package-lock.json'), JSON.stringify({ ...project, lockfileVersion: 3, packages }));
  return consumer;
}

test('no compiler, make or Python can be reached by the tests below', () => {
  expect(readdirSync(commands).sort()).toEqual(['node', ...COMMANDS].sort());
});

describe.each([
  ['with install scripts', [], ''],
  ['with --ignore-scripts', ['--ignore-scripts'], onlyInCi],
])('%s', (name, scripts, obstacle) => {
  const options = [...scripts, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  const consumer = createConsumer(name.replaceAll(' ', '-').toLowerCase());

  (obstacle ? test.skip : test).each([
    ['npm install', ['install', join('..', String(tarball))]],
    ['npm ci', ['ci']],
    ['npm rebuild', ['rebuild']],
  ])(`after %s the package works${obstacle && ` (skipped: ${obstacle})`}`, (_, command) => {
    run(consumer, ['npm', ...command, ...options]);
    expectWorkingPackage(consumer);
  });
});
