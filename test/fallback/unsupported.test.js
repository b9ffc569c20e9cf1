'use strict';
// A platform without a build of the addon, as a process that takes itself for one: require() succeeds, shared memory is refused in a
// sentence, and channels over sockets work.
const { spawnSync } = require('node:child_process');
const { cpSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('../support.js');

const folder = mkdtempSync(join(tmpdir(), 'unsupported-'));
cpSync(join(root, 'lib'), join(folder, 'lib'), { recursive: true }); // without build/, as on such a platform
afterAll(() => rmSync(folder, { recursive: true }));

/** @param {string} code @param {Record<string, string>} pretended properties of process */
function run(code, pretended) {
  const script = `
    for (const [name, value] of Object.entries(${JSON.stringify(pretended)})) Object.defineProperty(process, name, { value });
    const crossings = require('./lib/index.js');
    (async () => { ${code} })();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect(stderr).toBe('');
  return stdout;
}

const sentence = (/** @type {string} */ platform) =>
  `No build of crossings.node for ${platform}; there are builds for Linux on x64 and arm64, with glibc 2.28 or later or with musl. ` +
  "To develop on this machine, set the option transport: 'socket' at both ends. It provides the same channels over sockets, but more slowly.";

test.each([
  ['darwin', 'arm64'],
  ['win32', 'x64'],
  ['freebsd', 'x64'],
])(
  'on %s-%s, `supported` is false, and each call without the option is refused with the same sentence',
  (platform, arch) => {
    const code = `
    const { supported, unsupportedReason } = crossings;
    const calls = [() => crossings.listen('/tmp/x'), () => crossings.connect('/tmp/x', {}), () => crossings.openChannel(3),
      () => crossings.channelPair({ transport: 'shared-memory' })];
    const errors = [];
    for (const call of calls) { try { await call(); } catch (error) { errors.push([error.code, error.message === unsupportedReason]); } }
    console.log(JSON.stringify({ supported, unsupportedReason, errors }));`;
    expect(JSON.parse(run(code, { platform, arch }))).toEqual({
      supported: false,
      unsupportedReason: sentence(`${platform}-${arch}`),
      errors: Array.from({ length: 4 }, () => ['ERR_UNSUPPORTED', true]),
    });
  },
);

test('on macOS, channels over sockets work without the addon', () => {
  const code = `
    const options = { transport: 'socket' };
    const server = await crossings.listen('./feed.sock', options);
    const client = await crossings.connect('./feed.sock', options);
    const served = await server.accept();
    served.onRequest((text) => 'hello, ' + text);
    console.log(String(await client.request('world')));
    const { channel, port } = crossings.channelPair(options);
    const other = await crossings.openChannel(port.take(), options);
    await other.send('through a ticket');
    console.log(String(await (await channel).receive()));
    await other.close(); await (await channel).close(); await client.close(); await served.close(); await server.close();
    await crossings.listen('x'.repeat(104), options).catch(({ message }) => console.log(message.slice(0, 75)));`;
  expect(run(code, { platform: 'darwin', arch: 'arm64' })).toBe(
    'hello, world\nthrough a ticket\npath must be at most 103 bytes, the limit for a Unix socket on darwin; "xxx\n',
  );
});

test('on Windows, a path must be the name of a pipe', () => {
  const code = String.raw`
    const refused = async (path) => crossings.listen(path, { transport: 'socket' }).catch(({ code, message }) => console.log(code, message));
    await refused('./feed.sock'); await refused('\\\\.\\pipe\\'); await refused('\\\\.\\pipe\\' + 'x'.repeat(300));
    console.log(require('./lib/fallback/paths.js').readEndpoint('\\\\.\\pipe\\feed'));`;
  const lines = run(code, { platform: 'win32', arch: 'x64' }).trim().split('\n');
  expect(lines).toEqual([
    String.raw`ERR_INVALID_ARGUMENT path must be the name of a pipe on Windows, such as \\.\pipe\name; got "./feed.sock".`,
    String.raw`ERR_INVALID_ARGUMENT path must be the name of a pipe on Windows, such as \\.\pipe\name; got "\\\\.\\pipe\\".`,
    expect.stringContaining("at most 256 characters, the limit for a pipe's name"),
    String.raw`\\.\pipe\feed`,
  ]);
});

test('where the addon is there, `supported` is true and there is no reason', () => {
  const { supported, unsupportedReason } = require('../../lib/index.js');
  expect({ supported, unsupportedReason }).toEqual({ supported: true, unsupportedReason: null });
});
