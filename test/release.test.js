'use strict';
// What a release needs: workflows whose commands exist and whose actions are pinned, and a changelog that agrees with the version.
const { spawnSync } = require('node:child_process');
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { testInCi } = require('./in-ci.js');
const { root } = require('./support.js');
const { problemsOf, versionsOf } = require('./tools/check-release.js');

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
const { parse } = jest.requireActual('yaml');

const folder = join(root, '.github', 'workflows');
const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  return { name, text, workflow: parse(text) };
});

/** @typedef {{uses?: string, run?: string, with?: Record<string, any>}} Step */

describe.each(workflows)('$name', ({ text, workflow }) => {
  /** @type {Record<string, any>[]} */
  const jobs = Object.values(workflow.jobs);
  /** @type {Step[]} */
  const steps = jobs.flatMap((job) => job.steps ?? []);
  const commands = steps.map(({ run }) => run ?? '').join('\n');

  test('runs only scripts and files that exist', () => {
    const scripts = [...commands.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name);
    expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([]);
    const paths = [...commands.matchAll(/(?:^|\s)(\.ci\/\w+|(?:\.github|lib|server|test)\/[\w./-]+)/g)].map(
      ([, path]) => path,
    );
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('pins each action to a commit and names its version', () => {
    const used = [...jobs.map(({ uses }) => uses), ...steps.map(({ uses }) => uses)].filter(Boolean);
    for (const action of used) {
      if (action.startsWith('./')) expect(existsSync(join(root, action))).toBe(true);
      else expect(text).toMatch(new RegExp(`uses: ${action.split('@')[0]}@[0-9a-f]{40} # v\\d+\\.\\d+\\.\\d+\n`));
    }
  });

  test('may only read, except for the job that publishes', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { permissions, steps: own = [] } of jobs) {
      const publishes = own.some((/** @type {Step} */ { run }) => run?.includes('npm publish'));
      expect(permissions).toEqual(publishes ? { contents: 'read', 'id-token': 'write' } : undefined);
    }
  });

  test('ends each job after a time', () => {
    for (const job of jobs) if (job.steps) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });
});

const go = spawnSync('go', ['version']).status === 0;
(go ? testInCi : test.skip)('actionlint finds nothing in the workflows (needs Go)', () => {
  const actionlint = ['run', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12', '-no-color'];
  const { status, stdout, stderr } = spawnSync('go', actionlint, { cwd: root, encoding: 'utf8' });
  expect({ status, stdout, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

describe('the changelog', () => {
  const headings = [...changelog.matchAll(/^## .*$/gm)].map(([line]) => line);

  test('begins with what is not released yet; below are versions with their dates, the newest first', () => {
    expect(headings[0]).toBe('## [Unreleased]');
    expect(headings.length - 1).toBe(versionsOf(changelog).length);
    const dates = versionsOf(changelog).map(({ date }) => date);
    expect(dates).toEqual([...dates].sort().reverse());
  });

  test('groups changes by kind', () => {
    const kinds = [...changelog.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind);
    expect(kinds.length).toBeGreaterThan(0);
    const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
    expect(kinds.filter((kind) => !known.includes(kind))).toEqual([]);
  });

  test('agrees with package.json: its version is the newest one, or the first one and not released yet', () => {
    const [newest] = versionsOf(changelog);
    if (newest) expect(newest.version).toBe(manifest.version);
    else expect(changelog).toContain(`the first one will be ${manifest.version}.`);
  });
});

describe('a release is refused', () => {
  const url = 'git+https://github.com/someone/crossings.git';
  const good = {
    tag: 'v0.1.0',
    repository: 'someone/crossings',
    manifest: { version: '0.1.0', repository: { type: 'git', url } },
    changelog: '## [Unreleased]\n\n## [0.1.0] - 2026-11-22\n',
  };

  test('not if everything agrees', () => {
    expect(problemsOf(good)).toEqual([]);
  });

  test.each([
    ['the tag is another version', { tag: 'v0.2.0' }, /^The tag is v0.2.0/],
    ['the changelog lacks the version', { changelog: '## [Unreleased]\n' }, /^CHANGELOG.md must begin/],
    ['package.json names no repository', { manifest: { version: '0.1.0' } }, /^package.json needs/],
    ['package.json names another repository', { repository: 'another/crossings' }, /^package.json needs/],
  ])('if %s', (_, change, problem) => {
    expect(problemsOf({ ...good, ...change })).toEqual([expect.stringMatching(problem)]);
  });
});
