'use strict';
// Kernels on which no channel can be made through shared memory. What a user reads there says so.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { built, eventsOf, root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'kernels-'));
const library = join(folder, 'kernels.so');
const later = join(folder, 'later.js'); // V8 would abort if its pages were not the machine's
writeFileSync(later, "'use strict';\nprocess.env.KERNEL = process.env.KERNEL_LATER;\n");
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => {
  const words = ['-shared', '-fPIC', '-o', library, join(__dirname, 'kernels.c'), '-ldl'];
  const { status, stderr } = spawnSync('cc', words, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

/** Runs Node on a kernel. @param {string} kernel @param {string[]} args */
function runNodeOn(kernel, args) {
  const env = { ...process.env, LD_PRELOAD: library, KERNEL_LATER: kernel };
  const words = ['--require', later, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: root,
    env,
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** @param {string} kernel @param {string} code of an async function @returns {any} what it returns */
function evaluate(kernel, code) {
  const script = `
    const crossings = require('./lib/index.js');
    const problem = (call) => call().then(() => null, ({ code, message }) => ({ code, message }));
    (async () => { ${code} })().then((result) => console.log(JSON.stringify(result)));`;
  return runNodeOn(kernel, ['-e', script]);
}

const LARGE = 'Channels through shared memory need pages of 4 KiB; this kernel has pages of 16 KiB.';

describe('a kernel with pages of 16 KiB', () => {
  test('is not supported, and the sentence says why and what to do', () => {
    const { supported, unsupportedReason, ...errors } = evaluate(
      'pages',
      `const { supported, unsupportedReason } = crossings;
      return { supported, unsupportedReason, listening: await problem(async () => (await crossings.listen(${JSON.stringify(join(folder, 'x'))})).close()),
        pair: await problem(async () => crossings.channelPair().port.close()) };`,
    );
    expect(supported).toBe(false);
    expect(unsupportedReason).toMatch(`${LARGE} To develop on this machine, set the option transport: 'socket'`);
    const refused = { code: 'ERR_UNSUPPORTED', message: unsupportedReason };
    expect(errors).toEqual({ listening: refused, pair: refused });
  });

  test('has channels over sockets', () => {
    const code = `
      const options = { transport: 'socket' };
      const { channel, port } = crossings.channelPair(options);
      const other = await crossings.openChannel(port.take(), options);
      await other.send('hello');
      const received = String(await (await channel).receive());
      await other.close(); await (await channel).close();
      return received;`;
    expect(evaluate('pages', code)).toBe('hello');
  });
});

test.each([
  ['pages', LARGE],
  ['seals', 'Cannot create a shared-memory region of 65536 bytes: Operation not supported.'],
])('crossings doctor reports the kernel "%s"', (kernel, reason) => {
  const { methods } = runNodeOn(kernel, ['lib/cli.js', 'doctor', '--json']);
  expect(methods.channels).toEqual({ allowed: 'no', reason });
});

test.each(['pages', 'seals'])('on the kernel "%s", the C library says that this is not supported', (kernel) => {
  const env = { ...process.env, LD_PRELOAD: library, KERNEL: kernel };
  const args = ['--mechanism', 'ring', '--messages', '1000'];
  const { stdout } = spawnSync(built('crossings-bench'), args, { env, encoding: 'utf8' });
  const message = 'cannot prepare ring: Operation not supported';
  expect(eventsOf(stdout).at(-1)).toEqual({ type: 'error', code: 'ERR_SYSTEM', message });
});
