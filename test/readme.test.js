'use strict';
// The README: its example works as pasted, and every command and picture it names exists.
const { execFileSync, spawn } = require('node:child_process');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'readme-'));
afterAll(() => rmSync(folder, { recursive: true }));

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const files = [...readme.matchAll(/```js\n\/\/ (\w+\.m?js)\n([^`]*)```/g)].map(([, name, text]) => ({ name, text }));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(root, join(folder, 'node_modules', 'crossings'));
writeFileSync(join(folder, 'package.json'), '{}'); // so that no package.json of a folder above counts
const socket = join(folder, 'feed.sock');
for (const { name, text } of files) writeFileSync(join(folder, name), text.replaceAll('/tmp/feed.sock', socket));

/** @param {string} name */
const start = (name) => spawn(process.execPath, [join(folder, name)], { stdio: ['ignore', 'pipe', 'inherit'] });

test('the example is two files', () => {
  expect(files.map(({ name }) => name)).toEqual(['a.mjs', 'b.mjs']);
});

test.each([
  ['a.mjs', 'b.mjs'],
  ['b.mjs', 'a.mjs'],
])('the example works when %s is started before %s', async (first, second) => {
  const children = [start(first)];
  await new Promise((resolve) => setTimeout(resolve, 200));
  children.push(start(second));
  const [a, b] = first === 'a.mjs' ? children : [...children].reverse();
  const printed = await new Promise((resolve) => a.stdout.once('data', (text) => resolve(String(text))));
  expect(printed).toBe('hello\n');
  expect(await new Promise((resolve) => (b.exitCode === null ? b.once('close', resolve) : resolve(b.exitCode)))).toBe(
    0,
  );
  a.kill(); // its server never ends
  await new Promise((resolve) => a.once('close', resolve));
});

test('every npm script and option that the README names exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const [, name] of readme.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
  const help = execFileSync(process.execPath, [join(root, 'lib', 'cli.js'), 'bench', '--help'], { encoding: 'utf8' });
  for (const [, option] of readme.matchAll(/npm run bench -- (--[\w-]+)/g)) expect(help).toContain(option);
});

test('every picture that the README shows exists', () => {
  const pictures = [...readme.matchAll(/(?:\]\(|src=")(docs\/pictures\/[^)"]+)/g)].map(([, path]) => path);
  expect(pictures.length).toBe(6);
  for (const path of pictures) expect(readFileSync(join(root, path)).subarray(1, 4).toString()).toBe('PNG');
});
