'use strict';
// The ring in C: every test of ring-test.c, plain and with the sanitizers that the compiler supports. Elsewhere than in CI, only
// with the address and undefined-behavior sanitizers, where the compiler has them.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { inCi, testInCi } = require('./in-ci.js');
const { RING } = require('./native.js');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'ring-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SOURCES = ['test/ring-test.c', ...RING];
const compiler = process.env.CC || 'cc';

/** @param {string} name @param {string[]} flags @returns {string} "": the compiler does not support this sanitizer */
function build(name, flags) {
  const output = join(folder, name);
  const args = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-pthread', ...flags, '-o', output, ...SOURCES];
  const { status, stderr } = spawnSync(compiler, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return output;
  if (flags.length === 0) throw new Error(stderr);
  return '';
}

const checked = build('checked', ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']);
const plain = inCi || !checked ? build('plain', []) : '';
const names = spawnSync(plain || checked, [], { encoding: 'utf8' })
  .stdout.trim()
  .split('\n');

/** @param {string} program @param {string} name */
function passes(program, name) {
  const { status, stderr } = spawnSync(program, [name], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}

for (const name of names) (plain ? test : testInCi)(name, () => passes(plain, name));

(checked ? test : test.skip).each(names)('%s, with the address and undefined-behavior sanitizers', (name) =>
  passes(checked, name),
);

const threaded = inCi ? build('threaded', ['-fsanitize=thread']) : '';
const testWhereThreaded = !inCi || threaded ? testInCi : test.skip;
testWhereThreaded('between_threads, with the thread sanitizer', () => passes(threaded, 'between_threads'));

// Proves that the thread sanitizer detects races here.
testWhereThreaded('without its release stores, the ring has a race that the thread sanitizer reports', () => {
  const racing = build('racing', ['-fsanitize=thread', '-D__ATOMIC_RELEASE=__ATOMIC_RELAXED']);
  const env = { ...process.env, TSAN_OPTIONS: 'halt_on_error=1' };
  expect(spawnSync(racing, ['between_threads'], { encoding: 'utf8', env }).stderr).toContain('data race');
});

test('the hot path makes no system call and calls only memcpy', () => {
  const source = [
    '#include "native/ring-auth.h"',
    'enum ring_result hot_write(struct ring_writer *w, const void *m, uint32_t n) { enum ring_result r = ring_write(w, m, n, 0); ring_publish(w); return r; }',
    'enum ring_result hot_read(struct ring_reader *r, void *to, uint32_t *n) { const void *p; uint32_t k; enum ring_result s = ring_peek(r, &p, n, &k); if (s == RING_OK) { ring_copy(to, p, *n); ring_consume(r, *n); } return s; }',
    'enum ring_result hot_sign(struct ring_writer *w, struct ring_auth *a, const void *m, uint32_t n) { enum ring_result r = ring_auth_write(w, a, m, n, 0); ring_publish(w); return r; }',
    'enum ring_result hot_check(struct ring_reader *r, struct ring_auth *a, void *to, uint32_t *n) { uint32_t k; return ring_auth_read(r, a, to, 64, n, &k); }',
  ].join('\n');
  const { status, stdout, stderr } = spawnSync(
    compiler,
    ['-std=gnu11', '-O3', '-S', '-x', 'c', '-o', '-', '-I.', '-'],
    {
      cwd: root,
      input: source,
      encoding: 'utf8',
    },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const name of ['hot_write', 'hot_read', 'hot_sign', 'hot_check']) expect(stdout).toContain(`${name}:`);
  expect(stdout).not.toMatch(/\b(syscall|svc|sysenter|int\s+\$0x80)\b/);
  const called = [...stdout.matchAll(/^\s*(?:call|jmp|bl|b)\s+([A-Za-z_]\w*)/gm)].map(([, name]) => name);
  const ownFunctions = new Set([...stdout.matchAll(/^(\w[\w.]*):/gm)].map(([, name]) => name));
  expect(called.filter((name) => name !== 'memcpy' && !ownFunctions.has(name))).toEqual([]);
});
