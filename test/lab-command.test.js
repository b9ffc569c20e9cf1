'use strict';
// `crossings lab`: how it starts, its errors, and that it leaves no process and no file behind, however it ends.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const {
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { startServer } = require('../server/server.js');
const { clientOf, descendantsOf, hasEnded } = require('./lab.js');
const { cli, leftovers, root, start, until, untilNothingIsLeft } = require('./support.js');

const LONG = { effort: 'thorough', mechanisms: ['shm-sem', 'pipe'], messages: 1_000_000, sizeBytes: 1024 };

const folder = mkdtempSync(join(tmpdir(), 'lab-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a failed test would leave open, so that Jest would never end. @type {(() => unknown)[]} */
const leftOpen = [];
afterEach(async () => {
  for (const close of leftOpen.splice(0)) await close();
});

// It waited for the list of mechanisms, although a signal had told it to end.
test('a signal ends the start of a server', async () => {
  const started = startServer({ port: 0, dataFolder: folder, signal: AbortSignal.abort('SIGTERM') });
  leftOpen.push(async () => (await started.catch(() => undefined))?.close());
  await expect(started).rejects.toBe('SIGTERM');
});

/** Start it and wait for its address. @param {string[]} args */
const startLab = (...args) => startLabIn('', ...args);

/** Likewise. @param {string} limits a command of the shell, such as 'ulimit -v 6000000' @param {string[]} args */
async function startLabIn(limits, ...args) {
  const command = [process.execPath, join(root, 'server', 'cli.js'), 'lab', '--data', folder, ...args];
  const child = start('sh', ['-c', `${limits}\nexec "$@"`, 'sh', ...command]);
  leftOpen.push(() => child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.stderr += text;
  });
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until(() => output.stdout.includes('\n') || child.exitCode !== null);
  const { port, searchParams } = new URL(output.stdout.split('\n')[0]);
  const server = { port: Number(port), token: String(searchParams.get('token')) };
  return { child, output, ended, ...server, ...clientOf(server) };
}

/** Occupy a port until `free` is called. @param {number} [requested] */
async function occupy(requested = 0) {
  const server = net.createServer();
  await new Promise((resolve, reject) =>
    server.once('error', reject).listen(requested, '127.0.0.1', () => resolve(null)),
  );
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  const free = () => new Promise((resolve) => server.close(resolve));
  leftOpen.push(free);
  return { port, free };
}

test('it prints its address with the token on standard output, and nothing else', async () => {
  const { child, output, ended, ask, token } = await startLab('--port', '0');
  expect(output.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}\n$/);
  expect((await ask('/api/mechanisms')).status).toBe(200);
  expect((await ask('/')).text).toContain('<title>');
  await ask(`/?token=${token}`);
  child.kill('SIGTERM');
  expect(await ended).toBe(143);
  expect(output.stdout.trimEnd().split('\n')).toHaveLength(1);
});

test('its log has one line of JSON per request, without the token', async () => {
  const { child, output, ended, ask, token } = await startLab('--port', '0');
  await ask(`/?token=${token}`);
  await ask('/api/mechanisms', { headers: { 'x-crossings-token': 'wrong' } });
  child.kill('SIGTERM');
  await ended;
  const lines = output.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ method: 'GET', path: '/', status: 303, ms: expect.any(Number) }),
    expect.objectContaining({ method: 'GET', path: '/api/mechanisms', status: 403, ms: expect.any(Number) }),
  ]);
  expect(output.stderr).not.toContain(token);
});

const hasPython = spawnSync('python3', ['-c', 'import pty; pty.openpty()']).status === 0;
const testInTerminal = hasPython ? test : test.skip;

