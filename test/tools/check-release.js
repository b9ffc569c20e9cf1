'use strict';
// Refuses a release whose tag, version, changelog or repository do not agree:
//   node test/tools/check-release.js v0.1.0 OWNER/REPOSITORY
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

/** The versions of a changelog, the newest first, each with its date. @param {string} changelog */
const versionsOf = (changelog) =>
  [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+[^\]]*)\] - (\d{4}-\d{2}-\d{2})$/gm)].map(([, version, date]) => ({
    version,
    date,
  }));

/**
 * What is wrong, as sentences.
 * @param {{tag: string, repository: string, manifest: Record<string, any>, changelog: string}} release
 */
function problemsOf({ tag, repository, manifest, changelog }) {
  const { version, repository: { url = '' } = {} } = manifest;
  const problems = [];
  if (tag !== `v${version}`) problems.push(`The tag is ${tag}, but package.json has version ${version}.`);
  if (versionsOf(changelog)[0]?.version !== version) {
    problems.push(`CHANGELOG.md must begin with a heading such as "## [${version}] - 2026-01-31", below [Unreleased].`);
  }
  // npm compares it with the repository that the workflow runs in, and refuses the provenance if they differ.
  if (!url.includes(`github.com/${repository}`)) {
    problems.push(
      `package.json needs {"repository": {"type": "git", "url": "git+https://github.com/${repository}.git"}}.`,
    );
  }
  return problems;
}

if (require.main === module) {
  const root = join(__dirname, '..', '..');
  const [, , tag, repository] = process.argv;
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const problems = problemsOf({ tag, repository, manifest, changelog });
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

module.exports = { problemsOf, versionsOf };
