'use strict';
// The packages in the hands of someone who depends on them: install, ci and rebuild work without a compiler, with scripts
// allowed or not, and never remove a binary. Elsewhere than in CI, npm install of both packages; test/matrix.test.js has the rest
// for the channel.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const {
  copyFileSync,
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
const { delimiter, dirname, join } = require('node:path');
const lock = require('../package-lock.json');
const manifest = require('../package.json');
const { inCi, testInCi } = require('./in-ci.js');
const { built, root } = require('./support.js');
const { linkCommand } = require('./tools/link-command.js');
const { pack, stageChannel, stageLab } = require('./tools/packages.js');

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

/** Files of this machine, in case nothing has been prebuilt. @param {string} to @param {string[]} programs */
function addBinaries(to, programs) {
  const places = ['glibc', 'musl'].map((libc) => [`linux-${process.arch}-${libc}`, 'crossings.node']);
  for (const [platform, name] of [...places, ...programs.map((program) => [`linux-${process.arch}`, program])]) {
    const path = join(to, 'build', 'prebuilds', platform, name);
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) copyFileSync(built(name), path);
  }
}

/** The tarball of the channel. */
function packChannel() {
  const from = join(folder, 'crossings');
  stageChannel(from);
  addBinaries(from, []);
  return pack(from, folder).path;
}

/** The tarball of the lab. */
function packLab() {
  const from = join(folder, 'crossings-lab');
  stageLab(from);
  addBinaries(from, ['crossings-bench', 'crossings-demo']);
  return pack(from, folder).path;
}

/**
 * An empty project. Its lock file already holds the packages that this checkout has: npm then finds them in its cache, where
 * installing this checkout has put them, and need not ask the registry about each.
 * @param {string} name @param {boolean} [cached]
 */
function createConsumer(name, cached = false) {
  const consumer = join(folder, name);
  mkdirSync(consumer);
  const project = { name, version: '1.0.0', private: true };
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(project));
  if (!cached) return consumer;
  const entries = Object.entries(lock.packages).filter(([path]) => path !== '');
  const packages = Object.fromEntries(entries.map(([path, entry]) => [path, { ...entry, dev: undefined }]));
  const text = JSON.stringify({ ...project, lockfileVersion: 3, packages: { '': project, ...packages } });
  writeFileSync(join(consumer, 'package-lock.json'), text);
  return consumer;
}

const QUIET = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

/** What is in a folder of the installed package. @param {string} consumer @param {string[]} path */
const listing = (consumer, ...path) => readdirSync(join(consumer, 'node_modules', ...path)).sort();

test('no compiler, make or Python can be reached by the tests below', () => {
  expect(readdirSync(commands).sort()).toEqual(['node', ...COMMANDS].sort());
});

test('in a checkout, too, npx runs crossings-lab, from any folder of it', () => {
  linkCommand(root); // `npm ci` does this
  const { stdout, stderr } = spawnSync('npx', ['--no', '--', 'crossings-lab', '--version'], {
    cwd: join(root, 'docs'),
    encoding: 'utf8',
  });
  expect(stdout.trim() || stderr).toBe(manifest.version);
});

const tarballs = { channel: packChannel(), lab: inCi ? packLab() : '' };

describe.each(
  /** @type {const} */ ([
    ['with install scripts', [], test],
    ['with --ignore-scripts', ['--ignore-scripts'], testInCi],
  ]),
)('crossings, %s', (name, scripts, testThis) => {
  const consumer = createConsumer(`channel-${name.replaceAll(/\W+/g, '-')}`);
  /** @param {string[]} command */
  const works = (command) => () => {
    run(consumer, ['npm', ...command, ...scripts, ...QUIET]);
    expect(listing(consumer).filter((entry) => !entry.startsWith('.'))).toEqual(['crossings']);
    expect(run(consumer, ['node', '-e', EXCHANGE])).toBe('a message');
  };
  testThis('after npm install it sends a message, and is the only package', works(['install', tarballs.channel]));
  testInCi('after npm ci it sends a message, and is the only package', works(['ci']));
  testInCi('after npm rebuild it sends a message, and is the only package', works(['rebuild']));

  testThis('its command says how to get the lab', () => {
    const bin = join('node_modules', '.bin', 'crossings');
    const { status, stderr } = spawnSync(process.execPath, [bin, 'bench', '--quick'], {
      cwd: consumer,
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toBe(
      'The benchmark and the lab are in the package crossings-lab; run `npx crossings-lab bench --quick`.\n',
    );
  });
});

/** Starts the lab by the command of crossings. @param {string} cwd @param {string[]} flags of Node */
function startLab(cwd, flags) {
  const command = [...flags, join('node_modules', '.bin', 'crossings'), 'lab', '--no-open', '--port', '0'];
  const child = spawn(process.execPath, command, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const address = once(child.stdout, 'data').then(([line]) => String(line).trim());
  return { child, address, ended: once(child, 'close') };
}

describe('crossings-lab', () => {
  const consumer = createConsumer('lab', true);
  /** @param {string[]} command */
  const works = (command) => () => {
    run(consumer, ['npm', ...command, ...QUIET]);
    for (const name of ['crossings-lab', 'crossings']) {
      const bin = join('node_modules', '.bin', name);
      expect(run(consumer, ['node', bin, '--help'])).toContain('Usage: npx crossings-lab');
      expect(run(consumer, ['node', bin, 'trace', 'pipe', '--messages', '1'])).toContain('write(');
    }
  };
  const both = ['install', tarballs.lab, tarballs.channel];
  testInCi('after npm install beside crossings, the commands of both run its programs', works(both));
  testInCi('after npm ci beside crossings, the commands of both run its programs', works(['ci']));
  testInCi('after npm rebuild beside crossings, the commands of both run its programs', works(['rebuild']));

  const bin = join('node_modules', '.bin', 'crossings');

  testInCi('the command of crossings passes on the exit status, and ends with the lab on Ctrl-C', async () => {
    const { status, stderr } = spawnSync(process.execPath, [bin, 'bench', '--size', 'x y'], {
      cwd: consumer,
      env,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([2, expect.stringContaining('"x y"')]);
    const lab = startLab(consumer, []);
    expect((await fetch(await lab.address)).status).toBe(200);
    lab.child.kill('SIGINT');
    expect(await lab.ended).toEqual([130, null]);
  });

  testInCi('where there are no builds, the lab plays recordings, and what needs a program says so', async () => {
    const pretend = join(folder, 'pretend.js');
    const as =
      "for (const [name, value] of [['platform', 'darwin'], ['arch', 'arm64']]) Object.defineProperty(process, name, { value });";
    writeFileSync(pretend, as);
    const node = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, ['-r', pretend, ...args], { cwd: consumer, env, encoding: 'utf8' });
    const sentence = 'for darwin-arm64; there are builds for Linux';
    for (const words of [['bench'], ['trace', 'pipe'], ['doctor'], ['prove']])
      expect(node(bin, ...words)).toMatchObject({ status: 1, stderr: expect.stringContaining(sentence) });
    const { stdout } = node(
      '-p',
      "const { supported, unsupportedReason } = require('crossings'); [supported, unsupportedReason].join()",
    );
    expect(stdout).toContain(`false,No build of crossings.node ${sentence}`);
    const lab = startLab(consumer, ['-r', pretend]);
    const recording = await (await fetch(`${await lab.address}data/traces/pipe.json`)).json();
    expect(recording.events.length).toBeGreaterThan(10);
    lab.child.kill('SIGINT');
    expect(await lab.ended).toEqual([130, null]);
  });
});
