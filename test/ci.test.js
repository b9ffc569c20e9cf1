'use strict';
// What CI runs: the README's own command, then one line of totals that agrees with the exit status.
const { spawnSync } = require('node:child_process');
const { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { delimiter, join } = require('node:path');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'ci-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the README, CONTRIBUTING and CI give the same command', () => {
  const command = 'npm ci && npm test';
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toMatch(new RegExp(`^${command} +#`, 'm'));
  expect(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')).toMatch(new RegExp(`^${command}$`, 'm'));
  expect(readFileSync(join(root, '.ci', 'run'), 'utf8')).toContain(`(${command})`);
});

test.each([
  ['all pass', 'Tests:       766 passed, 766 total', 0, '766 passed, 0 failed, 0 skipped'],
  ['some fail', 'Tests:       2 failed, 3 skipped, 40 passed, 45 total', 1, '40 passed, 2 failed, 3 skipped'],
  ['the summary is in color', '\x1b[1mTests:       \x1b[22m3 skipped, 4 passed', 0, '4 passed, 0 failed, 3 skipped'],
  ['a test file cannot be loaded', 'Tests:       40 passed, 40 total', 1, '40 passed, 1 failed, 0 skipped'],
  ['nothing is tested, as when a linter fails', 'lint: 3 errors', 1, '0 passed, 1 failed, 0 skipped'],
])('when %s, the totals and the exit status agree', (_, summary, status, totals) => {
  // An npm that only prints what the real one would.
  const npm = `#!/bin/sh\n[ "$1" = ci ] && exit 0\nprintf '%s\\n' '${summary}' 'Time: 1 s'\nexit ${status}\n`;
  writeFileSync(join(folder, 'npm'), npm);
  chmodSync(join(folder, 'npm'), 0o755);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  const result = spawnSync(join(root, '.ci', 'run'), { env, encoding: 'utf8' });
  expect({ status: result.status, last: result.stdout.trimEnd().split('\n').at(-1) }).toEqual({ status, last: totals });
});
