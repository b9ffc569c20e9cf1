'use strict';
// The thread sanitizer on the real C code: both ends of a channel in two threads (test/thread-sanitizer.c). The code as it is
// must run without a report. With any acquire or release of native/ring.h weakened to relaxed, there must be one.
const { spawnSync } = require('node:child_process');
const { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { C_INTERFACE } = require('../../native.js');
const { runProgram } = require('../run-program.js');

const root = join(__dirname, '..', '..', '..');
// test/thread-sanitizer.c includes region.c.
const SOURCES = ['test/thread-sanitizer.c', ...C_INTERFACE.filter((path) => path !== 'native/region.c')];
const FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-pthread', '-fsanitize=thread'];
const COMPILERS = [process.env.CC || 'cc', 'clang', 'clang-19'];
const RUN_BOUND_MS = 180_000;

const MESSAGES = { short: 20_000, long: 300_000 };
const MUTANT_MESSAGES = 50_000; // many more than it takes to see the race

/**
 * The program, compiled from a copy of the sources. gcc warns that the sanitizer does not understand fences;
 * test/thread-sanitizer.c says why that does not matter here.
 * @param {string} compiler @param {string} folder
 */
function compile(compiler, folder) {
  const output = join(folder, 'thread-sanitizer');
  const { status, stderr } = spawnSync(compiler, [...FLAGS, '-o', output, ...SOURCES], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${compiler} failed: ${stderr}`);
  return output;
}

/** A copy of the sources in `folder`, with one change of native/ring.h. */
function copySources(/** @type {string} */ folder, /** @type {(text: string) => string} */ change) {
  cpSync(join(root, 'native'), join(folder, 'native'), { recursive: true });
  mkdirSync(join(folder, 'test'));
  cpSync(join(root, SOURCES[0]), join(folder, SOURCES[0]));
  const header = join(folder, 'native', 'ring.h');
  writeFileSync(header, change(readFileSync(header, 'utf8')));
}

/** The functions of ring.h with an acquire or a release, and the header without it. */
function mutants() {
  const lines = readFileSync(join(root, 'native', 'ring.h'), 'utf8').split('\n');
  let name = '';
  return lines.flatMap((line, index) => {
    name = /^static inline [^(]*?(\w+)\(/.exec(line)?.[1] ?? name;
    const access = /\bring_(?:load_acquire|store_release)\(/.exec(line)?.[0];
    if (!access || line.startsWith('#define')) return [];
    const weaker = line.replace(access, access.replace(/acquire|release/, 'relaxed'));
    return [{ site: `${name}: ${access.slice(0, -1)}`, text: lines.with(index, weaker).join('\n') }];
  });
}

/** @param {string} program @param {string[]} args */
function start(program, args) {
  const env = { ...process.env, TSAN_OPTIONS: 'halt_on_error=1' };
  return runProgram([program, ...args], { env, timeout: RUN_BOUND_MS });
}

/** The first compiler whose thread sanitizer works here, or why there is none. */
function findCompiler() {
  const reasons = [];
  const folder = mkdtempSync(join(tmpdir(), 'crossings-tsan-'));
  try {
    for (const compiler of COMPILERS) {
      const output = join(folder, 'empty');
      const args = [...FLAGS, '-o', output, '-x', 'c', '-'];
      const built = spawnSync(compiler, args, { input: 'int main(void) { return 0; }', encoding: 'utf8' });
      // The sanitizer's runtime refuses to start where the kernel randomizes addresses more than it knows.
      const ran = built.status === 0 ? spawnSync(output, [], { encoding: 'utf8' }) : built;
      if (ran.status === 0) return { compiler, missing: '' };
      reasons.push(`${compiler}: ${ran.error?.message ?? ran.stderr.split('\n')[0]}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { missing: `no compiler has a thread sanitizer that runs here: ${reasons.join('; ')}` };
}

module.exports = {
  name: 'thread-sanitizer',
  title: 'The C code with the thread sanitizer, and with each memory order weakened',
  findCompiler,

  /**
   * @param {{scale: 'short' | 'long', seed?: number, progress?: (fraction: number, text: string) => void}} options
   * @returns {Promise<{figures: Record<string, number | string>, failures: string[], skipped?: string}>}
   */
  async run({ scale, progress = () => {} }) {
    const { compiler, missing } = findCompiler();
    if (!compiler) return { figures: {}, failures: [], skipped: missing };
    const folder = mkdtempSync(join(tmpdir(), 'crossings-tsan-'));
    /** @param {string} name @param {(text: string) => string} change */
    const build = (name, change) => {
      const copy = join(folder, name);
      mkdirSync(copy);
      copySources(copy, change);
      return compile(compiler, copy);
    };
    try {
      const failures = [];
      const honest = build('honest', (text) => text);
      const names = (await start(honest, [])).stdout.trim().split('\n');
      for (const [index, name] of names.entries()) {
        progress((index / names.length) * 0.6, name);
        const { status, stderr } = await start(honest, [name, String(MESSAGES[scale])]);
        if (status !== 0 || stderr !== '') failures.push(`${name}: status ${status}: ${stderr}`);
      }
      const all = mutants();
      for (const [index, { site, text }] of all.entries()) {
        progress(0.6 + (index / all.length) * 0.4, `${site} relaxed`);
        const program = build(`mutant-${index}`, () => text);
        let reported = false;
        for (const name of names) {
          reported = (await start(program, [name, String(MUTANT_MESSAGES)])).stderr.includes('data race');
          if (reported) break;
        }
        if (!reported) failures.push(`no race is reported with a relaxed access in ${site}`);
      }
      return { figures: { runs: names.length, 'messages per run': MESSAGES[scale], mutants: all.length }, failures };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
