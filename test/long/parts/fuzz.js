'use strict';
// Fuzzing: of the C code that reads a handshake and frames, guided by coverage and from a committed corpus; of the
// JavaScript reader over arbitrary memory; and of a whole channel in one thread. libFuzzer where clang has it; otherwise
// our own driver. The corpus: run libFuzzer for a while on a folder, then `-merge=1 -max_len=64` into test/fuzz/corpus.
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { RING } = require('../../native.js');
const { root } = require('../../support.js');
const { SANITIZED, SANITIZER_ENV, compiler, hasSanitizers } = require('../../hostile/build.js');
const { fuzzTags } = require('../../fuzz/ring-auth.js');
const { fuzzOnce, fuzzWriter } = require('../../fuzz/ring-reader.js');

const SECONDS = { short: 3, long: 50 }; // for each of the four
const HUNG_MS = 30_000;
const MOST_BYTES = 512; // of an input
const flags = ['-std=gnu11', '-D_GNU_SOURCE', '-g', '-O1', '-include', 'test/hostile/guards.h'];
/** @type {Record<string, string[]>} */
const SOURCES = {
  handshake: ['test/fuzz/handshake.c', ...RING],
  frames: ['test/fuzz/frames.c', 'native/messages.c', ...RING],
};
const corpusOf = (/** @type {string} */ target) => join(root, 'test', 'fuzz', 'corpus', target);

/** @param {string} command @param {string[]} args */
function build(command, args) {
  const { status, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr || `${command} could not be started`);
}

let clang = /** @type {string | null | undefined} */ (undefined);
/** A compiler with libFuzzer, or null. */
function findFuzzer() {
  const input = 'int LLVMFuzzerTestOneInput(const char *b, long n) { return b && n ? 0 : 0; }';
  const works = (/** @type {string} */ name) =>
    spawnSync(name, ['-x', 'c', '-fsanitize=fuzzer,address', '-o', '/dev/null', '-'], { input }).status === 0;
  if (clang === undefined) clang = [process.env.CLANG ?? 'clang', 'clang-19'].find(works) ?? null;
  return clang;
}

/** Does the C compiler call back at each block of code? */
const hasCoverage = () =>
  spawnSync(compiler, ['-x', 'c', '-fsanitize-coverage=trace-pc', '-c', '-o', '/dev/null', '-'], { input: 'int i;' })
    .status === 0;

/** @param {string} folder where a fuzzer leaves the input that ended it */
function crashIn(folder) {
  const name = readdirSync(folder).find((each) => /^(crash|timeout|oom|leak)/.test(each));
  return name ? `input ${readFileSync(join(folder, name)).toString('base64')}` : 'no input was saved';
}

/** @param {string} target @param {string} folder @param {number} seconds @param {number} seed */
function runLibFuzzer(target, folder, seconds, seed) {
  const program = join(folder, target);
  const sanitizers = ['-fsanitize=fuzzer,address,undefined', '-fno-sanitize-recover=all'];
  build(/** @type {string} */ (findFuzzer()), [...flags, ...sanitizers, '-o', program, ...SOURCES[target]]);
  const found = mkdtempSync(join(folder, 'corpus-'));
  const limits = [
    `-max_total_time=${seconds}`,
    `-max_len=${MOST_BYTES}`,
    `-seed=${(seed % 2 ** 31) + 1}`,
    '-timeout=20',
  ];
  const args = [...limits, '-print_final_stats=1', `-artifact_prefix=${folder}/`, found, corpusOf(target)];
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  const runs = Number(/number_of_executed_units:\s*(\d+)/.exec(stderr)?.[1] ?? 0);
  const points = Number([...stderr.matchAll(/cov: (\d+)/g)].at(-1)?.[1] ?? 0);
  return { runs, points, how: 'libFuzzer', failed: status !== 0 && stderr.slice(0, 3000) };
}

/** @param {string} target @param {string} folder @param {number} seconds @param {number} seed */
function runDriver(target, folder, seconds, seed) {
  const program = join(folder, target);
  const sanitizers = hasSanitizers() ? SANITIZED : [];
  const objects = SOURCES[target].map((source, index) => {
    const object = join(folder, `${target}-${index}.o`);
    const coverage = hasCoverage() ? ['-fsanitize-coverage=trace-pc'] : [];
    build(compiler, [...flags, ...sanitizers, ...coverage, '-c', '-o', object, source]);
    return object;
  });
  build(compiler, [...flags, ...sanitizers, '-o', program, 'test/fuzz/driver.c', ...objects]);
  const args = ['--seconds', String(seconds), '--seed', String(seed), corpusOf(target)];
  const env = { ...process.env, ...SANITIZER_ENV };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env, cwd: folder });
  const { runs = 0, points = 0 } = status === 0 ? JSON.parse(stdout) : {};
  return { runs, points, how: 'our own driver', failed: status !== 0 && stderr.slice(0, 3000) };
}

