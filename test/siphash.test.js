'use strict';
// SipHash-2-4 in C and in JavaScript: the tags that its authors published, and each against the other on random inputs.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { SipHash } = require('../lib/channel/siphash.js');
const vectors = require('./siphash-vectors.json');
const { root } = require('./support.js');

const RANDOM_LINES = 2000;
const seed = Number(process.env.SEED ?? Date.now() % 1e6);
const folder = mkdtempSync(join(tmpdir(), 'siphash-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The tag in hexadecimal, by lib/channel/siphash.js. @param {Buffer} key @param {Buffer} message */
function tagOf(key, message) {
  const keyWords = new Int32Array(4);
  Buffer.from(keyWords.buffer).set(key);
  const words = new Int32Array((message.length + 16) >> 2).fill(-1); // what follows the message has no effect
  Buffer.from(words.buffer).set(message);
  const hash = new SipHash(keyWords);
  hash.digest(words, message.length);
  return Buffer.from(new Int32Array([hash.low, hash.high]).buffer).toString('hex');
}

const printed = (() => {
  const program = join(folder, 'siphash-test');
  const built = spawnSync(process.env.CC || 'cc', ['-std=gnu11', '-O2', '-o', program, 'test/siphash-test.c'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(built.stderr);
  const { stdout } = spawnSync(program, [String(RANDOM_LINES), String(seed)], {
    encoding: 'utf8',
    maxBuffer: 16 << 20,
  });
  return stdout.trim().split('\n');
})();

test('JavaScript computes each of the 64 published tags', () => {
  const message = Buffer.from(Array.from({ length: 64 }, (_, i) => i));
  const key = Buffer.from(vectors.key, 'hex');
  expect(vectors.tags.map((_, length) => tagOf(key, message.subarray(0, length)))).toEqual(vectors.tags);
});

test('C computes each of the 64 published tags', () => {
  expect(printed.slice(0, 64)).toEqual(vectors.tags);
});

test(`both compute the same tags of random messages under random keys (SEED=${seed})`, () => {
  const lines = printed.slice(64);
  expect(lines).toHaveLength(RANDOM_LINES);
  const wrong = lines.filter((line) => {
    const [key, message, tag] = line.split(' ').map((hex) => Buffer.from(hex, 'hex'));
    return tagOf(key, message) !== tag.toString('hex');
  });
  expect(wrong).toEqual([]);
});
