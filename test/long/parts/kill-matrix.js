'use strict';
// The kill matrix: SIGKILL of either side at every named step of the handshake, of sending, receiving, sleeping and closing,
// and at random moments under load, for C and Node in every pairing. After each death, the survivor must have received an
// exact prefix of what was sent, have noticed, and hold nothing more than before; and the next good peer gets in.
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Matrix } = require('../../kill/matrix.js');
const { KINDS, Plan, describe } = require('../../kill/plan.js');

const SCALES = {
  short: { kills: 100, atSteps: 70, blockMs: 300 },
  long: { kills: 1000, atSteps: 650, blockMs: 10_000 },
};
const MAX_RESTARTS = 3; // of a survivor, after failures

/**
 * Plays all rounds of one survivor. Returns the steps that its victims could be killed at.
 * @param {InstanceType<typeof Matrix>} matrix
 * @param {import('../../kill/plan.js').Kind} survivorKind
 * @param {number} seed
 * @param {{kills: number, atSteps: number, blockMs: number}} size
 * @param {(text: string) => void} onRound
 */
async function runLane(matrix, survivorKind, seed, size, onRound) {
  const plan = new Plan(survivorKind, seed);
  let survivor = await matrix.start(survivorKind);
  let restarts = 0;
  /** @param {import('../../kill/plan.js').Round} round @returns {Promise<Map<string, number> | undefined>} the recorded steps */
  const play = async (round) => {
    onRound(describe(round));
    try {
      const recorded = await matrix.play(survivor, round);
      await survivor.checkBystander();
      return recorded;
    } catch (error) {
      matrix.failures.push(`${describe(round)}: ${/** @type {Error} */ (error).message}`);
      await survivor.abandon();
      if (++restarts > MAX_RESTARTS) throw new Error(`the ${survivorKind} survivor: too many failures`);
      survivor = await matrix.start(survivorKind);
      return undefined;
    }
  };
  try {
    const recorded = [];
    for (const round of plan.recordings()) {
      const steps = await play(round);
      if (steps) recorded.push({ round, steps });
    }
    const rounds = plan.killsAt(recorded, Math.round(size.atSteps / 2));
    for (let at = rounds.length; at < size.kills / 2; at++) rounds.push(plan.randomKill(KINDS[at % 2]));
    if (survivorKind === 'Node') {
      const blocked = plan.randomKill('C');
      rounds.push({ ...blocked, kill: { .../** @type {any} */ (blocked.kill), from: 'o', blockMs: size.blockMs } });
    }
    for (const round of rounds) await play(round);
    // A step that is reached less often than in the recording kills nobody: make up for it.
    while (matrix.killsBefore(survivorKind) < size.kills / 2) await play(plan.randomKill('C'));
    const { status, signal, errors } = await survivor.end();
    if (status !== 0 || errors)
      matrix.failures.push(`the ${survivorKind} survivor ended with ${signal ?? status}: ${errors}`);
    return recorded.flatMap(({ round, steps: names }) => [...names.keys()].map((name) => `${round.victim}: ${name}`));
  } catch (error) {
    matrix.failures.push(String(/** @type {Error} */ (error).message));
    await survivor.abandon();
    return [];
  }
}

/**
 * @param {{scale: 'short' | 'long', seed: number, progress?: (fraction: number, text: string) => void}} options
 * @returns {Promise<{figures: Record<string, number | string>, failures: string[]}>}
 */
async function run({ scale, seed, progress = () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'kill-matrix-'));
  try {
    const size = SCALES[scale];
    const matrix = new Matrix(folder);
    await matrix.build();
    const onRound = (/** @type {string} */ text) => progress(Math.min(1, matrix.kills / size.kills), text);
    const names = await Promise.all(KINDS.map((kind, at) => runLane(matrix, kind, seed + at, size, onRound)));
    const { failures } = matrix;
    const left = readdirSync(folder).filter((name) => /^(survivor|v\d|progress|record)/.test(name));
    if (left.length > 0) failures.push(`left behind: ${left.join(', ')}`);
    for (const [phase, kills] of matrix.byPhase) if (kills === 0) failures.push(`no kill in the phase "${phase}"`);
    const figures = {
      kills: matrix.kills,
      'kills at named steps': matrix.killsAtSteps,
      'named steps': new Set(names.flat()).size,
      'named steps with a kill': matrix.reached.size,
      ...Object.fromEntries([...matrix.byPhase].map(([phase, kills]) => [`kills while ${phase}`, kills])),
      ...Object.fromEntries([...matrix.byPairing].sort()),
      'messages checked': matrix.messages,
      'handshakes that ended with the victim': matrix.refusals,
      'latest notice of a death, ms': Math.round(matrix.latestMs),
    };
    return { figures, failures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

module.exports = { name: 'kill-matrix', title: 'Either side killed at every step and at random moments', run };
