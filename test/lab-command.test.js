'use strict';
// `crossings lab`: how it starts, what it says when it cannot, and that nothing of it stays however it ends.
const { spawnSync } = require('node:child_process');
const { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { clientOf, descendantsOf, hasEnded } = require('./lab.js');
const { cli, leftovers, root, start, until } = require('./support.js');

const LONG = { effort: 'thorough', mechanisms: ['shm-sem', 'pipe'], messages: 1_000_000, sizeBytes: 1024 };

const folder = mkdtempSync(join(tmpdir(), 'lab-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts it and waits for its address. @param {string[]} args */
async function startLab(...args) {
  const child = start(process.execPath, [join(root, 'lib', 'cli.js'), 'lab', '--data', folder, ...args]);
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr += text;
  });
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until(() => said.stdout.includes('\n') || child.exitCode !== null);
  const { port, searchParams } = new URL(said.stdout.split('\n')[0]);
  const server = { port: Number(port), token: String(searchParams.get('token')) };
  return { child, said, ended, ...server, ...clientOf(server) };
}

/** A port in use until the returned function is called. @param {number} [wanted] */
async function occupy(wanted = 0) {
  const server = net.createServer();
  await new Promise((resolve, reject) => server.once('error', reject).listen(wanted, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  return { port, free: () => new Promise((resolve) => server.close(resolve)) };
}

test('its first line is the address with the token, and nothing else is on standard output', async () => {
  const { child, said, ended, ask, token } = await startLab('--port', '0');
  expect(said.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}\n$/);
  expect((await ask('/api/mechanisms')).status).toBe(200);
  expect((await ask('/')).text).toContain('<title>');
  await ask(`/?token=${token}`);
  child.kill('SIGTERM');
  expect(await ended).toBe(143);
  expect(said.stdout.trimEnd().split('\n')).toHaveLength(1);
});

test('its log is one line of JSON for each request, and never tells the token', async () => {
  const { child, said, ended, ask, token } = await startLab('--port', '0');
  await ask(`/?token=${token}`);
  await ask('/api/mechanisms', { headers: { 'x-crossings-token': 'wrong' } });
  child.kill('SIGTERM');
  await ended;
  const lines = said.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ method: 'GET', path: '/', status: 303, ms: expect.any(Number) }),
    expect.objectContaining({ method: 'GET', path: '/api/mechanisms', status: 403, ms: expect.any(Number) }),
  ]);
  expect(said.stderr).not.toContain(token);
});

describe('in the middle of a run,', () => {
  /** A lab that runs, its processes, and what there was before. */
  async function running() {
    const before = leftovers();
    const lab = await startLab('--port', '0');
    expect((await lab.ask('/api/runs', { method: 'POST', body: LONG })).status).toBe(202);
    const pid = Number(lab.child.pid);
    await until(() => descendantsOf(pid).length > 2);
    return { ...lab, processes: descendantsOf(pid), before };
  }

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('%s ends it with status %i, its processes gone before it', async (signal, status) => {
    const { child, ended, processes } = await running();
    child.kill(/** @type {NodeJS.Signals} */ (signal));
    expect(await ended).toBe(status);
    expect(processes.filter((pid) => !hasEnded(pid))).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('SIGKILL takes its processes with it and leaves no file', async () => {
    const { child, ended, processes, before } = await running();
    child.kill('SIGKILL');
    await ended;
    await until(() => processes.every(hasEnded));
    expect(leftovers().sharedMemory).toEqual(before.sharedMemory);
    expect(leftovers().temporary).toEqual(before.temporary);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a port in use', () => {
  test('that was asked for is refused in a sentence', async () => {
    const { port, free } = await occupy();
    const { status, stdout, stderr } = cli(['lab', '--no-open', '--data', folder, '--port', String(port)]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^Port ${port} is already in use\\. [^\\n]* --port\\. \\(ERR_PORT_IN_USE\\)\\n$`),
    );
    await free();
  });

  test('that is only the usual one makes it take another, and say so', async () => {
    const taken = await occupy(7411).catch(() => null); // by a lab of the reader's, otherwise
    const { child, said, ended, port, ask } = await startLab('--no-open');
    expect(port).not.toBe(7411);
    expect(said.stderr).toContain(`Port 7411 is in use, perhaps by another lab, so this one took port ${port}.\n`);
    expect((await ask('/api/mechanisms')).status).toBe(200);
    child.kill('SIGTERM');
    await ended;
    await taken?.free();
  });
});

describe('is refused with status 2 and a sentence:', () => {
  const file = join(folder, '..', `lab-file-${process.pid}`);
  beforeAll(() => writeFileSync(file, ''));
  afterAll(() => rmSync(file));
  test.each([
    [['--port', '-1'], '"-1"', '0 to 65535'],
    [['--port', '65536'], '"65536"', '0 to 65535'],
    [['--port', '80.5'], '"80.5"', '0 to 65535'],
    [['--port', 'http'], '"http"', '0 to 65535'],
    [['--port', ''], '""', '0 to 65535'],
    [['--data', file], file, 'a folder'],
    [['--open-sesame'], '--open-sesame', '--help'],
    [['pipe'], "'lab'", '--help'],
  ])('%j', (args, value, accepted) => {
    const { status, stdout, stderr } = cli(['lab', '--no-open', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^[A-Z-][^\n]*[.'"]\n$/);
    expect(stderr).toContain(value);
    expect(stderr).toContain(accepted);
  });
});

test('where nothing has been built, it says how to build it', () => {
  const copy = mkdtempSync(join(tmpdir(), 'unbuilt-'));
  for (const part of ['lib', 'server', 'package.json']) cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy, 'lib', 'cli.js'), 'lab', '--port', '0'], {
    encoding: 'utf8',
  });
  rmSync(copy, { recursive: true });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^The program crossings-\w+ has not been built; run `npm install` [^\n]*\.\n$/);
});

test('no other command, and no program that requires crossings, loads the web server', () => {
  const asked = `
    require('./lib/index.js'); require('./lib/bench/command.js'); require('./lib/lab.js');
    console.log(Object.keys(require.cache).filter((path) => /\\/server\\/|node_modules\\/(express|zod|pino)\\//.test(path)).length);`;
  const { stdout } = spawnSync(process.execPath, ['-e', asked], { cwd: root, encoding: 'utf8' });
  expect(stdout).toBe('0\n');
});
