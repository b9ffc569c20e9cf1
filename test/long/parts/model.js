'use strict';
// The model of the ring and its sleep protocol (test/model/): as it is it must pass every scenario, and with any one order,
// fence or step weakened it must fail.
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { runProgram } = require('../run-program.js');

const folder = join(__dirname, '..', '..', 'model');
const program = join(folder, 'target', 'release', 'crossings-model');

/**
 * Sites that may be weakened alone without a failure, each with the reason. If one of them fails after all, the reason is
 * wrong.
 * @type {Record<string, string>}
 */
const UNNEEDED = {
  'RingWriter.isReady: Atomics.load':
    'ends a look; the write that follows loads the position again. An atomic load, because a plain one could be moved out of the loop',
  'check_peer: ring_load_acquire 2':
    'recv() has just returned the end of the socket, and the kernel orders that after everything the peer did before its close()',
};

/** @param {string} command @param {string[]} args */
const run = (command, args) => runProgram([command, ...args], { cwd: folder });

const FETCH_BOUND_MS = 60_000;
const CARGO = { ...process.env, CARGO_NET_RETRY: '0', CARGO_HTTP_TIMEOUT: '20' };

/** Why the model cannot be compiled here; "": it can. */
function whyMissing() {
  const cargo = (/** @type {string[]} */ ...args) =>
    spawnSync('cargo', args, { cwd: folder, env: CARGO, encoding: 'utf8', timeout: FETCH_BOUND_MS });
  if (cargo('--version').status !== 0) return 'cargo is not installed';
  if (cargo('fetch', '--locked', '--offline', '--quiet').status === 0) return '';
  const { status, stderr } = cargo('fetch', '--locked', '--quiet');
  return status === 0 ? '' : `cargo cannot fetch loom: ${firstLines(stderr)}`;
}

/** Compiles the model. */
async function build() {
  const args = ['build', '--release', '--locked', '--offline', '--quiet', '--target-dir', 'target'];
  const { status, stderr } = await run('cargo', args);
  if (status !== 0) throw new Error(`cargo build failed:\n${stderr}`);
}

/** @typedef {{scenario: string, executions: number, sites: string[]}} Explored */

/** Explores without a mutant. @param {string} scale */
async function exploreHonest(scale) {
  const { status, stdout, stderr } = await run(program, scale === 'long' ? ['--long'] : []);
  /** @type {Explored[]} */
  const explored = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { explored, failure: status === 0 ? '' : `the model fails without a mutant: ${firstLines(stderr)}` };
}

/** What loom reports: the first lines of the panic. @param {string} stderr */
const firstLines = (stderr) => stderr.split('\n').filter(Boolean).slice(0, 3).join(' ');

/** A failure of the model, and not of the program that runs it. */
const FAILURE = /panicked at (src\/|.*loom-[\d.]+\/src\/rt\/)/;

/** loom's limit for one execution, which is not a finding. */
const TOO_LONG = /exceeded maximum number of branches/;

/**
 * Weakens one site, in the smallest scenarios first.
 * @param {string} site @param {Explored[]} explored
 * @returns {Promise<boolean>} true if a scenario fails
 */
async function kills(site, explored) {
  const passing = explored.filter(({ sites }) => sites.includes(site)).sort((a, b) => a.executions - b.executions);
  for (const { scenario } of passing) {
    const { status, stderr } = await run(program, ['--mutant', site, '--scenario', scenario]);
    if (status === 101 && FAILURE.test(stderr) && !TOO_LONG.test(stderr)) return true;
    if (status !== 0) throw new Error(`The model with the mutant "${site}" ended with ${status}: ${stderr}`);
  }
  return false;
}

module.exports = {
  name: 'model',
  title: 'The ring and its sleep protocol under the C11 memory model, and every mutant of it',
  UNNEEDED,
  whyMissing,

  /**
   * @param {{scale: 'short' | 'long', seed?: number, progress?: (fraction: number, text: string) => void}} options
   * @returns {Promise<{figures: Record<string, number | string>, failures: string[], skipped?: string}>}
   */
  async run({ scale, progress = () => {} }) {
    const missing = whyMissing();
    if (missing) return { figures: {}, failures: [], skipped: missing };
    progress(0, 'compiling the model');
    await build();
    progress(0.2, 'exploring the model');
    const { explored, failure } = await exploreHonest(scale);
    if (failure) return { figures: {}, failures: [failure] };
    const failures = [];
    // Explored completely, a site that is not needed takes the longest: only in the long form.
    const sites = [...new Set(explored.flatMap(({ sites }) => sites))]
      .filter((site) => scale === 'long' || !(site in UNNEEDED))
      .sort();
    for (const [index, site] of sites.entries()) {
      progress(0.5 + index / sites.length / 2, `mutant "${site}"`);
      const killed = await kills(site, explored);
      if (!killed && !(site in UNNEEDED)) failures.push(`the model passes with the mutant "${site}"`);
      if (killed && site in UNNEEDED) failures.push(`"${site}" is needed: the model fails with this mutant`);
    }
    const figures = {
      scenarios: explored.length,
      executions: explored.reduce((sum, { executions }) => sum + executions, 0),
      mutants: sites.length,
    };
    return { figures, failures };
  },
};