/** @param {string} target @param {number} seconds @param {number} seed */
function fuzzInC(target, seconds, seed) {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-'));
  try {
    const run = findFuzzer() ? runLibFuzzer : runDriver;
    const { runs, points, how, failed } = run(target, folder, seconds, seed);
    const failures = failed ? [`${target} (${how}): ${crashIn(folder)}\n${failed}`] : [];
    if (!failed && runs < 100) failures.push(`${target} (${how}): only ${runs} inputs were run`);
    return { figures: { [`${target}: inputs`]: runs, [`${target}: places reached (${how})`]: points }, failures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {number} seconds @param {number} seed */
function fuzzReader(seconds, seed) {
  const until = performance.now() + 1000 * seconds;
  let cases = 0;
  let frames = 0;
  let refused = 0;
  const failures = [];
  for (let next = seed; performance.now() < until && failures.length === 0; next++, cases++) {
    try {
      frames += fuzzOnce(next) + fuzzWriter(next);
      const signed = fuzzTags(next);
      frames += signed.frames;
      refused += signed.refused;
    } catch (error) {
      failures.push(`ring reader or writer, seed ${next}: ${/** @type {any} */ (error).stack}`);
    }
  }
  if (frames < cases) failures.push(`only ${frames} frames in ${cases} cases`);
  if (refused < cases / 4) failures.push(`only ${refused} wrong tags were refused in ${cases} cases`);
  return { figures: { 'ring reader and writer: cases': cases, 'ring reader and writer: frames': frames }, failures };
}

/** @param {number} seconds @param {number} seed */
async function fuzzChannel(seconds, seed) {
  const script = join(root, 'test', 'fuzz', 'channel.js');
  const child = spawn(process.execPath, ['--max-old-space-size=512', script, String(seed), String(seconds)]);
  let output = '';
  let errors = '';
  let heard = Date.now();
  child.stdout.on('data', (text) => {
    heard = Date.now();
    output += text;
  });
  child.stderr.on('data', (text) => {
    errors = `${errors}${text}`.slice(0, 3000);
  });
  let hung = false;
  const watchdog = setInterval(() => {
    if (Date.now() - heard < HUNG_MS) return;
    hung = true;
    child.kill('SIGKILL');
  }, 500);
  const status = await new Promise((resolve) => {
    child.on('close', resolve);
  });
  clearInterval(watchdog);
  const last = JSON.parse(output.trim().split('\n').pop() || '{}');
  const failures = [];
  if (hung) failures.push(`channel: no case ended for ${HUNG_MS / 1000} s; the last seed shown is ${last.seed}`);
  else if (status !== 0) failures.push(`channel: ended with ${status} after seed ${last.seed}: ${errors}`);
  else if (!(last.received > last.cases)) failures.push(`channel: ${last.received} messages in ${last.cases} cases`);
  return { figures: { 'channel: cases': last.cases ?? 0, 'channel: messages': last.received ?? 0 }, failures };
}

/**
 * @typedef {{name: string, run: (seconds: number, seed: number) => {figures: Record<string, number | string>, failures: string[]} | Promise<{figures: Record<string, number | string>, failures: string[]}>}} Stage
 * @type {Stage[]}
 */
const STAGES = [
  ...Object.keys(SOURCES).map((target) => ({
    name: `the ${target} read in C, from ${existsSync(corpusOf(target)) ? readdirSync(corpusOf(target)).length : 0} inputs of the corpus on`,
    run: (/** @type {number} */ seconds, /** @type {number} */ seed) => fuzzInC(target, seconds, seed),
  })),
  { name: 'the ring reader and writer in JavaScript, over arbitrary memory', run: fuzzReader },
  { name: 'a whole channel in one thread', run: fuzzChannel },
];

/** @param {{scale: 'short' | 'long', seed: number, progress?: (fraction: number, text: string) => void}} options */
async function run({ scale, seed, progress }) {
  /** @type {Record<string, number | string>} */
  const figures = {};
  const failures = [];
  for (const [index, stage] of STAGES.entries()) {
    progress?.(index / STAGES.length, stage.name);
    const outcome = await stage.run(SECONDS[scale], seed);
    Object.assign(figures, outcome.figures);
    failures.push(...outcome.failures);
  }
  return { figures, failures };
}

module.exports = { name: 'fuzz', title: 'Fuzzing', run, STAGES, SECONDS };
