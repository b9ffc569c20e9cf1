'use strict';
// Makes one quick run of the benchmark and of each experiment, for copies of the lab, which can run nothing:
// node test/tools/ship-runs.js [KIND…]. A run replaces the one of the same kind.
const { execFileSync } = require('node:child_process');
const { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { EXPERIMENTS } = require('../../lib/experiments/index.js');
const { writeWhole } = require('../../lib/terminal/files.js');
const { kindOf } = require('../../server/run-kinds.js');

const root = join(__dirname, '..', '..');
const folder = join(root, 'server', 'recordings', 'runs');

/** @param {string} path */
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** @param {string} kind */
function ship(kind) {
  const made = mkdtempSync(join(tmpdir(), 'run-'));
  try {
    const file = join(made, 'run.json');
    const words = kind === 'bill' ? ['bill', 'pipe'] : [kind];
    const command = [join(root, 'lib', 'cli.js'), ...words, '--quick', '--json', file];
    execFileSync(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] });
    mkdirSync(folder, { recursive: true });
    const former = readdirSync(folder).filter((name) => kindOf(read(join(folder, name)).schema) === kind);
    for (const name of former) rmSync(join(folder, name));
    const { id } = read(file);
    writeWhole(join(folder, `${id}.json`), readFileSync(file, 'utf8'));
    process.stdout.write(`${kind}: ${join(folder, `${id}.json`)}\n`);
  } finally {
    if (existsSync(made)) rmSync(made, { recursive: true });
  }
}

const given = process.argv.slice(2);
for (const kind of given.length > 0 ? given : ['bench', ...EXPERIMENTS.map(({ name }) => name)]) ship(kind);
