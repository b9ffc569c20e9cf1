'use strict';
// The package in the hands of someone who depends on it: the short form of `npm run test:matrix`, and that the matrix
// reports what fails.
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { ownNode } = require('./matrix/runtimes.js');
const { Sandbox } = require('./matrix/sandbox.js');
const { Row } = require('./matrix/table.js');
const { root } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'matrix-'));
afterAll(() => rmSync(folder, { recursive: true }));

// The registry on this machine has our package only.
const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const obstacle = Object.keys(dependencies).length > 0 ? ' (skipped: the package has dependencies)' : '';
const testPackage = obstacle ? test.skip : test;

/** Runs the matrix in its short form. @param {string[]} args */
function runShort(...args) {
  const json = join(folder, 'result.json');
  rmSync(json, { force: true });
  const command = [join(root, 'test', 'matrix', 'run.js'), '--short', '--json', json, ...args];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  if (!existsSync(json)) throw new Error(stderr);
  /** @type {{counts: Record<string, number>, tables: {rows: Row[]}[]}} */
  const { counts, tables } = JSON.parse(readFileSync(json, 'utf8'));
  const cells = tables
    .flatMap(({ rows }) => rows)
    .flatMap((row) =>
      Object.entries(row.cells).map(([column, { state, note }]) => ({
        state,
        text: `${row.name}, ${column}: ${note}`,
      })),
    );
  return { status, counts, failed: cells.filter(({ state }) => state === 'failed').map(({ text }) => text) };
}

testPackage(
  `npm install, ci and rebuild give a package that works; in CI every runtime talks to this one${obstacle}`,
  () => {
    const { status, counts, failed } = runShort();
    expect(failed).toEqual([]);
    expect(status).toBe(0);
    expect(counts.ok).toBeGreaterThanOrEqual(15); // installing, using and talking with this Node alone
  },
);

testPackage(`a package that cannot be loaded fails the matrix${obstacle}`, () => {
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
    cwd: root,
    stdio: 'ignore',
  });
  const tarball = join(folder, String(readdirSync(folder).find((name) => name.endsWith('.tgz'))));
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  writeFileSync(join(folder, 'package', 'lib', 'index.js'), "throw new Error('broken on purpose');");
  execFileSync('tar', ['-czf', tarball, '-C', folder, 'package']);
  const { status, failed } = runShort('--only', `${ownNode.name}, npm`, '--tarball', tarball);
  expect(status).toBe(1);
  expect(failed).toEqual([expect.stringContaining('broken on purpose')]);
});

describe("a user's machine", () => {
  const sandbox = new Sandbox(ownNode, 'http://127.0.0.1:1');
  afterAll(() => sandbox.remove());
  /** @param {string} source */
  const program = (source) => {
    writeFileSync(join(sandbox.project, 'program.mjs'), source);
    return sandbox.program('program.mjs');
  };

  test('has no compiler, make or Python', async () => {
    const missing = ['cc', 'gcc', 'c++', 'g++', 'clang', 'make', 'python3', 'python', 'node-gyp'];
    const look = `import { spawnSync } from 'node:child_process';
      console.log(${JSON.stringify(missing)}.filter((name) => spawnSync(name).error?.code !== 'ENOENT').join());`;
    expect(await sandbox.run(program(look))).toBe('\n');
  });

  test('has no settings of the user who runs the matrix', async () => {
    const variables = Object.keys(JSON.parse(await sandbox.run(program('console.log(JSON.stringify(process.env))'))));
    expect(variables.filter((name) => /npm_|^CI$|NODE_|^CC$/i.test(name))).toEqual(['npm_config_globalconfig']);
    expect(readdirSync(sandbox.home).sort()).toEqual(['.npmrc', '.yarnrc.yml', 'bin', 'project', 'tmp']);
  });

  test('ends a program that does not end, and says so', async () => {
    const forever = program('console.log("waiting for nobody"); setInterval(() => {}, 1000);');
    await expect(sandbox.run(forever, { limitMs: 1000 })).rejects.toThrow(/did not end within 1 s.*waiting for nobody/);
  });

  test('tells a crash from an error', async () => {
    await expect(sandbox.run(program('process.kill(process.pid, "SIGSEGV")'))).rejects.toThrow('crashed with SIGSEGV');
    await expect(sandbox.run(program('throw new Error("a reason")'))).rejects.toThrow(/exited with 1: Error: a reason/);
  });
});

test('a sentence counts as a failure unless it is expected', async () => {
  const row = new Row('a runtime', ['column']);
  await row.cell('column', async () => {
    throw new Error('ERR_UNSUPPORTED: this cannot work here.');
  });
  expect(row.cells.column.state).toBe('failed');
});
