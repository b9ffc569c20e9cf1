'use strict';
// `crossings lab` on a platform without builds, as a process that takes itself for one: it plays what ships, and says that nothing can
// be recorded or measured there.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { request } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { text } = require('node:stream/consumers');
const { root } = require('../support.js');

const folder = mkdtempSync(join(tmpdir(), 'no-lab-'));
afterAll(() => rmSync(folder, { recursive: true }));
const pretend = join(folder, 'pretend.js');
writeFileSync(
  pretend,
  "for (const [name, value] of [['platform', 'darwin'], ['arch', 'arm64']]) Object.defineProperty(process, name, { value });",
);

test('crossings lab plays recordings where nothing can be run, and leaves nothing behind', async () => {
  const child = spawn(process.execPath, ['-r', pretend, join(root, 'server', 'cli.js'), 'lab', '--no-open'], {
    env: { ...process.env, TMPDIR: folder },
  });
  let errors = '';
  child.stderr.on('data', (piece) => {
    errors += piece;
  });
  const ended = once(child, 'close');
  const [line] = await once(child.stdout, 'data');
  const address = String(line).trim();
  expect(errors).toBe(
    'No build of crossings-count for darwin-arm64; there are builds for Linux on x64 and arm64, with glibc 2.28 or later or with musl. ' +
      'Nothing can be recorded or measured here: the lab shows only the recordings and runs that it includes.\n',
  );
  const page = await fetch(address);
  expect(page.headers.get('cache-control')).toBe('no-cache');
  expect(await page.text()).toContain('<meta name="crossings-data" content="data/">');
  const { mechanisms, tracing } = await (await fetch(`${address}data/mechanisms.json`)).json();
  expect(mechanisms.map((/** @type {any} */ { name }) => name)).toEqual([
    'pipe',
    'ring',
    'shm-sem',
    'shm-spin',
    'tcp',
    'uds',
  ]);
  expect(tracing.allowed).toBe(false);
  for (const { name } of mechanisms) {
    const { events } = await (await fetch(`${address}data/traces/${name}.json`)).json();
    expect(events.length).toBeGreaterThan(10);
  }
  // A page of another site that has its name resolve to this machine is refused, and reads nothing of where this is installed.
  const started = errors;
  for (const [path, headers, status, sentence] of /** @type {const} */ ([
    ['', { host: 'example.org' }, 403, /^Host must be one of .*; got "example\.org"\.\n$/],
    ['', { range: 'bytes=99999999-' }, 416, /^Malformed request\.\n$/],
    ['nothing', {}, 404, /^Page \/nothing not found\.\n$/],
  ])) {
    const [response] = await once(request(address + path, { headers }).end(), 'response');
    expect(response.statusCode).toBe(status);
    expect(await text(response)).toMatch(sentence);
  }
  child.kill('SIGTERM');
  await ended;
  expect(errors).toBe(started);
  expect(readdirSync(folder)).toEqual(['pretend.js']);
});

// It stayed in the folder for temporary files.
test('a lab that cannot write its address leaves no copy behind', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, ['-r', pretend, join(root, 'server', 'cli.js'), 'lab', '--no-open'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', full, 'ignore'],
  });
  closeSync(full);
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(readdirSync(folder)).toEqual(['pretend.js']);
});
