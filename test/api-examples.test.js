'use strict';
// The examples of docs/api.md work as they are: files are run beside each other, fragments on an open channel.
const { execFile } = require('node:child_process');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { promisify } = require('node:util');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'examples-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(root, join(folder, 'node_modules', 'crossings'));
writeFileSync(join(folder, 'package.json'), '{}'); // so that no package.json of a folder above counts

const page = readFileSync(join(root, 'docs', 'api.md'), 'utf8');
const examples = [...page.matchAll(/^```(?:js|ts)\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
const nameOf = (/** @type {string} */ text) => /^\/\/ ([\w-]+\.[cm]?js)\n/.exec(text)?.[1];
const files = examples.flatMap((text) => nameOf(text) ?? []);
const fragments = examples.filter((text) => !nameOf(text));
for (const text of examples) writeFileSync(join(folder, nameOf(text) ?? 'fragment'), text);

/** Runs a file and returns what it prints; fails with what it prints as an error. @param {string} name */
async function run(name) {
  const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd: folder, timeout: 120_000 });
  return stdout;
}

test('every example is a file that is run below, or a fragment', () => {
  const parts = ['worker.mjs', 'child.mjs', 'forked.mjs'];
  expect(files.filter((name) => !parts.includes(name)).sort()).toEqual(
    ['commonjs.cjs', 'module.mjs', 'with-worker.mjs', 'with-child.mjs', 'with-fork.mjs'].sort(),
  );
  expect(fragments.length).toBeGreaterThan(0);
});

test.each([
  ['commonjs.cjs', ''],
  ['module.mjs', ''],
  ['with-worker.mjs', 'hello\n'],
  ['with-child.mjs', 'hello\n'],
  ['with-fork.mjs', 'hello\n'],
])('%s works and ends', async (name, printed) => {
  expect(await run(name)).toBe(printed);
});

test.each(fragments.map((text) => [text.split('\n')[0], text]))('%s … works on an open channel', async (_, text) => {
  const harness = `
    import * as crossings from 'crossings';
    const { channelPair, openChannel } = crossings;
    const pair = channelPair();
    const [channel, peer] = await Promise.all([openChannel(pair.port.take()), pair.channel]);
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(20);
    await Promise.all([peer.send(bytes), peer.send(bytes)]);
    await peer.close();
    ${text}
    console.log(typeof sum === 'undefined' ? 'done' : sum);
    await channel.close();`;
  writeFileSync(join(folder, 'fragment.mjs'), harness);
  expect(await run('fragment.mjs')).toMatch(/^(done|40)\n$/);
});
