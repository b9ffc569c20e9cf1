'use strict';
// The schedule of test/channel/nothing-is-lost.test.js with many seeds: processes, channels, aborts, closing and SIGKILL in
// random order, and each message accounted for.
const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..', '..', '..');
const JEST = require.resolve('jest/bin/jest');
const TEST = join('test', 'channel', 'nothing-is-lost.test.js');
/** How long new seeds are begun, and how long each one's schedule is. */
const WORK = { short: { ms: 1, stress: 1 }, long: { ms: 150_000, stress: 1 } };
const OUTPUT_LIMIT = 3000; // characters of a failure

/**
 * @param {number} seed
 * @param {number} stress
 * @param {string} cache a folder for Jest's own files
 * @returns {Promise<{status: number | null, output: string}>}
 */
function runOnce(seed, stress, cache) {
  const jest = [JEST, '--selectProjects', 'parallel', '--cacheDirectory', cache, '--runTestsByPath', TEST];
  const child = spawn(process.execPath, jest, {
    cwd: root,
    env: { ...process.env, CROSSINGS_SEED: String(seed), CROSSINGS_STRESS: String(stress), FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
    });
  }
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, output })));
}

module.exports = {
  name: 'stress',
  title: 'nothing is lost, with many seeds',
  boundSeconds: { short: 240, long: 600 },
  /** @param {{scale: 'short' | 'long', seed: number, progress: (fraction: number, text: string) => void}} task */
  async run({ scale, seed, progress }) {
    const { ms, stress } = WORK[scale];
    const began = performance.now();
    const failures = [];
    let seeds = 0;
    let unlucky = 0;
    const cache = mkdtempSync(join(tmpdir(), 'jest-'));
    do {
      const each = ((seed + seeds * 7919) % 999_983) + 1;
      const { status, output } = await runOnce(each, stress, cache);
      seeds++;
      if (status !== 0) {
        unlucky++;
        failures.push(
          `CROSSINGS_SEED=${each} CROSSINGS_STRESS=${stress} npx jest ${TEST} fails:\n${output.slice(0, OUTPUT_LIMIT)}`,
        );
      }
      progress(Math.min(1, (performance.now() - began) / ms), `${seeds} seeds`);
    } while (performance.now() - began < ms && failures.length < 3);
    rmSync(cache, { recursive: true });
    return { figures: { seeds, 'seeds that failed': unlucky }, failures };
  },
};
