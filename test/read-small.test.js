'use strict';
// Files that anybody may have put in the place of a run file: reading one never waits, always ends, and takes little memory.
const { execFileSync } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { checkAllWritable, checkExtent, readSmall } = require('../lib/terminal/files.js');
const { RunStore } = require('../server/run-store.js');
const { result, runOf } = require('./run-files.js');

const folder = mkdtempSync(join(tmpdir(), 'files-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'file');
afterEach(() => rmSync(file, { force: true }));

test.each([0, 1, 65536, 100_000])('a file of the size that is allowed, %i bytes', (size) => {
  writeFileSync(file, 'x'.repeat(size));
  expect(readSmall(file, size)).toBe('x'.repeat(size));
});

test('a file of one byte more', () => {
  writeFileSync(file, 'x'.repeat((1 << 20) + 1));
  expect(() => readSmall(file, 1 << 20)).toThrow('it is larger than 1 MiB');
});

test('a named pipe without a writer', () => {
  execFileSync('mkfifo', [file]);
  expect(() => readSmall(file, 1 << 20)).toThrow('it is not a regular file');
});

test('a folder, and a device', () => {
  expect(() => readSmall(folder, 1 << 20)).toThrow('it is a folder');
  expect(() => readSmall('/dev/zero', 1 << 20)).toThrow('it is not a regular file');
});

// They claim to be regular files of no bytes. The first has no end; reading the second waits for the kernel's next message.
test.each(['/proc/self/pagemap', '/proc/kmsg'])('a link to %s', (target) => {
  symlinkSync(target, file);
  expect(() => readSmall(file, 1 << 20)).toThrow();
});

test('a file that has no size and some content', () => {
  symlinkSync('/proc/self/status', file);
  expect(readSmall(file, 1 << 20)).toContain('Name:');
});

// Checked against the schema of a run, a file of 4 MiB took 3.5 GB and nearly a minute.
describe('the extent of what a file holds', () => {
  test('values, whatever they are', () => {
    expect(() => checkExtent(Array(99_999).fill(0))).not.toThrow();
    for (const value of [0, '', null, {}, []]) {
      const many = { a: Array(60_000).fill(value), b: Array(60_000).fill(value) };
      expect(() => checkExtent(many)).toThrow('it holds more than 100,000 values');
    }
  });

  test.each([64, 65, 500_000])('nested %i levels deep', (levels) => {
    const json = JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    if (levels <= 64) expect(() => checkExtent(json)).not.toThrow();
    else expect(() => checkExtent(json)).toThrow('it is nested more than 64 levels deep');
  });

  test('numbers', () => {
    expect(() => checkExtent([1e100, -1e100, 5e-324])).not.toThrow();
    for (const number of ['1.1e100', '-1.1e100', '1e400']) {
      const json = JSON.parse(`{"a": [${number}]}`);
      expect(() => checkExtent(json)).toThrow(
        `it holds the number ${Number(number)}; numbers must be from -1e+100 to 1e+100`,
      );
    }
  });
});

test('the lab skips a run file that holds too much, and shows the others', async () => {
  const warn = jest.fn();
  const store = new RunStore(folder, /** @type {any} */ ({ warn }));
  const ids = ['good', 'bad'].map(() => randomUUID());
  const [good, bad] = ids.map((id) => ({ ...runOf([result('pipe', {})]), id }));
  writeFileSync(join(folder, `${ids[0]}.json`), JSON.stringify(good));
  writeFileSync(join(folder, `${ids[1]}.json`), JSON.stringify({ ...bad, results: Array(200_000).fill({}) }));
  expect((await store.list()).map(({ id }) => id)).toEqual([ids[0]]);
  expect(warn.mock.calls[0][1]).toMatch('more than 100,000 values');
});

test('the lab removes a run that another lab has removed, and says why one cannot be removed', () => {
  const store = new RunStore(folder, /** @type {any} */ ({}));
  const id = randomUUID();
  expect(() => store.remove(id)).not.toThrow();
  mkdirSync(join(folder, `${id}.json`));
  expect(() => store.remove(id)).toThrow(
    expect.objectContaining({
      status: 503,
      code: 'ERR_WRITE',
      message: expect.stringContaining(`Run ${id} cannot be removed: `),
    }),
  );
});

test('a file to write that has been deleted since it was opened is refused', () => {
  const descriptor = openSync(file, 'w');
  const path = `/proc/self/fd/${descriptor}`;
  expect(() => checkAllWritable({ '--json': path })).not.toThrow();
  rmSync(file);
  expect(() => checkAllWritable({ '--json': path })).toThrow('the file has been deleted');
  closeSync(descriptor);
});