testInTerminal('in a terminal it opens the browser, whose command line does not have the token', async () => {
  const [browser, opened] = [join(folder, 'browser'), join(folder, 'opened')];
  writeFileSync(browser, `#!/bin/sh\necho "$@" >${opened}.new && mv ${opened}.new ${opened}\n`, { mode: 0o755 });
  const { CI: _, ...env } = process.env;
  const command = [process.execPath, join(root, 'server', 'cli.js'), 'lab', '--port', '0', '--data', folder];
  const terminal = spawn('python3', ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', ...command], {
    env: { ...env, BROWSER: browser },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  leftOpen.push(() => terminal.kill('SIGKILL'));
  let output = '';
  terminal.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  await until(() => existsSync(opened) && output.includes('\n'));
  const address = readFileSync(opened, 'utf8').trim();
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?code=[\w-]{43}$/);
  expect(output).toMatch(/\?token=[\w-]{43}\r\n/);
  expect(output).not.toContain(address);
  const response = await fetch(address, { redirect: 'manual' });
  expect(response.status).toBe(303);
  const ended = once(terminal, 'close');
  terminal.kill('SIGKILL'); // and so the terminal closes
  await ended;
  rmSync(browser);
  rmSync(opened);
});

describe('during a run,', () => {
  /** A lab with a run in progress, its processes, and the files from before. */
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
  ])('%s ends it with status %i, after its processes have ended', async (signal, status) => {
    const { child, ended, processes } = await running();
    child.kill(/** @type {NodeJS.Signals} */ (signal));
    expect(await ended).toBe(status);
    expect(processes.filter((pid) => !hasEnded(pid))).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('SIGKILL also ends its processes, and no file is left', async () => {
    const { child, ended, processes, before } = await running();
    child.kill('SIGKILL');
    await ended;
    await until(() => processes.every(hasEnded));
    await untilNothingIsLeft(before);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('a run can be followed where addresses are limited', async () => {
  // Less than the parser for fetch() reserves, which Node loads with the class Request.
  const { child, output, ended, ask, events } = await startLabIn('ulimit -v 6000000', '--port', '0');
  const { body } = await ask('/api/runs', { method: 'POST', body: { ...LONG, messages: 1000, effort: 'quick' } });
  expect((await events(body.id)).at(-1)).toMatchObject({ event: 'done' });
  child.kill('SIGTERM');
  expect(await ended).toBe(143);
  expect(output.stderr.replace(/^\{"level":30.*\n/gm, '')).toBe(''); // nothing but its log
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
});

describe('a port in use', () => {
  test('is an error if it was given with --port', async () => {
    const { port, free } = await occupy();
    const { status, stdout, stderr } = cli(['lab', '--no-open', '--data', folder, '--port', String(port)]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^Port ${port} is already in use\\. [^\\n]* --port\\. \\(ERR_PORT_IN_USE\\)\\n$`),
    );
    await free();
  });

  test('makes it choose another, and report that, if it is only the default', async () => {
    const taken = await occupy(7411).catch(() => null); // a lab of the user's may occupy it already
    const { child, output, ended, port, ask } = await startLab('--no-open');
    expect(port).not.toBe(7411);
    expect(output.stderr).toContain(`Port 7411 is in use, perhaps by another lab; using port ${port} instead.\n`);
    expect((await ask('/api/mechanisms')).status).toBe(200);
    child.kill('SIGTERM');
    await ended;
    await taken?.free();
  });
});

describe('invalid arguments: status 2 and an error that names what is valid:', () => {
  const file = join(folder, '..', `lab-file-${process.pid}`);
  const link = `${file}-link`; // leads nowhere
  beforeAll(() => {
    writeFileSync(file, '');
    symlinkSync(`${file}-nowhere`, link);
  });
  afterAll(() => {
    rmSync(file);
    rmSync(link);
  });
  test.each([
    [['--port', '-1'], '"-1"', '0 to 65535'],
    [['--port', '65536'], '"65536"', '0 to 65535'],
    [['--port', '80.5'], '"80.5"', '0 to 65535'],
    [['--port', 'http'], '"http"', '0 to 65535'],
    [['--port', ''], '""', '0 to 65535'],
    [['--data', file], file, 'a folder'],
    [['--data', link], link, 'a folder'],
    [['--data', join(file, 'below')], join(file, 'below'), 'a folder'],
    [['--data', 'x'.repeat(300)], 'x'.repeat(300), 'ENAMETOOLONG'],
    [['--open-sesame'], '--open-sesame', '--help'],
    [['pipe'], '"pipe"', '--help'],
  ])('%j', (args, value, accepted) => {
    const { status, stdout, stderr } = cli(['lab', '--no-open', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^[A-Z-][^\n]*[.'"]\n$/);
    expect(stderr).toContain(value);
    expect(stderr).toContain(accepted);
  });
});

/** A terminal that nobody reads; null without Python. */
async function openUnreadTerminal() {
  const script = 'import os, pty, sys; print(os.ttyname(pty.openpty()[1]), flush=True); sys.stdin.read()';
  const holder = spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] });
  leftOpen.push(() => holder.kill());
  const [name] = await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')]).catch(() => [null]);
  if (!Buffer.isBuffer(name)) return null;
  return openSync(String(name).trim(), constants.O_WRONLY | constants.O_NOCTTY);
}

test.each([
  ['on a full disk', () => openSync('/dev/full', 'w'), 3],
  ['a pipe that nobody reads', () => 'pipe', 1000],
  ['a terminal that nobody reads', openUnreadTerminal, 1000],
])('it ends at the first signal if its standard error is %s', async (_, standardError, requests) => {
  const end = /** @type {number | 'pipe' | null} */ (await standardError());
  if (end === null) return;
  const args = [join(root, 'server', 'cli.js'), 'lab', '--data', folder, '--port', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', end] });
  if (end !== 'pipe') closeSync(end);
  leftOpen.push(() => child.kill('SIGKILL'));
  const [address] = await once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data');
  const ended = once(child, 'exit');
  const agent = new http.Agent({ keepAlive: true });
  const path = `/${'long'.repeat(50)}`;
  for (let i = 0; i < requests; i++) {
    const [response] = await once(http.get(new URL(path, String(address)), { agent }), 'response');
    await once(response.resume(), 'end');
  }
  agent.destroy();
  child.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
});

// It ended with status 1, because it could not report that it uses another port.
test('it serves although its port is in use and its standard error is closed', async () => {
  const taken = await occupy(7411).catch(() => null); // a lab of the user's may occupy it already
  const args = [join(root, 'server', 'cli.js'), 'lab', '--no-open', '--data', folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  leftOpen.push(() => child.kill('SIGKILL'));
  child.stderr.destroy();
  const ended = once(child, 'exit');
  const [address] = await once(child.stdout, 'data');
  for (let i = 0; i < 3; i++) {
    const [response] = await once(http.get(String(address)), 'response');
    expect(response.resume().statusCode).toBe(303);
  }
  child.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
  await taken?.free();
});

test('if nothing has been built, its error explains how to build it', () => {
  const copy = mkdtempSync(join(tmpdir(), 'unbuilt-'));
  for (const part of ['lib', 'server', 'binding.gyp', 'package.json'])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(copy, 'server', 'cli.js'), 'lab', '--port', '0'],
    {
      encoding: 'utf8',
    },
  );
  rmSync(copy, { recursive: true });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^crossings-\w+ has not been compiled: run `npm ci` in [^\n]*\.\n$/);
});

test('where the user has no home folder, its error asks for a folder', () => {
  const preload = join(folder, 'no-home.js'); // as os.homedir() of a user that is not in /etc/passwd, without HOME
  writeFileSync(preload, "require('node:os').homedir = () => { throw new Error('uv_os_homedir returned ENOENT'); };");
  const { XDG_STATE_HOME, ...env } = process.env;
  const args = ['-r', preload, join(root, 'server', 'cli.js'), 'lab', '--port', '0', '--no-open'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 60_000 });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^Finished runs [^\n]* Choose a folder with --data\. \(ERR_NO_HOME\)\n$/);
});

test('no other command loads the web server, and requiring crossings does not either', () => {
  const script = `
    require('./lib/index.js'); require('./lib/cli.js'); require('./server/lab-command.js');
    console.log(Object.keys(require.cache).filter((path) => /\\/server\\/(?!lab-command)|node_modules\\/(express|zod|pino)\\//.test(path)).length);`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8' });
  expect(stdout).toBe('0\n');
});
