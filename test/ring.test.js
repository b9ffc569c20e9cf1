'use strict';
// The ring in C: every test of ring-test.c, plain and under the sanitizers of whatever compiler is here.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'ring-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SOURCES = ['test/ring-test.c', 'native/region.c', 'native/handshake.c'];
const compiler = process.env.CC || 'cc';

/** @param {string} name @param {string[]} flags @returns {string | null} null: this compiler lacks that sanitizer */
function build(name, flags) {
  const output = join(folder, name);
  const args = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-pthread', ...flags, '-o', output, ...SOURCES];
  const { status, stderr } = spawnSync(compiler, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return output;
  if (flags.length === 0) throw new Error(stderr);
  console.log(`${compiler} ${flags.join(' ')} is not possible here: skipped`);
  return null;
}

const plain = /** @type {string} */ (build('plain', []));
const names = spawnSync(plain, [], { encoding: 'utf8' }).stdout.trim().split('\n');

/** @param {string} program @param {string} name */
function passes(program, name) {
  const { status, stderr } = spawnSync(program, [name], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}

test.each(names)('%s', (name) => passes(plain, name));

const checked = build('checked', ['-fsanitize=address,undefined', '-fno-sanitize-recover=all']);
if (checked) test.each(names)('%s, address and undefined-behaviour sanitizers', (name) => passes(checked, name));

const threaded = build('threaded', ['-fsanitize=thread']);
if (threaded) test('between_threads, thread sanitizer', () => passes(threaded, 'between_threads'));

// TSan must be able to see a race here, or its silence means nothing.
const racing = threaded && build('racing', ['-fsanitize=thread', '-D__ATOMIC_RELEASE=__ATOMIC_RELAXED']);
if (racing) {
  test('without its releases the ring has a race that the thread sanitizer reports', () => {
    const env = { ...process.env, TSAN_OPTIONS: 'halt_on_error=1' };
    expect(spawnSync(racing, ['between_threads'], { encoding: 'utf8', env }).stderr).toContain('data race');
  });
}

test('the hot path has no system call and calls nothing but memcpy', () => {
  const source = [
    '#include "native/ring.h"',
    'enum ring_result hot_write(struct ring_writer *w, const void *m, uint32_t n) { enum ring_result r = ring_write(w, m, n, 0); ring_publish(w); return r; }',
    'enum ring_result hot_read(struct ring_reader *r, void *to, uint32_t *n) { const void *p; uint32_t k; enum ring_result s = ring_peek(r, &p, n, &k); if (s == RING_OK) { ring_copy(to, p, *n); ring_consume(r, *n); } return s; }',
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
  expect(stdout).toMatch(/hot_write/);
  expect(stdout).not.toMatch(/\b(syscall|svc|sysenter|int\s+\$0x80)\b/);
  const called = [...stdout.matchAll(/^\s*(?:call|jmp|bl|b)\s+([A-Za-z_]\w*)/gm)].map(([, name]) => name);
  expect(called.filter((name) => name !== 'memcpy')).toEqual([]);
});
