'use strict';
// The README's example, as pasted: two files, in either start order; and what the package carries.
const { execFileSync, spawn } = require('node:child_process');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'readme-'));
afterAll(() => rmSync(folder, { recursive: true }));

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const files = [...readme.matchAll(/```js\n\/\/ (\w+\.js)\n([^`]*)```/g)].map(([, name, text]) => ({ name, text }));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(root, join(folder, 'node_modules', 'crossings'));
const socket = join(folder, 'feed.sock');
for (const { name, text } of files) writeFileSync(join(folder, name), text.replaceAll('/tmp/feed.sock', socket));

/** @param {string} name */
const start = (name) => spawn(process.execPath, [join(folder, name)], { stdio: ['ignore', 'pipe', 'inherit'] });

test('there are two files to paste', () => {
  expect(files.map(({ name }) => name)).toEqual(['a.js', 'b.js']);
});

test.each([
  ['a.js', 'b.js'],
  ['b.js', 'a.js'],
])('the example works, %s first', async (first, second) => {
  const children = [start(first)];
  await new Promise((resolve) => setTimeout(resolve, 200));
  children.push(start(second));
  const [a, b] = first === 'a.js' ? children : [...children].reverse();
  const said = await new Promise((resolve) => a.stdout.once('data', (text) => resolve(String(text))));
  expect(said).toBe('hello\n');
  expect(await new Promise((resolve) => (b.exitCode === null ? b.once('close', resolve) : resolve(b.exitCode)))).toBe(
    0,
  );
  a.kill(); // it listens on
  await new Promise((resolve) => a.once('close', resolve));
});

test('the README names only npm scripts and options that there are', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const [, name] of readme.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
  const help = execFileSync(process.execPath, [join(root, 'lib', 'cli.js'), 'bench', '--help'], { encoding: 'utf8' });
  for (const [, option] of readme.matchAll(/npm run bench -- (--[\w-]+)/g)) expect(help).toContain(option);
});

test('every picture that the README shows is there', () => {
  const pictures = [...readme.matchAll(/(?:\]\(|src=")(docs\/pictures\/[^)"]+)/g)].map(([, path]) => path);
  expect(pictures.length).toBe(4);
  for (const path of pictures) expect(readFileSync(join(root, path)).subarray(1, 4).toString()).toBe('PNG');
});
