'use strict';
// Output files that cannot be written, or whose folder changes while a command runs: one sentence, never a stack trace, and nothing else is left.
const { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { checkWritable, writeOutput } = require('../lib/terminal/files.js');
const { cli } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'outputs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const gone = join(folder, 'gone');
const file = join(gone, 'x.json');
beforeEach(() => void mkdirSync(gone));
afterEach(() => rmSync(gone, { recursive: true, force: true }));

test.each([
  ['is missing', () => {}, 'no such file or directory'],
  ['has become a file', () => writeFileSync(gone, ''), 'not a directory'],
  ['has become a link to itself', () => symlinkSync(gone, gone), 'too many symbolic links encountered'],
])('a file whose folder %s after the check gets a sentence', async (_, replace, reason) => {
  checkWritable('--json', file);
  rmSync(gone, { recursive: true });
  replace();
  await expect(writeOutput(file, '{}')).rejects.toThrow(
    expect.objectContaining({ code: 'ERR_WRITE', message: `Cannot write ${file}: ${reason}` }),
  );
});

test('`crossings trace` ends with a sentence if the command replaces the folder of its file', () => {
  const { status, stderr } = cli(['trace', '--json', file, '--', 'sh', '-c', 'rmdir "$0"; touch "$0"', gone]);
  expect(status).toBe(1);
  expect(stderr).toContain(`Cannot write ${file}: not a directory (ERR_WRITE)\n`);
  expect(stderr).not.toMatch(/^ +at /m);
});

test.each([
  ['ASCII', 'a'.repeat(255)],
  ['letters of three bytes', '語'.repeat(85)],
])('a name as long as the file system allows is written, in %s', async (_, name) => {
  const path = join(gone, name);
  checkWritable('--json', path);
  for (const text of ['first', 'second']) {
    await writeOutput(path, text);
    expect(readFileSync(path, 'utf8')).toBe(text);
  }
  expect(readdirSync(gone)).toEqual([name]);
});

test('a file that cannot be replaced leaves no temporary file', async () => {
  mkdirSync(file); // where writeOutput() is about to put it
  await expect(writeOutput(file, '{}')).rejects.toThrow(`Cannot write ${file}: `);
  expect(readdirSync(gone)).toEqual(['x.json']);
});

test('a link at the name of the temporary file is not followed, and no two files have the same name', async () => {
  const victim = join(gone, 'victim');
  writeFileSync(victim, 'mine');
  /** @type {string[]} */
  const names = [];
  await jest.isolateModulesAsync(async () => {
    jest.doMock('node:fs', () => ({
      ...jest.requireActual('node:fs'),
      /** @param {string} path @param {string} text @param {object} options */
      writeFileSync(path, text, options) {
        names.push(path);
        symlinkSync(victim, path);
        writeFileSync(path, text, options);
      },
    }));
    const isolated = require('../lib/terminal/files.js');
    for (let i = 0; i < 2; i++) {
      await expect(isolated.writeOutput(file, '{}')).rejects.toThrow(`Cannot write ${file}: file already exists`);
    }
  });
  expect(readFileSync(victim, 'utf8')).toBe('mine');
  expect(new Set(names).size).toBe(2);
});

// The measurement was made, and then lost.
test.each(['EACCES', 'EBUSY'])('a file that cannot be replaced (%s) is written directly', async (code) => {
  writeFileSync(file, 'old');
  await jest.isolateModulesAsync(async () => {
    jest.doMock('node:fs', () => ({
      ...jest.requireActual('node:fs'),
      renameSync() {
        throw Object.assign(new Error(`${code}: refused, rename`), { code });
      },
    }));
    await require('../lib/terminal/files.js').writeOutput(file, '{}');
  });
  expect(readFileSync(file, 'utf8')).toBe('{}');
  expect(readdirSync(gone)).toEqual(['x.json']);
});
