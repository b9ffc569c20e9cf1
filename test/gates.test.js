'use strict';
// The gates of a channel: each attempt to write a peer's memory, or to pass it a wrong position, frame or tag, is refused, and
// the same attempt succeeds where nothing forbids it. Without the controls, a refusal would prove nothing.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const schema = require('../lib/trace/gates/gates.schema.json');
const shipped = require('../server/recordings/gates.json');
const { built, cli, root, run } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'gates-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What answers each attempt on memory: the name of the errno, or the signal. */
const ANSWERS = {
  mmap: 'EPERM',
  mprotect: 'EACCES',
  store: 'SIGSEGV',
  pwrite: 'EPERM',
  'reopen-pwrite': 'EPERM',
  'reopen-mmap': 'EPERM',
  read: 'EFAULT',
  'proc-mem': 'EIO',
  'punch-hole': 'EPERM',
  grow: 'EPERM',
  shrink: 'EPERM',
  'add-seals': 'EPERM',
  'accept-unsealed': null,
};

const path = join(folder, 'gates.json');
const command = cli(['gates', '--json', path]);
const file = JSON.parse(readFileSync(path, 'utf8'));
/** @type {import('../lib/trace/gates/gates.js').Attempt[]} */
const attempts = file.gates.flatMap((/** @type {any} */ gate) => gate.attempts);

test('the command succeeds and shows each attempt', () => {
  expect({ status: command.status, stderr: command.stderr }).toEqual({ status: 0, stderr: '' });
  for (const { title } of attempts) expect(command.stdout).toContain(title);
});

test.each([
  ['new', file],
  ['shipped', shipped],
])('the %s file has every field of its schema, and the gates held', (_, each) => {
  const validate = new Ajv({ strict: false }).compile(schema);
  validate(each);
  expect(validate.errors ?? []).toEqual([]);
  expect(each.verdict).toBe('held');
});

test('the shipped file has the attempts that the program makes', () => {
  const names = (/** @type {any} */ { gates }) =>
    gates.map((/** @type {any} */ gate) => gate.attempts.map((/** @type {any} */ attempt) => attempt.name));
  expect(names(shipped)).toEqual(names(file));
});

test('the kernel refuses each attempt to write, resize or reseal a peer’s memory', () => {
  const [mmu] = file.gates;
  const answers = mmu.attempts.map((/** @type {any} */ { name, answer }) => [name, answer.error ?? answer.signal]);
  expect(Object.fromEntries(answers)).toEqual(ANSWERS);
});

test.each(attempts.map((attempt) => [attempt.title, attempt]))(
  '%s: refused, and the control succeeds',
  (_, attempt) => {
    expect([attempt.answer.refused, attempt.control.refused]).toEqual([true, false]);
  },
);

test('the owner finds sealed memory as it was; without seals it finds it changed, and then dies of it', () => {
  const untouched = { changed: false, signal: null };
  expect(file.owners).toEqual({
    sealed: [untouched, untouched],
    unsealed: [
      { changed: true, signal: null },
      { changed: false, signal: 'SIGBUS' },
    ],
  });
});

test('each answer names the line of C that asked', () => {
  for (const { answer, control } of attempts) {
    for (const { code, source } of [answer, control]) {
      const text = file.sources[source.file];
      expect(text).toBe(readFileSync(join(root, source.file), 'utf8'));
      const near = text
        .split('\n')
        .slice(source.line - 1, source.line + 2)
        .join(' ')
        .replace(/\s+/g, ' ');
      expect(near).toContain(code);
    }
  }
});

test.each([
  [['extra'], /Unexpected argument "extra"/],
  [['--json', '/no/such/folder/file.json'], /folder/],
])('crossings gates %p is refused with one sentence', (args, sentence) => {
  const { status, stderr } = cli(['gates', ...args]);
  expect(status).toBe(2);
  expect(stderr).toMatch(sentence);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

test('crossings-gates takes no arguments', () => {
  expect(run('crossings-gates', ['extra'])).toMatchObject({ status: 2, stderr: expect.stringMatching(/extra/) });
});

test('if memory cannot be created, crossings-gates says why', () => {
  const library = join(folder, 'refuse.so');
  const source = '#include <errno.h>\nint memfd_create(void) { errno = EPERM; return -1; }';
  spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-o', library, '-'], { input: source });
  const env = { ...process.env, LD_PRELOAD: library };
  const { status, stderr } = spawnSync(built('crossings-gates'), { env, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'Cannot try the gates: Operation not permitted.\n' });
});
